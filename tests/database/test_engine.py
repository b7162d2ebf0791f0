"""Connections: how many there are, and what is said when all are in use."""

from __future__ import annotations

import asyncio
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, literal, select

from bythebook.database import engine
from bythebook.database.engine import CONNECTIONS, WAIT_SECONDS, Database, database_url
from bythebook.errors import Unavailable
from tests.support.clock import Clock
from tests.support.databases import tell


def ask(connection: Connection) -> int:
    return int(connection.execute(select(1)).scalar_one())


def test_when_all_connections_are_in_use_it_says_so_and_goes_on_after(database_address: str | None, folder: Path) -> None:
    async def story() -> None:
        database = await Database.open(database_url(database_address, folder), wait_seconds=0.05)
        try:
            all_of_them = CONNECTIONS["postgresql" if database_address else "sqlite"]
            begun, go_on = threading.Semaphore(0), threading.Event()

            def hold(connection: Connection) -> None:
                ask(connection)
                begun.release()
                go_on.wait()

            holding = [asyncio.create_task(database.run(hold)) for _ in range(all_of_them)]
            for _ in range(all_of_them):
                await asyncio.to_thread(begun.acquire)
            with pytest.raises(Unavailable, match=r"connections to the database .* Try again"):
                await database.run(ask)
            go_on.set()
            await asyncio.gather(*holding)
            assert await database.run(ask) == 1
        finally:
            await database.close()

    asyncio.run(story())


def test_who_waits_for_a_connection_gets_the_next_that_is_free(database_address: str | None, folder: Path) -> None:
    """Many more at once than there are connections, each in several statements."""

    def several(number: int) -> Callable[[Connection], int]:
        def statements(connection: Connection) -> int:
            ask(connection)
            return int(connection.execute(select(literal(number))).scalar_one())

        return statements

    async def story() -> None:
        database = await Database.open(database_url(database_address, folder))
        try:
            assert await asyncio.gather(*(database.run(several(number)) for number in range(60))) == list(range(60))
        finally:
            await database.close()

    asyncio.run(story())


def test_a_queue_that_moves_is_waited_for(folder: Path) -> None:
    """Longer than anyone waits while nothing moves."""
    held_seconds = WAIT_SECONDS / (2 * CONNECTIONS["sqlite"])
    many = 2 * int(WAIT_SECONDS / held_seconds)

    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Clock)

        def slowly(connection: Connection) -> int:
            loop.set_ahead(held_seconds)
            return ask(connection)

        database = await Database.open(database_url(None, folder))
        try:
            assert await asyncio.gather(*(database.run(slowly) for _ in range(many))) == [1] * many
        finally:
            await database.close()

    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.run(story())


def test_a_database_file_is_for_its_owner_alone(folder: Path) -> None:
    """Also one that an earlier version made for all to read."""
    file = folder / "bythebook.db"
    for _ in range(2):
        tell(None, folder, _write_something)
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("bythebook.db*")} == {0o600}
        file.chmod(0o644)


async def _write_something(database: Database) -> None:
    await database.check_writable()


def test_a_password_in_the_query_of_an_address_is_not_shown(folder: Path) -> None:
    async def story() -> None:
        await Database.open("postgresql+psycopg://me@127.0.0.1:1/name?password=hunter2&connect_timeout=2")

    with pytest.raises(Unavailable) as caught:
        asyncio.run(story())
    assert "hunter2" not in str(caught.value)


def test_the_migrations_are_one_chain_and_the_newest_is_the_schema() -> None:
    """Two that were added at the same time under one number would leave a database that neither can open."""
    folder = Path(engine.__file__).parent / "migrations" / "versions"
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}
    revisions = [re.findall(r'^(?:down_)?revision = "?(\w+)"?$', text, re.MULTILINE) for text in texts.values()]
    numbers = [name[:4] for name in texts]
    assert revisions == [[number, before] for number, before in zip(numbers, ["None", *numbers[:-1]], strict=True)]
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
    assert numbers[-1] == engine.SCHEMA
