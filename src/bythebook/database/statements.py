"""Statements that SQLite and PostgreSQL both take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

ROWS_AT_ONCE = 400
"""SQLite takes 32,766 parameters in a statement, older builds 999."""


async def upsert(connection: AsyncConnection, table: Table, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    if not rows:
        return
    insert = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
    changes = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    await connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes), list(rows))


def slices(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[start : start + ROWS_AT_ONCE] for start in range(0, len(keys), ROWS_AT_ONCE)]
