"""A whole library in a folder: the real index, the real database, a small embedder. And its state as a value to compare."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from sqlalchemy import Connection, delete

from bythebook.answering.book_search import BookSearch
from bythebook.database.engine import Database, database_url
from bythebook.database.tables import books, ingestion_records, reservations
from bythebook.embedding.batches import EmbeddingCache
from bythebook.embedding.embedder import Embedder
from bythebook.index.payload import to_payload
from bythebook.index.qdrant_edge.index import EdgeIndex
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.ingestion.ingest import Ingestion
from bythebook.ingestion.integrity import BrokenInvariant, inspect_book
from bythebook.ingestion.progress import IngestionEvent, IngestReport
from bythebook.ingestion.readings import FileReader, ReadingStore
from bythebook.ingestion.records import Records
from bythebook.ingestion.request import NO_CONSENT, Consent, IngestionRequest, Mode
from bythebook.retrieval.query import SearchQuery, SearchResponse
from bythebook.retrieval.search import Search
from tests.support.fakes.small_embedder import SmallEmbedder

PAGE = 1 << 16
ZEROS = bytes(PAGE)
MEMORY = Path("/dev/shm")
"""Where it exists, small files are flushed many times faster than to a disk."""
OF_THE_RUN = {"version", "created_at", "updated_at", "embedded_at", "ingested_at"}
"""What tells when and how often something was written, not what was written."""


async def heard(work: Callable[[Callable[[Any], Awaitable[None]]], Awaitable[IngestReport]]) -> list[Any]:
    """What an ingestion tells, and its report."""
    events: list[Any] = []

    async def tell(event: object) -> None:
        events.append(event)

    report = await work(tell)
    return [*events, report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    index: VectorIndex
    database: Database
    records: Records
    embedder: Embedder

    @property
    def ingestion(self) -> Ingestion:
        return Ingestion(
            index=self.index,
            records=self.records,
            cache=EmbeddingCache(self.database),
            embedder=self.embedder,
            collection_name="textbook_chunks",
            max_file_bytes=1_000_000,
        )

    @property
    def search(self) -> Search:
        return Search(index=self.index, embedder=self.embedder, exact=True)

    async def events(
        self,
        root: Path,
        mode: Mode = "incremental",
        *,
        dry_run: bool = False,
        book_id: str | None = None,
        consent: Consent = NO_CONSENT,
    ) -> list[IngestionEvent | IngestReport]:
        """What it told, and its report."""
        request = IngestionRequest(book_id=book_id, mode=mode, dry_run=dry_run, consent=consent)
        return await heard(lambda tell: self.ingestion.run(root, request, tell=tell))

    async def ingest(
        self,
        root: Path,
        mode: Mode = "incremental",
        *,
        dry_run: bool = False,
        book_id: str | None = None,
        consent: Consent = NO_CONSENT,
    ) -> IngestReport:
        return await self.ingestion.run(root, IngestionRequest(book_id=book_id, mode=mode, dry_run=dry_run, consent=consent))

    async def ask(self, text: str, book_id: str = "small", **given: Any) -> SearchResponse:
        searching = BookSearch(search=self.search, index=self.index)
        return await searching.search(SearchQuery(text=text, book_id=book_id, **given))

    async def problems(self, book_id: str = "small") -> tuple[BrokenInvariant, ...]:
        state = await self.search.book(book_id)
        reader = FileReader(root=Path(state.source_root), limit_bytes=1_000_000, store=ReadingStore(None))
        return (await inspect_book(self.index, self.records, state, reader)).problems

    async def snapshot(self) -> dict[str, Any]:
        """All that every book holds: points, vectors, terms, records. Without times, versions and the collections' names."""
        states = await self.records.books()
        collections = await self.index.collections()
        assert sorted(collections) == sorted({state.collection_name for state in states}), "a collection that serves no book"
        for state in states:
            assert not await self.records.leftover_collections(state.book_id, state.collection_name)
        return {state.book_id: await self.snapshot_of(state.book_id) for state in states}

    async def snapshot_of(self, book_id: str) -> dict[str, Any]:
        """The same of one book."""
        state = await self.records.book(book_id)
        assert state is not None
        collection, points = state.collection_name, {}
        async for held in self.index.scan(collection, Filters(book_id=book_id), with_vectors=True):
            assert held.embedding is not None
            payload = {key: value for key, value in to_payload(held).items() if key not in OF_THE_RUN}
            points[held.chunk.id] = (payload, held.embedding.round(5).tolist(), held.terms)
        records = await self.records.records(book_id, collection)
        return {
            "state": (state.title, state.language, state.total_chunks),
            "points": points,
            "records": {path: _without(asdict(record), OF_THE_RUN) for path, record in records.items()},
        }


async def forget_book(library: Library, book_id: str) -> None:
    """As if the book had never been recorded."""

    def forget(connection: Connection) -> None:
        for table in (ingestion_records, reservations, books):
            connection.execute(delete(table).where(table.c.book_id == book_id))

    await library.database.run(forget)


def _without(fields: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


@asynccontextmanager
async def open_library(folder: Path, embedder: Embedder | None = None, *, url: str | None = None) -> AsyncIterator[Library]:
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        database = await Database.open(database_url(url, folder))
        stack.push_async_callback(database.close)
        index = await EdgeIndex.open(folder / "index")
        stack.push_async_callback(index.close)
        yield Library(index=index, database=database, records=Records(database), embedder=embedder or SmallEmbedder())


def copy_library(data: Path, to: Path, *, root: Path) -> Path:
    """A copy, for the same book in another folder."""
    copy_data(data, to)
    move_source(to, root=root)
    return to


def copy_data(data: Path, to: Path) -> Path:
    """A copy of a data folder. The engine reserves 250 MB of zeros for the smallest index: what is zero stays a hole, which
    takes a tenth of the time and of the memory."""
    return Path(shutil.copytree(data, to, dirs_exist_ok=True, copy_function=_copy_file))


def _copy_file(source: str, to: str) -> None:
    with Path(source).open("rb") as old, Path(to).open("wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        new.truncate(size)
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA) // PAGE * PAGE
            except OSError:  # there are only zeros from here on
                break
            if (block := os.pread(old.fileno(), PAGE, at)) != ZEROS:
                os.pwrite(new.fileno(), block, at)
            at += PAGE
    shutil.copymode(source, to)


def move_source(to: Path, *, root: Path) -> None:
    """The one book of this library is in another folder now."""
    new = str(root.resolve())
    with closing(sqlite3.connect(to / "bythebook.db")) as connection, connection:
        (old,) = connection.execute("SELECT source_root FROM books").fetchone()
        connection.execute("UPDATE books SET source_root = ?", [new])
    for manifest in to.glob("index/*/manifest.json"):
        manifest.write_text(manifest.read_text("utf-8").replace(json.dumps(old), json.dumps(new)), "utf-8")


def fast_folder() -> Path:
    """A new folder. Whoever asks for it removes it."""
    return Path(mkdtemp(prefix="bythebook-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))


def with_embedder(library: Library, embedder: Embedder) -> Library:
    """The same library, used by a program with another embedder."""
    return replace(library, embedder=embedder)
