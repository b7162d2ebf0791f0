"""Transactions are whole: also when the task that waits for one is cancelled, and for what must be done alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest
from sqlalchemy import Connection, func, insert, select

from bythebook.database.engine import Database
from bythebook.database.tables import reservations
from bythebook.errors import StorageFailure
from tests.support.databases import tell
from tests.support.processes import SECONDS


async def write(database: Database, book_id: str) -> None:
    def work(connection: Connection) -> None:
        for collection in ("one", "two"):
            row = insert(reservations).values(book_id=book_id, collection_name=collection)
            connection.execute(row.returning(reservations.c.book_id))

    await database.run(work)


async def rows(database: Database, book_id: str) -> int:
    count = select(func.count()).select_from(reservations).where(reservations.c.book_id == book_id)
    return int(await database.run(lambda connection: connection.execute(count).scalar_one()))


def test_a_cancelled_transaction_is_all_or_nothing_and_locks_nobody_out(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        for moment in range(40):
            task = asyncio.create_task(write(database, f"cancelled {moment}"))
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert await rows(database, f"cancelled {moment}") in (0, 2)
            await write(database, f"after {moment}")

    tell(database_address, folder, story)


def test_the_same_in_a_scope_that_cancels_again_at_every_wait(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        for moment in range(40):
            async with anyio.create_task_group() as group:
                group.start_soon(write, database, f"cancelled {moment}")
                for _ in range(moment):
                    await asyncio.sleep(0)
                group.cancel_scope.cancel()
            assert await rows(database, f"cancelled {moment}") in (0, 2)
            await write(database, f"after {moment}")

    tell(database_address, folder, story)


def test_a_transaction_is_ended_once_it_has_begun(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        for moment in range(20):
            task = asyncio.create_task(write(database, str(moment)))
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert await rows(database, str(moment)) in ((0, 2) if moment < 2 else (2,))

    tell(database_address, folder, story)


def test_one_at_a_time_of_all_who_use_the_database(database_address: str | None, folder: Path) -> None:
    """Also after one who was cancelled while it waited, or while it held the lock."""

    async def story(database: Database) -> None:
        inside: list[int] = []

        async def enter(number: int) -> None:
            async with database.alone("test"):
                inside.append(number)
                assert len(inside) == 1
                await asyncio.sleep(0.001)
                inside.remove(number)

        for moment in range(5):
            task = asyncio.create_task(enter(-moment))
            await asyncio.sleep(0.0005 * moment)
            task.cancel()
            await asyncio.wait([task])
            inside.clear()
            await asyncio.wait_for(asyncio.gather(*map(enter, range(1, 9))), SECONDS)

    tell(database_address, folder, story)


def test_a_transaction_that_fails_leaves_nothing(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        def work(connection: Connection) -> None:
            for _ in range(2):
                connection.execute(insert(reservations).values(book_id="twice", collection_name="one"))

        with pytest.raises(StorageFailure, match="does not answer as it should"):
            await database.run(work)
        assert await rows(database, "twice") == 0

    tell(database_address, folder, story)
