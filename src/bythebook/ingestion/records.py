"""What is ingested: document D's IngestionState and IngestionRecord. SQL and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, delete, func, insert, select, update

from bythebook.books.model import BookOptions, BookWarning, Place
from bythebook.database.engine import Database
from bythebook.database.statements import slices, upsert
from bythebook.database.tables import books, ingestion_records, reservations
from bythebook.index.state import IngestionRecord, IngestionState


class Records:
    """Reads and writes both. Every change is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def catalog_lock(self) -> AbstractAsyncContextManager[None]:
        """Held while collections come, go, or change the books they serve: workers of other books do the same."""
        return self._database.alone("shelf")

    async def books(self) -> list[IngestionState]:
        rows = await self._database.run(lambda connection: connection.execute(select(books).order_by(books.c.book_id)).all())
        return [_state(row) for row in rows]

    async def book(self, book_id: str) -> IngestionState | None:
        wanted = select(books).where(books.c.book_id == book_id)
        row = await self._database.run(lambda connection: connection.execute(wanted).first())
        return _state(row) if row else None

    async def save_book(self, state: IngestionState) -> None:
        """The book is served from `state.collection_name` from here on."""
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
        """Other collections that may hold some of this book: a run that did not finish."""
        other = (reservations.c.book_id == book_id) & (reservations.c.collection_name != collection)
        wanted = select(reservations.c.collection_name).where(other)
        return list(await self._database.run(lambda connection: connection.execute(wanted).scalars().all()))

    async def used_by_others(self, collection: str, book_id: str) -> bool:
        """Whether any other book is, or is being, put into this collection."""
        other = (reservations.c.collection_name == collection) & (reservations.c.book_id != book_id)
        wanted = select(reservations).where(other).limit(1)
        return await self._database.run(lambda connection: connection.execute(wanted).first()) is not None

    async def reserve(self, book_id: str, collection: str) -> None:
        """The book is about to be put into this collection, from its first lesson on."""

        def reserve(connection: Connection) -> None:
            _release(connection, book_id, collection)
            connection.execute(insert(reservations).values(book_id=book_id, collection_name=collection))

        await self._database.run(reserve)

    async def release(self, book_id: str, collection: str) -> None:
        """Nothing of the book is in this collection any more."""
        await self._database.run(lambda connection: _release(connection, book_id, collection))

    async def save_records(
        self, book_id: str, collection: str, records: Sequence[IngestionRecord], *, gone: Iterable[str] = ()
    ) -> None:
        """Replace the records of these lessons and forget those of lessons that are gone."""
        forgotten = delete(ingestion_records).where(_here(ingestion_records, book_id, collection))
        rows = [_row(record, collection) for record in records]

        def save(connection: Connection) -> None:
            for some in slices(sorted(gone)):
                connection.execute(forgotten.where(ingestion_records.c.source_file.in_(some)))
            upsert(connection, ingestion_records, rows, keys=("book_id", "collection_name", "source_file"))

        await self._database.run(save)

    async def invalidate(self, book_id: str, collection: str, source_files: Iterable[str]) -> None:
        """These lessons are about to be replaced. Until they are recorded again they count as changed, whatever the files say."""
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
        "claim": {"place": asdict(place), "title": record.title, "order": record.order, "weight": record.weight},
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
    )
