"""A database that is empty, of either kind, and stories told with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bythebook.database.engine import Database, database_url
from bythebook.jobs.store import Jobs

Story = Callable[[Jobs, Database], Awaitable[None]]
Tell = Callable[[Story], None]


@asynccontextmanager
async def open_jobs(url: str | None, folder: Path) -> AsyncIterator[tuple[Jobs, Database]]:
    database = await Database.open(database_url(url, folder))
    try:
        yield Jobs(database), database
    finally:
        await database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str | None:
    """Of a database: none means SQLite in the folder."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")


@pytest.fixture
def tell(address: str | None, folder: Path) -> Tell:
    def run(story: Story) -> None:
        async def whole() -> None:
            async with open_jobs(address, folder) as (jobs, database):
                await story(jobs, database)

        asyncio.run(whole())

    return run
