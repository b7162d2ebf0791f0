"""A database opened for a test, and a story told with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bythebook.database.engine import Database, database_url


@asynccontextmanager
async def opened(address: str | None, folder: Path) -> AsyncIterator[Database]:
    database = await Database.open(database_url(address, folder))
    try:
        yield database
    finally:
        await database.close()


def tell(address: str | None, folder: Path, story: Callable[[Database], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with opened(address, folder) as database:
            await story(database)

    asyncio.run(whole())
