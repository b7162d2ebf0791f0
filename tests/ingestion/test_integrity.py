"""`check` names what is broken: an index damaged in many ways, each found under its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from bythebook.books.model import Span
from bythebook.index.vectors import Filters, IndexedChunk, Replacement
from tests.support.library import Library, open_library

ELBOWS = "module-1-arms/chapter-1-joints/01-elbows.md"
COLLECTION = "textbook_chunks"

Damage = Callable[[IndexedChunk], IndexedChunk]


def chunk(**changes: Any) -> Damage:
    return lambda held: replace(held, chunk=replace(held.chunk, **changes))


def held(**changes: Any) -> Damage:
    return lambda one: replace(one, **changes)


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        (chunk(text="Somebody else wrote this sentence here."), "content_hash is the text's"),
        (chunk(text=" padded with spaces on both sides "), "text is stripped"),
        (chunk(text="short"), "text has 10 characters"),
        (chunk(text="word " * 600 + "end"), "text is within 512 tokens"),
        (chunk(content_hash="0" * 64), "id is D's formula"),
        (chunk(parent_doc_id="00000000-0000-0000-0000-000000000000"), "parent_doc_id is one per lesson"),
        (chunk(source_file_hash="0" * 64), "source_file_hash is the recorded one"),
        (chunk(hardware_tier=7), "hardware_tier is 1 to 4"),
        (chunk(proficiency_level="Z9"), "proficiency_level is A1 to C2"),
        (chunk(layer="L9"), "layer is L1 to L4"),
        (chunk(chapter=-1), "chapter and lesson are 0 or more"),
        (chunk(chunk_index=5), "chunk_index counts from 0 without gaps"),
        (chunk(total_chunks=9), "total_chunks is the lesson's"),
        (chunk(prev_chunk_id=None), "prev_chunk_id is the chunk before"),
        (chunk(next_chunk_id=None), "next_chunk_id is the chunk after"),
        (chunk(span=Span(start=0, end=3, first_line=1, last_line=1)), "span is as long as the text"),
        (held(version=0), "version is 1 or more"),
        (held(embedding_model="other@1"), "embedding_model is the manifest's"),
        (lambda one: replace(one, updated_at=one.created_at - timedelta(days=1)), "updated_at is not before created_at"),
    ],
)
def test_a_changed_chunk_is_named(book: Path, folder: Path, damage: Damage, rule: str) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            chunks = await elbows(library)
            chunks[1] = damage(chunks[1])
            await put(library, chunks)
            problems = await library.problems()
            assert rule in {problem.rule for problem in problems}
            assert {problem.source_file for problem in problems} == {ELBOWS}

    asyncio.run(story())


def test_a_missing_chunk_is_named(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            chunks = await elbows(library)
            await put(library, [chunks[0], chunks[2]])
            rules = {problem.rule for problem in await library.problems()}
            assert {"recorded chunks are in the index", "chunk_index counts from 0 without gaps"} <= rules

    asyncio.run(story())


def test_a_chunk_too_many_is_named(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            stray = (await elbows(library))[0]
            stray = replace(stray, chunk=replace(stray.chunk, id="11111111-1111-5111-8111-111111111111", source_file="stray.md"))
            await library.index.replace(COLLECTION, "small", [Replacement(source_file="stray.md", chunks=(stray,))])
            assert "the lesson is recorded" in {problem.rule for problem in await library.problems()}

    asyncio.run(story())


def test_a_turned_vector_is_named_when_it_is_no_direction(book: Path, folder: Path) -> None:
    """The engine keeps directions only, so that a vector of another length comes back with length 1: not damage."""

    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            chunks = await elbows(library)
            assert chunks[0].embedding is not None
            chunks[0] = replace(chunks[0], embedding=np.zeros_like(chunks[0].embedding))
            await put(library, chunks)
            assert "embedding has length 1" in {problem.rule for problem in await library.problems()}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE books SET total_chunks = 99", "total_chunks is the sum of the records'"),
        (f"DELETE FROM ingestion_records WHERE source_file = '{ELBOWS}'", "the lesson is recorded"),
        (f"UPDATE ingestion_records SET chunk_ids = '[]' WHERE source_file = '{ELBOWS}'", "the chunk is recorded"),
        (f"UPDATE ingestion_records SET id_base = 'x:1:1' WHERE source_file = '{ELBOWS}'", "parent_doc_id is D's formula"),
        (f"UPDATE ingestion_records SET file_hash = 'x' WHERE source_file = '{ELBOWS}'", "source_file_hash is the recorded one"),
    ],
)
def test_an_altered_record_is_named(book: Path, folder: Path, statement: str, rule: str) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            assert await library.problems() == ()
            await library.database.run(lambda connection: connection.execute(text(statement)))
            assert rule in {problem.rule for problem in await library.problems()}

    asyncio.run(story())


async def elbows(library: Library) -> list[IndexedChunk]:
    filters = Filters(book_id="small", source_file=ELBOWS)
    found = [one async for one in library.index.scan(COLLECTION, filters, with_vectors=True)]
    return sorted(found, key=lambda one: one.chunk.chunk_index)


async def put(library: Library, chunks: list[IndexedChunk]) -> None:
    await library.index.replace(COLLECTION, "small", [Replacement(source_file=ELBOWS, chunks=tuple(chunks))])
