"""Whole tables on tiny books: that they measure what they say. What they say about speed is not looked at. Those that
ingest a book run in `make soak`: they check the measuring, not the product."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bench.alone import Ingested, ingest, opened
from bench.changes import changes
from bench.large_index import BOOK, COLLECTION, fill, lessons
from bench.material import Question
from bench.retrieval import BM25, DENSE, OURS, ranks
from bench.scale import time_rows
from bench.standin import StandIn
from bench.workshop import QUICK, Workshop
from bythebook.index.vectors import Filters, IndexedChunk

TEXTS = {
    "lidar.md": "A lidar times pulses of light to measure how far away a wall is.",
    "tea.md": "Green tea is brewed at eighty degrees for two minutes.",
    "orbit.md": "A satellite falls around the Earth without ever reaching the ground.",
}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(folder=tmp_path, sizes=replace(QUICK, checked_lessons=12, edits=3))


@pytest.mark.soak
def test_changes_counts_what_was_embedded(workshop: Workshop) -> None:
    table = changes(workshop)
    unchanged, edited = table.rows[1], table.rows[-1]
    assert (unchanged[1], unchanged[-1]) == ("0", "met")
    assert edited[1].startswith("3 texts embedded, 3 chunks changed")
    assert edited[-1] == "met"


@pytest.mark.soak
def test_retrieval_ranks_the_lesson_that_answers(workshop: Workshop) -> None:
    book = workshop.folder / "toy"
    book.mkdir()
    for name, text in TEXTS.items():
        (book / name).write_text(text, encoding="utf-8")

    async def ingested() -> None:
        async with opened(workshop.data_dir("toy")) as resources:
            await ingest(resources, book)

    asyncio.run(ingested())
    questions = [
        Question(text="How hot is the water for green tea?", lesson="tea.md"),
        Question(text="What measures the distance to a wall with light?", lesson="lidar.md"),
        Question(text="Why does a satellite stay up?", lesson="nowhere.md"),
    ]
    assert asyncio.run(ranks(workshop, "toy", questions)) == {method: [1, 1, None] for method in (OURS, BM25, DENSE)}


@pytest.mark.soak
def test_a_large_index_holds_what_was_asked_for(workshop: Workshop) -> None:
    async def filled() -> tuple[int, int, list[IndexedChunk]]:
        async with opened(workshop.data_dir("small"), StandIn()) as resources:
            report = await ingest(resources, workshop.made(8, 2))
            scan = resources.index.scan(report.collection_name, Filters(book_id=report.book_id), with_vectors=True)
            chunks = [indexed async for indexed in scan]
            state = await fill(resources, chunks, 200)
            passing = Filters(book_id=BOOK, hardware_tier_max=2, module="module-1")
            return await resources.index.count(COLLECTION, passing), state.total_chunks, chunks

    passing, total, chunks = asyncio.run(filled())
    assert total == sum(len(lesson.chunks) for lesson in lessons(chunks, 200)) == 200
    assert passing == pytest.approx(200 / 8, rel=0.5)


@pytest.mark.soak
def test_copies_lie_near_their_original_and_never_share_an_id(workshop: Workshop) -> None:
    async def held() -> list[IndexedChunk]:
        async with opened(workshop.data_dir("small"), StandIn()) as resources:
            report = await ingest(resources, workshop.made(2, 2))
            scan = resources.index.scan(report.collection_name, Filters(book_id=report.book_id), with_vectors=True)
            return [indexed async for indexed in scan]

    chunks = asyncio.run(held())
    copies = [indexed for lesson in lessons(chunks, 3 * len(chunks)) for indexed in lesson.chunks]
    assert len({indexed.chunk.id for indexed in copies}) == len({indexed.chunk.content_hash for indexed in copies}) == len(copies)
    for number, copy in enumerate(copies):
        original = chunks[number % len(chunks)]
        assert copy.embedding is not None
        assert original.embedding is not None
        assert float(copy.embedding @ original.embedding) == pytest.approx(1.0 if number < len(chunks) else 0.89, abs=0.06)
        assert copy.terms == original.terms


def test_time_is_held_against_the_smallest_book() -> None:
    made = [
        Ingested(book_id="made", lessons=count, chunks=2 * count, embedded=2 * count, seconds=seconds, peak_bytes=1)
        for count, seconds in ((100, 1.0), (200, 2.2), (400, 8.0))
    ]
    assert [row[4:] for row in time_rows(made)] == [
        ("10.00 ms per lesson, 1.00 ×", "", ""),
        ("11.00 ms per lesson, 1.10 ×", "<= 1.25 ×", "met"),
        ("20.00 ms per lesson, 2.00 ×", "<= 1.25 ×", "**not met**"),
    ]
