"""A task that is cancelled while the database works for it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import anyio
import pytest
from sqlalchemy import Connection, func, insert, select

from bythebook.database.engine import Database
from bythebook.database.tables import reservations
from bythebook.errors import StorageFailure
from tests.support.databases import tell


async def write(database: Database, book_id: str) -> None:
    async with database.transaction() as connection:
        for collection in ("one", "two"):
            row = insert(reservations).values(book_id=book_id, collection_name=collection)
            await connection.execute(row.returning(reservations.c.book_id))


async def rows(database: Database, book_id: str) -> int:
    async with database.transaction() as connection:
        count = select(func.count()).select_from(reservations).where(reservations.c.book_id == book_id)
        return int((await connection.execute(count)).scalar_one())


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


def test_a_transaction_run_as_one_is_ended_once_it_has_begun(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        def work(connection: Connection, book_id: str) -> None:
            for collection in ("one", "two"):
                connection.execute(insert(reservations).values(book_id=book_id, collection_name=collection))

        for moment in range(20):
            task = asyncio.create_task(database.run(partial(work, book_id=str(moment))))
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert await rows(database, str(moment)) in ((0, 2) if moment < 2 else (2,))

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
