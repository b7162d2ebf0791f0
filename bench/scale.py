"""Memory and time of an ingestion as the book grows."""

from __future__ import annotations

from collections.abc import Sequence

from bench.alone import Ingested, ingest_alone
from bench.table import Table, verdict
from bench.workshop import Workshop

MEMORY_TARGET = 700_000_000
FLAT_TARGET = 1.25
LINEAR_TARGET = 1.25
SECTIONS = 5
FEW_SECTIONS = 2
REALLY = 64
"""Texts that granite embeds before the stand-in takes over: two batches, so that its working memory is there."""


def scale(workshop: Workshop) -> Table:
    return Table(
        title="Memory and time as the book grows",
        columns=("what", "embedder", "lessons", "chunks", "measured", "target", ""),
        rows=(*_granite_rows(workshop), *_memory_rows(workshop), *_time_rows(workshop)),
        note="Each ingestion is a process of its own; memory is its highest resident size. Large books are embedded by a "
        "stand-in that gives random directions, to keep the run short; for memory, granite is loaded and embeds the first "
        f"{REALLY} texts. Time is per lesson, against the smallest book.",
    )


def _granite_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    """A few thousand chunks with nothing standing in. An index that an earlier run left needs no memory to make."""
    who, ingested = "granite throughout", workshop.curriculum()
    if ingested is None:
        return [("memory", who, "", "", "left out: ../shared/data is not there", "", "")]
    if ingested.embedded < ingested.chunks / 2:
        return [("memory", who, "", "", "left out: the folder held this book already", "", "")]
    return [("memory", who, *_memory(ingested), f"< {MEMORY_TARGET / 1e6:.0f} MB", verdict(ingested.peak_bytes < MEMORY_TARGET))]


def _memory(ingested: Ingested) -> tuple[str, str, str]:
    return f"{ingested.lessons:,}", f"{ingested.chunks:,}", f"{ingested.peak_bytes / 1e6:.0f} MB"


def _memory_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    small, large = (
        ingest_alone(workshop.made(lessons, SECTIONS), workshop.empty_dir(f"memory-{lessons}"), really=REALLY)
        for lessons in workshop.sizes.memory_lessons
    )
    ratio = large.peak_bytes / small.peak_bytes
    who = "granite, then stand-in"
    return [
        ("memory", who, *_memory(small), f"< {MEMORY_TARGET / 1e6:.0f} MB", verdict(small.peak_bytes < MEMORY_TARGET)),
        ("memory", who, *_memory(large), f"< {MEMORY_TARGET / 1e6:.0f} MB", verdict(large.peak_bytes < MEMORY_TARGET)),
        ("memory, large / small", who, "", "", f"{ratio:.2f} ×", f"<= {FLAT_TARGET} ×", verdict(ratio <= FLAT_TARGET)),
    ]


def _time_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    made = [
        ingest_alone(workshop.made(lessons, FEW_SECTIONS), workshop.empty_dir(f"growing-{lessons}"), really=0)
        for lessons in workshop.sizes.growing_lessons
    ]
    return time_rows(made)


def time_rows(made: Sequence[Ingested]) -> list[tuple[str, ...]]:
    each = [one.seconds / one.lessons for one in made]
    rows: list[tuple[str, ...]] = []
    for one, seconds in zip(made, each, strict=True):
        ratio = seconds / each[0]
        measured = f"{seconds * 1000:.2f} ms per lesson, {ratio:.2f} ×"
        target = (f"<= {LINEAR_TARGET} ×", verdict(ratio <= LINEAR_TARGET)) if rows else ("", "")
        rows.append(("time", "stand-in", f"{one.lessons:,}", f"{one.chunks:,}", measured, *target))
    return rows
