"""Records, reservations and the embedding cache on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect

from bythebook.books.model import BookWarning, Place
from bythebook.database.engine import Database, database_url
from bythebook.database.tables import metadata
from bythebook.embedding.batches import EmbeddingCache, cache_key
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.ingestion.records import Records
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import open_library
from tests.support.small_book import lesson, write

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
STATE = IngestionState(
    book_id="small",
    title="Ein kleines Büchlein 🤖",
    language="de",
    collection_name="one",
    source_root="/books/small",
    total_chunks=3,
)
RECORD = IngestionRecord(
    book_id="small",
    source_file="kapitel/01-größe.md",
    file_hash="a" * 64,
    fingerprint="b" * 64,
    id_base="arms:1:1",
    place=Place(module="arms", chapter=1, lesson=1, hardware_tier=3, proficiency_level="C1", layer="L3"),
    title=None,
    chunk_ids=("x", "y"),
    ingested_at=NOON,
    warnings=(BookWarning(source_file="kapitel/01-größe.md", line=2, field="layer", message="is odd"),),
)

Story = Callable[[Database], Awaitable[None]]


@pytest.fixture(params=["sqlite", "postgresql"])
def tell(request: pytest.FixtureRequest, folder: Path) -> Callable[[Story], None]:
    """Tells a story with a database that is empty."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgresql")

    def run(story: Story) -> None:
        async def whole() -> None:
            async with opened(url, folder) as database:
                await story(database)

        asyncio.run(whole())

    return run


@asynccontextmanager
async def opened(url: str | None, folder: Path) -> AsyncIterator[Database]:
    database = await Database.open(database_url(url, folder))
    try:
        yield database
    finally:
        await database.close()


def test_a_book_comes_back_as_it_went_in(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        records = Records(database)
        assert (await records.book("small"), await records.books()) == (None, [])
        await records.save_book(STATE)
        assert await records.book("small") == STATE
        elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
        later = replace(STATE, total_chunks=4, last_full_ingest=elsewhere, last_incremental_update=NOON)
        await records.save_book(later)
        assert await records.books() == [later]
        found = await records.book("small")
        assert found is not None
        assert found.last_full_ingest is not None
        assert found.last_full_ingest.utcoffset() == timedelta(0)

    tell(story)


def test_records_come_back_as_they_went_in_and_only_where_they_belong(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        records = Records(database)
        await records.save_records("small", "one", [RECORD])
        await records.save_records("small", "two", [replace(RECORD, title="Größe")])
        await records.save_records("other", "one", [replace(RECORD, book_id="other")])
        assert await records.records("small", "one") == {RECORD.source_file: RECORD}
        assert (await records.records("small", "two"))[RECORD.source_file].title == "Größe"
        assert RECORD.chunk_count == 2
        await records.save_records("small", "one", [replace(RECORD, source_file="new.md")], gone=[RECORD.source_file, "never.md"])
        assert list(await records.records("small", "one")) == ["new.md"]
        assert len(await records.records("other", "one")) == 1

    tell(story)


def test_a_doubted_record_has_lost_its_fingerprint_and_nothing_else(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        records = Records(database)
        await records.save_records("small", "one", [RECORD, replace(RECORD, source_file="sure.md")])
        await records.invalidate("small", "one", [RECORD.source_file, "never.md"])
        found = await records.records("small", "one")
        assert found[RECORD.source_file] == replace(RECORD, fingerprint="")
        assert found["sure.md"].fingerprint == RECORD.fingerprint

    tell(story)


def test_reservations_tell_who_may_be_in_a_collection(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        records = Records(database)
        await records.reserve("small", "one")
        await records.reserve("small", "one")
        await records.reserve("other", "one")
        await records.reserve("small", "two")
        await records.save_records("small", "two", [RECORD])
        assert await records.leftover_collections("small", "one") == ["two"]
        assert await records.used_by_others("one", "small")
        assert not await records.used_by_others("two", "small")
        await records.release("small", "two")
        assert await records.leftover_collections("small", "one") == []
        assert await records.records("small", "two") == {}

    tell(story)


def test_many_rows_at_once(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        records = Records(database)
        many = [replace(RECORD, source_file=f"{number:05}.md") for number in range(2_000)]
        await records.save_records("small", "one", many)
        await records.save_records("small", "one", [], gone=[record.source_file for record in many[:-1]])
        assert list(await records.records("small", "one")) == ["01999.md"]

    tell(story)


def test_embeddings_are_kept_to_the_bit(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        cache = EmbeddingCache(database)
        vectors = {cache_key("small@1", f"text {number}"): np.array([number, 1 / 3, -0.0], np.float32) for number in range(900)}
        await cache.put(vectors)
        await cache.put(vectors)
        found = await cache.get([*vectors, "never"])
        assert found.keys() == vectors.keys()
        assert all(found[key].tobytes() == vectors[key].tobytes() for key in vectors)
        assert await cache.get([]) == {}

    tell(story)


def test_the_key_knows_the_embedder_and_the_text() -> None:
    keys = {cache_key(embedder, text) for embedder in ("a", "ab") for text in ("c", "bc", "\0c", "")}
    assert len(keys) == 8


def test_the_migrations_make_what_the_tables_say(tell: Callable[[Story], None]) -> None:
    async def story(database: Database) -> None:
        made = await database.run(
            lambda connection: {
                table: {column["name"]: column["nullable"] for column in inspect(connection).get_columns(table)}
                for table in inspect(connection).get_table_names()
                if table != "alembic_version"
            }
        )
        wanted = {table.name: {column.name: column.nullable for column in table.columns} for table in metadata.sorted_tables}
        assert made == wanted

    tell(story)


def test_a_book_is_ingested_with_records_in_postgresql(book: Path, folder: Path, postgresql: str) -> None:
    async def story() -> None:
        async with open_library(folder / "data", url=postgresql) as library, open_library(folder / "file") as file:
            await library.ingest(book)
            write(book, "new.md", lesson("New", "This lesson is new."))
            (book / "glossary.md").unlink()
            await library.ingest(book)
            await file.ingest(book)
            assert await library.snapshot() == await file.snapshot()
            assert await library.problems() == ()
            embedder = SmallEmbedder()
            assert (await replace(library, embedder=embedder).ingest(book, "recreate")).chunks_embedded == 0

    asyncio.run(story())


def test_two_programs_that_open_a_new_database_at_once(folder: Path, postgresql: str) -> None:
    async def story(url: str | None) -> None:
        opened = await asyncio.gather(*(Database.open(database_url(url, folder)) for _ in range(4)))
        for database in opened:
            assert await Records(database).books() == []
            await database.close()

    asyncio.run(story(None))
    asyncio.run(story(postgresql))


def test_a_folders_own_page_comes_before_the_others_in_it() -> None:
    files = ["b/attention.md", "b/index.md", "a/readme.MD", "a/a.md", "b/indexes.md", "index.md"]
    records = [replace(RECORD, source_file=file, place=replace(RECORD.place, chapter=0, lesson=0)) for file in files]
    ordered = [one.source_file for one in sorted(records, key=lambda one: one.reading_order)]
    assert ordered == ["index.md", "a/readme.MD", "a/a.md", "b/index.md", "b/attention.md", "b/indexes.md"]
