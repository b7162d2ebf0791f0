"""Opening the database: SQLite or PostgreSQL, migrated to what this program expects before anyone uses it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import OperationalError as OperationalFailure
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bythebook.database.whole import begin_whole, whole
from bythebook.errors import InvalidSettings, StorageFailure, Unavailable

SCHEMA = "0002"
"""The newest migration. Kept here so that an up-to-date database is opened without importing Alembic."""

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
MIGRATION_LOCK = 7_415_263
THREADS = 4
"""In which SQLite works. It writes one thing at a time, whatever their number."""
PATIENCE = {"connect_timeout": 10, "tcp_user_timeout": 30_000}
"""With a PostgreSQL that does not answer, in seconds and milliseconds: a statement is not broken off, so it must end."""

WAL_SECONDS = 10.0

T = TypeVar("T")


def database_url(url: str | None, data_dir: Path) -> str:
    """The driver belongs to us: a plain postgresql:// or sqlite:// address is enough."""
    if not url:
        return f"sqlite+aiosqlite:///{data_dir / 'bythebook.db'}"
    scheme, separator, rest = url.partition("://")
    driver = DRIVERS.get(scheme.partition("+")[0])
    if not separator or driver is None:
        raise InvalidSettings(f"DATABASE_URL must begin with sqlite:// or postgresql://, but it begins with '{scheme}'.")
    return f"{driver}://{rest}"


class Database:
    """An engine whose failures speak to people."""

    def __init__(self, engine: AsyncEngine, files: Engine | None) -> None:
        self._engine = engine
        self._files = files
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sqlite")
        self.where = self._engine.url.render_as_string(hide_password=True).replace("+aiosqlite", "").replace("+psycopg", "")

    @classmethod
    async def open(cls, url: str) -> Database:
        try:
            parsed = make_url(url)
            engine = create_async_engine(parsed, **_options(parsed))
        except (ArgumentError, NoSuchModuleError, ValueError) as error:  # ValueError: a port that is no number
            raise InvalidSettings(
                "DATABASE_URL cannot be read. It should look like postgresql://user:password@host/name"
            ) from error
        files = None
        if parsed.get_backend_name() == "sqlite":
            files = create_engine(parsed.set(drivername="sqlite"))
            for one in (engine.sync_engine, files):
                event.listen(one, "connect", _prepare_sqlite)
        database = cls(engine, files)
        try:
            await database._migrate()
        except BaseException:
            await database.close()
            raise
        return database

    async def run(self, work: Callable[[Connection], T]) -> T:
        """`work` as one transaction. Once begun it is ended, also when the task that waits for it is cancelled. Preferred where
        a person waits: SQLite does it all in one visit to another thread, and not in four for each statement."""
        try:
            return await whole(self._at_the_server(work) if self._files is None else self._in_a_thread(work, self._files))
        except DBAPIError as error:
            raise self._failure(error) from error

    async def _in_a_thread(self, work: Callable[[Connection], T], files: Engine) -> T:
        def transaction() -> T:
            with files.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._threads, transaction)

    async def _at_the_server(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """All of it or nothing of it, also when the task is cancelled in the middle."""
        try:
            async with begin_whole(self._engine) as connection:
                yield connection
        except DBAPIError as error:
            raise self._failure(error) from error

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncIterator[None]:
        """One at a time, of all processes that use this database. For what lies outside it and takes several steps."""
        if self._engine.dialect.name == "postgresql":
            async with self.transaction() as connection:
                await connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(what))))
                yield
            return
        from filelock import AsyncFileLock

        async with AsyncFileLock(f"{self._engine.url.database}.{what}.lock", poll_interval=0.01):
            yield

    async def close(self) -> None:
        await self._engine.dispose()
        if self._files:
            await asyncio.to_thread(self._threads.shutdown)
            self._files.dispose()

    async def _migrate(self) -> None:
        try:
            async with self._engine.connect() as connection:
                if await connection.run_sync(_current) == SCHEMA:
                    return
            import alembic.command  # noqa: F401  (slow, and better done before the lock is taken)

            async with self._engine.begin() as connection:
                if self._engine.dialect.name == "postgresql":  # two programs starting at once
                    await connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
                else:
                    await connection.execute(text("BEGIN IMMEDIATE"))
                await connection.run_sync(self._upgrade)
        except DBAPIError as error:
            raise self._failure(error) from error

    def _upgrade(self, connection: Connection) -> None:
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, SCHEMA)
        except CommandError as error:
            found = _current(connection)
            raise StorageFailure(
                f"The database {self.where} has schema '{found}', which this version of By the Book does not know. "
                "Upgrade By the Book, or point DATABASE_URL at another database."
            ) from error

    def _failure(self, error: DBAPIError) -> StorageFailure | Unavailable:
        reason = str(error.orig).strip().splitlines()[0] if error.orig and str(error.orig).strip() else type(error).__name__
        if "disk is full" in reason or "No space left" in reason:
            return StorageFailure(f"The disk that holds {self.where} is full. Free some space and run the same command again.")
        if "locked" in reason:
            return StorageFailure(f"The database {self.where} is busy with another process. Wait for it to end, then run again.")
        if "readonly" in reason or "unable to open" in reason:
            return StorageFailure(f"The database {self.where} cannot be written ({reason}). Check the folder's permissions.")
        kind = Unavailable if self._is_away(error) else StorageFailure
        return kind(f"The database {self.where} does not answer as it should ({reason}). Check DATABASE_URL.")

    def _is_away(self, error: DBAPIError) -> bool:
        """A server that cannot be reached now may be reached later; whoever can wait does."""
        return self._engine.dialect.name == "postgresql" and isinstance(error, OperationalError | InterfaceError)


def _options(url: URL) -> dict[str, Any]:
    if url.get_backend_name() != "postgresql":
        return {}
    patience = {name: value for name, value in PATIENCE.items() if name not in url.query}
    return {"pool_pre_ping": True, "connect_args": patience}


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _prepare_sqlite(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    for pragma in ("busy_timeout=30000", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _use_write_ahead_log(cursor)
    cursor.close()


def _use_write_ahead_log(cursor: Any) -> None:
    """It lets readers read while one writes; a kill loses nothing that was committed. To switch a new file to it takes a lock
    that SQLite, unlike with every other lock, does not wait for."""
    give_up_at = time.monotonic() + WAL_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except OperationalFailure as error:
            if "locked" not in str(error) or time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)
