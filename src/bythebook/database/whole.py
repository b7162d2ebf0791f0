"""Statements that are not broken off. The drivers leave a connection in pieces that is cancelled in the middle of one: SQLite's
keeps the file locked, and PostgreSQL's may answer a cancellation with an error of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

T = TypeVar("T")


async def whole(work: Coroutine[Any, Any, T]) -> T:
    """Once begun it is ended; only then is the caller cancelled, if it was to be."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # a cancelled scope of anyio cancels again at every wait
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise


class WholeStatements(AsyncConnection):
    async def execute(self, *given: Any, **named: Any) -> Any:
        return await whole(super().execute(*given, **named))


@asynccontextmanager
async def begin_whole(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Like `engine.begin()`: committed at the end, rolled back by an exception."""
    connection = WholeStatements(engine)
    try:
        await whole(connection.start())
        yield connection
        await whole(connection.commit())
    finally:
        if connection.sync_connection is not None:
            await whole(connection.close())
