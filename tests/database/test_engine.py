"""Connections: how many there are, and what is said when all are in use."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import Connection, literal, select

from bythebook.database.engine import CONNECTIONS, Database, database_url
from bythebook.errors import Unavailable


def ask(connection: Connection) -> int:
    return int(connection.execute(select(1)).scalar_one())


def test_when_all_connections_are_in_use_it_says_so_and_goes_on_after(database_address: str | None, folder: Path) -> None:
    async def story() -> None:
        database = await Database.open(database_url(database_address, folder), wait_seconds=0.05)
        try:
            async with AsyncExitStack() as stack:
                for _ in range(CONNECTIONS["postgresql" if database_address else "sqlite"]):
                    await stack.enter_async_context(database.transaction())
                with pytest.raises(Unavailable, match=r"connections to the database .* Try again"):
                    await database.run(ask)
                with pytest.raises(Unavailable):
                    async with database.transaction():
                        raise AssertionError("there is none to begin on")
            assert await database.run(ask) == 1
        finally:
            await database.close()

    asyncio.run(story())


def test_who_waits_for_a_connection_gets_the_next_that_is_free(database_address: str | None, folder: Path) -> None:
    """Many more at once than there are connections, each in several statements."""

    async def one(database: Database, number: int) -> int:
        async with database.transaction() as connection:
            await connection.execute(select(1))
            return int((await connection.execute(select(literal(number)))).scalar_one())

    async def story() -> None:
        database = await Database.open(database_url(database_address, folder))
        try:
            assert await asyncio.gather(*(one(database, number) for number in range(60))) == list(range(60))
        finally:
            await database.close()

    asyncio.run(story())


def test_a_queue_that_moves_is_waited_for(folder: Path) -> None:
    """Longer than anyone waits while nothing moves."""
    held_seconds, wait_seconds = 0.25, 2.0
    many = int(CONNECTIONS["sqlite"] * wait_seconds / held_seconds) + 8

    async def one(database: Database) -> int:
        async with database.transaction() as connection:
            await asyncio.sleep(held_seconds)
            return int((await connection.execute(select(1))).scalar_one())

    async def story() -> None:
        database = await Database.open(database_url(None, folder), wait_seconds=wait_seconds)
        try:
            assert await asyncio.gather(*(one(database) for _ in range(many))) == [1] * many
        finally:
            await database.close()

    asyncio.run(story())
