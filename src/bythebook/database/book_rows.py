"""All rows of one book: counted, deleted, or given another book id, each in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from bythebook.database.tables import books, cited, ingestion_records, jobs, keys, reservations, threads, turns, worth_asking
from bythebook.errors import Busy

OWN_TABLES = (threads, jobs, ingestion_records, reservations, worth_asking, books)
"""Tables whose rows are deleted with the book. Messages, turns and citations are deleted with their threads; a key for this book
alone is revoked."""


def count_rows(connection: Connection, book_id: str) -> dict[str, int]:
    """How many threads and jobs the book has, and how many unrevoked keys are for it alone."""
    counted = {"threads": threads, "jobs": jobs, "keys": keys}
    found = {name: select(func.count()).select_from(table).where(table.c.book_id == book_id) for name, table in counted.items()}
    found["keys"] = found["keys"].where(keys.c.revoked_at.is_(None))
    return {name: int(connection.execute(statement).scalar_one()) for name, statement in found.items()}


def check_idle(connection: Connection, *book_ids: str) -> None:
    """Raises Busy while a job ingests one of the books: it cannot be removed, renamed or mixed with another meanwhile."""
    running = select(jobs.c.job_id, jobs.c.book_id).where(jobs.c.book_id.in_(book_ids), jobs.c.status == "running")
    if job := connection.execute(running.limit(1)).first():
        raise Busy(
            f"Job {job.job_id} of '{job.book_id}' is running. Wait for its end, or cancel it: bythebook jobs cancel {job.job_id}"
        )


def delete_rows(connection: Connection, book_id: str) -> None:
    check_idle(connection, book_id)
    for table in OWN_TABLES:
        connection.execute(delete(table).where(table.c.book_id == book_id))
    unrevoked = (keys.c.book_id == book_id) & keys.c.revoked_at.is_(None)
    connection.execute(update(keys).where(unrevoked).values(revoked_at=datetime.now(UTC)))


def rename_rows(connection: Connection, old: str, new: str, ids: Mapping[str, str]) -> None:
    """Gives the book's rows another book id. `ids`: the new ids of chunks and lessons by the old ones, because both depend on
    the book's id. Stored answers name them too."""
    check_idle(connection, old, new)
    for table in (threads, jobs, keys, worth_asking, books):
        connection.execute(update(table).where(table.c.book_id == old).values(book_id=new))
    check_idle(connection, new)  # on PostgreSQL a job may have started since
    for row in connection.execute(select(cited).where(cited.c.book_id == old)).all():
        this = [cited.c[name] == getattr(row, name) for name in ("thread_id", "turn", "label", "chunk_id")]
        renamed = {"book_id": new, "chunk_id": ids.get(row.chunk_id, row.chunk_id)}
        connection.execute(update(cited).where(*this).values(renamed))
    of_book = select(turns.c.thread_id, turns.c.number, turns.c.answer, turns.c.trace).where(turns.c.book_id == old)
    for row in connection.execute(of_book).all():
        told = {name: _renamed(getattr(row, name), old, new, ids) for name in ("answer", "trace")}
        here = (turns.c.thread_id == row.thread_id) & (turns.c.number == row.number)
        connection.execute(update(turns).where(here).values(book_id=new, **told))
    for table in (ingestion_records, reservations):  # the new ones are there already
        connection.execute(delete(table).where(table.c.book_id == old))


def _renamed(value: Any, old: str, new: str, ids: Mapping[str, str]) -> Any:
    """A stored value with the new ids in it. An id is always a whole string, never part of a text."""
    if isinstance(value, dict):
        named = {name: _renamed(held, old, new, ids) for name, held in value.items()}
        return {**named, "book_id": new} if named.get("book_id") == old else named
    if isinstance(value, list):
        return [_renamed(held, old, new, ids) for held in value]
    return ids.get(value, value) if isinstance(value, str) else value
