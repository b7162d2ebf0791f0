"""SQL statements that SQLite and PostgreSQL both accept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import sqlite

ROWS_AT_ONCE = 400
"""SQLite accepts 32,766 parameters in a statement, older builds 999."""


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    if not rows:
        return
    insert = _insert(connection.dialect.name, table)
    changes = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes), list(rows))


def insert_absent(connection: Connection, table: Table, row: dict[str, Any], *, keys: tuple[str, ...]) -> bool:
    """Inserts a row. Returns False if there is a row with these keys already, which stays unchanged."""
    return connection.execute(_insert_absent(connection.dialect.name, table, keys), row).first() is not None


def slices(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[start : start + ROWS_AT_ONCE] for start in range(0, len(keys), ROWS_AT_ONCE)]


def now(connection: Connection) -> datetime:
    """Returns the time by the clock that all processes share, the database server's; leases use it. SQLite has this machine's."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)


@cache
def _insert_absent(dialect: str, table: Table, keys: tuple[str, ...]) -> Any:
    """Built once, because building a statement takes longer than running it."""
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=keys).returning(table.c[keys[0]])


def _insert(dialect: str, table: Table) -> Any:
    """Returns an insert that may meet an existing row. Both databases write it alike, but their types have nothing in common."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # late: most have none, and it is slow to import

    return postgresql.insert(table)
