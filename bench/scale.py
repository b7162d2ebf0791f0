"""Memory and time of an ingestion as the book grows."""

from __future__ import annotations

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
    granite = workshop.curriculum()
    rows: list[tuple[str, ...]] = [("memory", "granite throughout", *_memory(granite), "", "")] if granite else []
    rows += _memory_rows(workshop) + _time_rows(workshop)
    missing = "" if granite else " The run with granite throughout is left out: ../shared/data is not there."
    return Table(
        title="Memory and time as the book grows",
        columns=("what", "embedder", "lessons", "chunks", "measured", "target", ""),
        rows=tuple(rows),
        note="Each ingestion is a process of its own; memory is its highest resident size. Large books are embedded by a "
        "stand-in that gives random directions, to keep the run short; for memory, granite is loaded and embeds the first "
        f"{REALLY} texts. Time is per lesson, against the smallest book.{missing}",
    )


def _memory(ingested: Ingested) -> tuple[str, str, str]:
    return f"{ingested.lessons:,}", f"{ingested.chunks:,}", f"{ingested.peak_bytes / 1e6:.0f} MB"


def _memory_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    small, large = (
        ingest_alone(workshop.made(lessons, SECTIONS), workshop.data_dir(f"memory-{lessons}"), really=REALLY)
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
    rows: list[tuple[str, ...]] = []
    first = 0.0
    for lessons in workshop.sizes.growing_lessons:
        made = ingest_alone(workshop.made(lessons, FEW_SECTIONS), workshop.data_dir(f"growing-{lessons}"), really=0)
        each = made.seconds / made.lessons
        first = first or each
        measured = f"{each * 1000:.2f} ms per lesson, {each / first:.2f} ×"
        target = ("", "") if each == first else (f"<= {LINEAR_TARGET} ×", verdict(each / first <= LINEAR_TARGET))
        rows.append(("time", "stand-in", f"{made.lessons:,}", f"{made.chunks:,}", measured, *target))
    return rows
