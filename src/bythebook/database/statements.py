"""Statements that SQLite and PostgreSQL both take."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

ROWS_AT_ONCE = 400
"""SQLite takes 32,766 parameters in a statement, older builds 999."""


def upsert_now(connection: Connection, table: Table, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    if not rows:
        return
    insert = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
    changes = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes), list(rows))


async def upsert(connection: AsyncConnection, table: Table, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    await connection.run_sync(upsert_now, table, rows, keys=keys)


def insert_absent(connection: Connection, table: Table, row: dict[str, Any], *, key: str) -> bool:
    """False where there is a row with this key already; it stays as it is."""
    insert = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
    inserted = insert.values(row).on_conflict_do_nothing(index_elements=[key]).returning(table.c[key])
    return connection.execute(inserted).first() is not None


def slices(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[start : start + ROWS_AT_ONCE] for start in range(0, len(keys), ROWS_AT_ONCE)]


def now(connection: Connection) -> datetime:
    """By the clock that every process shares: the server's. Leases are measured by it. SQLite is one machine."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)


async def clock(connection: AsyncConnection) -> datetime:
    return await connection.run_sync(now)
