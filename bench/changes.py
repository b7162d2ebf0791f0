"""What it costs to ingest a book again: nothing changed, and one paragraph edited."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path

from bench.alone import ingest, opened
from bench.material import lesson_path
from bench.standin import StandIn
from bench.table import Table, verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.index.vectors import Filters
from bythebook.wiring.author import Resources

CHECK_TARGET_SECONDS = 2.0
CHECKS = 5
PROCESSES = 3
SECTIONS = 2
EDIT = " This sentence was added to the paragraph."


def changes(workshop: Workshop) -> Table:
    book = workshop.made(workshop.sizes.checked_lessons, SECTIONS)
    data_dir = workshop.empty_dir("changes")
    rows = asyncio.run(_unchanged(book, data_dir))
    rows.append(_unchanged_process(book, data_dir))
    rows.append(asyncio.run(_edited(book, data_dir, workshop.sizes.edits, workshop.sizes.checked_lessons)))
    return Table(
        title="Ingesting a book again",
        columns=("what", "measured", "target", ""),
        rows=tuple(rows),
        note=f"{workshop.sizes.checked_lessons:,} lessons of {SECTIONS} sections, indexed with a stand-in under granite's name; "
        "nothing measured here embeds more than the edited chunks. Each edit adds a sentence to a paragraph of another lesson; "
        "which chunks changed is read off the index before and after.",
    )


async def _unchanged(book: Path, data_dir: Path) -> list[tuple[str, ...]]:
    embedder = StandIn()
    async with opened(data_dir, embedder) as resources:
        await ingest(resources, book)
        before, times = embedder.embedded, []
        for _ in range(CHECKS):
            started = time.perf_counter()
            await ingest(resources, book)
            times.append(time.perf_counter() - started)
    spent, embedded = median(times), embedder.embedded - before
    measured = f"{spent:.2f} s (slowest of {CHECKS}: {max(times):.2f} s)"
    return [
        ("nothing changed, median", measured, f"< {CHECK_TARGET_SECONDS:.0f} s", verdict(spent < CHECK_TARGET_SECONDS)),
        ("nothing changed, texts embedded", f"{embedded}", "0", verdict(embedded == 0)),
    ]


def _unchanged_process(book: Path, data_dir: Path) -> tuple[str, ...]:
    """With the interpreter's start. The first run calibrates, which nothing here did before."""
    command = [str(Path(sys.executable).with_name("bythebook")), "ingest", str(book), "--data-dir", str(data_dir), "--json"]
    times = []
    for _ in range(1 + PROCESSES):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    spent = median(times[1:])
    return "nothing changed, `bythebook ingest` as a process", f"{spent:.2f} s", "", ""


async def _edited(book: Path, data_dir: Path, edits: int, lessons: int) -> tuple[str, ...]:
    embedder, draw = StandIn(), random.Random(0)
    embedded = changed = chunks = 0
    async with opened(data_dir, embedder) as resources:
        for number in draw.sample(range(lessons), edits):
            path = book / lesson_path(number)
            before = await _held(resources, lesson_path(number))
            _edit(path, draw)
            report = await ingest(resources, book)
            after = await _held(resources, lesson_path(number))
            embedded += report.chunks_embedded
            changed += len(after - before)
            chunks += report.total_chunks
    measured = f"{embedded} texts embedded, {changed} chunks changed, of {chunks:,}"
    return (
        f"{edits} edits of one paragraph, one by one",
        measured,
        "embedded = changed",
        verdict(embedded == changed == embedder.embedded),
    )


async def _held(resources: Resources, source_file: str) -> set[str]:
    """The texts of a lesson's chunks, as the index has them."""
    state = (await resources.records.books())[0]
    filters = Filters(book_id=state.book_id, source_file=source_file)
    return {indexed.chunk.text async for indexed in resources.index.scan(state.collection_name, filters)}


def _edit(path: Path, draw: random.Random) -> None:
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    prose = [place for place, block in enumerate(blocks) if block[:1].isalpha()]
    blocks[draw.choice(prose)] += EDIT
    path.write_text("\n\n".join(blocks), encoding="utf-8")
