"""Document D's IngestionState and IngestionRecord in SQL, and which collection holds which book. A book is served from one
collection; `recreate` fills another beside it and then switches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, delete, func, insert, select, update

from bythebook.books.model import Book, BookOptions, BookWarning, Place
from bythebook.database.engine import Database, slices, upsert
from bythebook.database.tables import books, ingestion_records, reservations
from bythebook.embedding.embedder import Embedder
from bythebook.errors import Busy, StorageFailure
from bythebook.index.manifest import Manifest, wanted_manifest
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.ingestion.request import Mode


class Records:
    """Reads and writes states and records. Every change is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def catalog_lock(self) -> AbstractAsyncContextManager[None]:
        """A lock to hold while collections are made, dropped, or change the books they serve: workers of other books do the
        same."""
        return self._database.alone("shelf")

    async def books(self) -> list[IngestionState]:
        rows = await self._database.run(lambda connection: connection.execute(select(books).order_by(books.c.book_id)).all())
        return [_state(row) for row in rows]

    async def book(self, book_id: str) -> IngestionState | None:
        wanted = select(books).where(books.c.book_id == book_id)
        row = await self._database.run(lambda connection: connection.execute(wanted).first())
        return _state(row) if row else None

    async def save_book(self, state: IngestionState) -> None:
        """Saves the state. From here on the book is served from `state.collection_name`."""
        await self._database.run(lambda connection: upsert(connection, books, [asdict(state)], keys=("book_id",)))

    async def records(self, book_id: str, collection: str) -> dict[str, IngestionRecord]:
        wanted = select(ingestion_records).where(_here(ingestion_records, book_id, collection))
        rows = await self._database.run(lambda connection: connection.execute(wanted).all())
        return {row.source_file: _record(row) for row in rows}

    async def lesson_counts(self) -> dict[str, int]:
        """How many lessons each book has in the collection that serves it."""
        served = ingestion_records.join(
            books,
            (ingestion_records.c.book_id == books.c.book_id) & (ingestion_records.c.collection_name == books.c.collection_name),
        )
        wanted = select(books.c.book_id, func.count().label("lessons")).select_from(served).group_by(books.c.book_id)
        rows = await self._database.run(lambda connection: connection.execute(wanted).all())
        return {row.book_id: row.lessons for row in rows}

    async def leftover_collections(self, book_id: str, collection: str) -> list[str]:
        """Other collections that may hold some of this book, left by a run that did not finish."""
        other = (reservations.c.book_id == book_id) & (reservations.c.collection_name != collection)
        wanted = select(reservations.c.collection_name).where(other)
        return list(await self._database.run(lambda connection: connection.execute(wanted).scalars().all()))

    async def used_by_others(self, collection: str, book_id: str) -> bool:
        """Whether another book is in this collection, or is being put into it."""
        other = (reservations.c.collection_name == collection) & (reservations.c.book_id != book_id)
        wanted = select(reservations).where(other).limit(1)
        return await self._database.run(lambda connection: connection.execute(wanted).first()) is not None

    async def reserve(self, book_id: str, collection: str) -> None:
        """Notes that the book is about to be put into this collection, before its first lesson is."""

        def reserve(connection: Connection) -> None:
            _release(connection, book_id, collection)
            connection.execute(insert(reservations).values(book_id=book_id, collection_name=collection))

        await self._database.run(reserve)

    async def release(self, book_id: str, collection: str) -> None:
        """Notes that nothing of the book is in this collection any more."""
        await self._database.run(lambda connection: _release(connection, book_id, collection))

    async def save_records(
        self, book_id: str, collection: str, records: Sequence[IngestionRecord], *, gone: Iterable[str] = ()
    ) -> None:
        """Replaces the records of these lessons, and deletes those of lessons that were removed."""
        forgotten = delete(ingestion_records).where(_here(ingestion_records, book_id, collection))
        rows = [_row(record, collection) for record in records]

        def save(connection: Connection) -> None:
            for some in slices(sorted(gone)):
                connection.execute(forgotten.where(ingestion_records.c.source_file.in_(some)))
            upsert(connection, ingestion_records, rows, keys=("book_id", "collection_name", "source_file"))

        await self._database.run(save)

    async def invalidate(self, book_id: str, collection: str, source_files: Iterable[str]) -> None:
        """Invalidates the records of lessons that are about to be replaced. Until they are recorded again they count as changed,
        whatever the files say."""
        doubted = update(ingestion_records).where(_here(ingestion_records, book_id, collection)).values(fingerprint="")

        def mark(connection: Connection) -> None:
            for some in slices(sorted(source_files)):
                connection.execute(doubted.where(ingestion_records.c.source_file.in_(some)))

        await self._database.run(mark)


def _release(connection: Connection, book_id: str, collection: str) -> None:
    for table in (ingestion_records, reservations):
        connection.execute(delete(table).where(_here(table, book_id, collection)))


def _here(table: Table, book_id: str, collection: str) -> ColumnElement[bool]:
    return (table.c.book_id == book_id) & (table.c.collection_name == collection)


def _state(row: Row[Any]) -> IngestionState:
    return IngestionState(**{**row._mapping, "options": BookOptions(**row.options or {})})


def _row(record: IngestionRecord, collection: str) -> dict[str, Any]:
    place = record.place
    return {
        "book_id": record.book_id,
        "collection_name": collection,
        "source_file": record.source_file,
        "file_hash": record.file_hash,
        "fingerprint": record.fingerprint,
        "id_base": record.id_base,
        "claim": {"place": asdict(place), **{name: getattr(record, name) for name in ("title", "order", "weight", "read_by")}},
        "chunk_ids": list(record.chunk_ids),
        "chunk_count": record.chunk_count,
        "ingested_at": record.ingested_at,
        "module": place.module,
        "chapter": place.chapter,
        "lesson": place.lesson,
        "warnings": [asdict(warning) for warning in record.warnings],
    }


def _record(row: Row[Any]) -> IngestionRecord:
    return IngestionRecord(
        book_id=row.book_id,
        source_file=row.source_file,
        file_hash=row.file_hash,
        fingerprint=row.fingerprint,
        id_base=row.id_base,
        place=Place(**row.claim["place"]),
        title=row.claim["title"],
        chunk_ids=tuple(row.chunk_ids),
        ingested_at=row.ingested_at,
        warnings=tuple(BookWarning(**warning) for warning in row.warnings),
        order=row.claim.get("order", 0),
        weight=row.claim.get("weight"),
        read_by=row.claim.get("read_by", ""),
    )


class BookCollections:
    """Chooses and prepares the collection of a book, and switches readers to it."""

    def __init__(self, index: VectorIndex, records: Records, embedder: Embedder, *, collection_name: str) -> None:
        self._index = index
        self._records = records
        self._embedder = embedder
        self._collection_name = collection_name

    async def choose(self, book: Book, state: IngestionState | None, mode: Mode) -> str:
        """The collection that this run writes to, which may not exist yet. The embedder is asked for its dimension only where the
        book may move; otherwise a vector that does not fit the collection is refused when it is written."""
        collections = await self._index.collections()
        if state and mode != "recreate":
            if state.collection_name in collections:
                collections[state.collection_name].require(self._embedder.name, book_id=book.book_id)
                return state.collection_name
            raise StorageFailure(
                f"The index of '{book.book_id}' (collection {state.collection_name}) is gone. "
                "Set QDRANT_COLLECTION_NAME back if it was changed, restore the index from a backup, or rebuild it: "
                "bythebook ingest FOLDER --mode recreate"
            )
        served, wanted = state.collection_name if state else None, await self._wanted()
        for name, manifest in sorted(collections.items()):
            if name != served and manifest.same_index(wanted):
                return name
        return self._free_name({*collections, served})

    async def prepare(self, book: Book, state: IngestionState | None, mode: Mode) -> str:
        """Prepares a collection for a book that is not served from it: removes what an interrupted run left there."""
        async with self._records.catalog_lock():
            collection = await self.choose(book, state, mode)  # again: another worker may have just made one
            await self._records.reserve(book.book_id, collection)
            if collection in await self._index.collections():
                await self._index.remove_book(collection, book.book_id)
            else:
                await self._index.create(collection, await self._wanted())
            return collection

    async def serve(self, state: IngestionState, before: IngestionState | None) -> None:
        """Serves the book from `state.collection_name`, and removes it from every other collection."""
        async with self._records.catalog_lock():
            await self._serve(state, before)

    async def _serve(self, state: IngestionState, before: IngestionState | None) -> None:
        if before and await self._records.book(before.book_id) is None:
            await self._index.remove_book(state.collection_name, state.book_id)
            await self._records.release(state.book_id, state.collection_name)
            raise Busy(f"'{state.book_id}' was removed or renamed while it was ingested, so nothing is served under that id.")
        left = set(await self._records.leftover_collections(state.book_id, state.collection_name))
        if before and before.collection_name != state.collection_name:
            left.add(before.collection_name)
        there = await self._index.collections()
        await self._index.save_manifest(state.collection_name, there[state.collection_name].serving(state))
        await self._records.save_book(state)
        if self._collection_name not in there:
            await self._index.alias(self._collection_name, state.collection_name)
        for name in sorted(left):  # the reservation is deleted last: while it exists, a run that was killed can be recognised
            if name in there:
                await self._index.save_manifest(name, there[name].without(state.book_id))
                if await self._records.used_by_others(name, state.book_id):
                    await self._index.remove_book(name, state.book_id)
                else:  # dropped as it is: whoever still reads it is told that it is gone, and reads the new one
                    await self._index.drop(name)
                    if name == self._collection_name:
                        await self._index.alias(name, state.collection_name)
            await self._records.release(state.book_id, name)

    async def _wanted(self) -> Manifest:
        return wanted_manifest(self._embedder.name, await self._embedder.dimension())

    def _free_name(self, taken: set[str | None]) -> str:
        """The configured name is used for the very first collection. Later it may be an alias of the one that serves."""
        name, number = self._collection_name, 1
        while name in taken or (number == 1 and taken - {None}):
            number += 1
            name = f"{self._collection_name}_{number}"
        return name
