"""Opens the database, SQLite or PostgreSQL, and migrates it to the schema of this program before anyone uses it. Also the
statements that both accept."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from sqlite3 import OperationalError as OperationalFailure
from sqlite3 import connect
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, func, inspect, make_url, select, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError

from bythebook.errors import InvalidSettings, StorageFailure, Unavailable, missing_extra

SCHEMA = "0009"
"""The newest migration. Kept here so that an up-to-date database is opened without importing Alembic."""

DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
MIGRATION_LOCK = 7_415_263
CONNECTIONS = {"sqlite": 4, "postgresql": 15}
"""How many connections are open at most. SQLite writes one thing at a time, however many there are."""
WAIT_SECONDS = 30.0
"""How long to wait for a connection if none becomes free."""
PATIENCE = {"connect_timeout": 10, "tcp_user_timeout": 30_000}
"""Limits for a PostgreSQL that does not answer, in seconds and milliseconds: a statement is never interrupted, so it must end
by itself."""

WAL_SECONDS = 10.0

T = TypeVar("T")

ROWS_AT_ONCE = 400
"""SQLite accepts 32,766 parameters in a statement, older builds 999."""


def database_url(url: str | None, data_dir: Path) -> str:
    """Returns the address with its driver, which is ours to choose: a plain postgresql:// or sqlite:// address is enough."""
    if not url:
        return f"sqlite:///{data_dir / 'bythebook.db'}"
    scheme, separator, rest = url.partition("://")
    driver = DRIVERS.get(scheme.partition("+")[0])
    if not separator or driver is None:
        raise InvalidSettings(f"DATABASE_URL must begin with sqlite:// or postgresql://, but it begins with '{scheme}'.")
    return f"{driver}://{rest}"


class Database:
    """An engine whose errors are sentences for a person. It works in as many threads as it has connections. Waiting for a
    connection happens in the event loop, so that a transaction that has begun always finds a thread to continue in."""

    def __init__(self, engine: Engine, *, wait_seconds: float) -> None:
        self._engine = engine
        self._connections = CONNECTIONS[engine.dialect.name]
        self._free = asyncio.Semaphore(self._connections)
        self._given_back = 0
        self._wait_seconds = wait_seconds
        self._threads = ThreadPoolExecutor(self._connections, thread_name_prefix="database")
        self.where = self._engine.url.set(query={}).render_as_string(hide_password=True).replace("+psycopg", "")

    @classmethod
    async def open(cls, url: str, *, wait_seconds: float = WAIT_SECONDS) -> Database:
        try:
            parsed = make_url(url)
            read_only = _is_read_only(parsed)
            engine = create_engine(parsed, **_options(parsed), **_reading(parsed) if read_only else {})
        except ModuleNotFoundError as error:
            raise missing_extra("DATABASE_URL", "PostgreSQL's driver psycopg", "postgres") from error
        except (ArgumentError, NoSuchModuleError, ValueError) as error:  # ValueError: a port that is no number
            raise InvalidSettings(
                "DATABASE_URL cannot be read. It should look like postgresql://user:password@host/name"
            ) from error
        if engine.dialect.name == "sqlite" and not read_only:
            _make_private(parsed.database)
            event.listen(engine, "connect", _prepare_sqlite)
        database = cls(engine, wait_seconds=wait_seconds)
        try:
            await database._migrate()
        except BaseException:
            await database.close()
            raise
        return database

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` as one transaction, in one visit to another thread. Once begun it is finished, even if the task that
        waits for it is cancelled."""

        def transaction() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        try:
            async with self._connection():
                return await self._visit(transaction)
        except DBAPIError as error:
            raise self._failure(error) from error

    async def check_writable(self) -> None:
        """Raises the reason why the database cannot be written: makes the smallest possible change."""
        await self.run(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = version_num")))

    @property
    def file(self) -> Path | None:
        """The database's file, where it is one."""
        name = self._engine.url.database
        return Path(name) if self._engine.dialect.name == "sqlite" and name else None

    async def copy_to(self, file: Path) -> None:
        """Writes all that SQLite holds at one moment to a new or empty file, while others read and write, without what was
        deleted."""

        def copy() -> None:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("VACUUM INTO ?", (str(file),))

        try:
            async with self._connection():
                await self._visit(copy)
        except DBAPIError as error:
            raise self._failure(error) from error

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncIterator[None]:
        """Holds a lock that one process at a time can have, of all that use this database: for work of several steps outside of
        it."""
        if self._engine.dialect.name == "postgresql":
            async with self._advisory_lock(what):
                yield
            return
        from filelock import AsyncFileLock

        async with AsyncFileLock(f"{self._engine.url.database}.{what}.lock", poll_interval=0.01):
            yield

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()

    @asynccontextmanager
    async def _advisory_lock(self, what: str) -> AsyncIterator[None]:
        """A lock of PostgreSQL, held by a connection that does nothing else until it is released."""
        held: list[Connection] = []

        def lock() -> None:
            held.append(self._engine.connect())
            held[0].execute(select(func.pg_advisory_xact_lock(func.hashtext(what))))

        try:
            async with self._connection():
                try:
                    await self._visit(lock)
                    yield
                finally:
                    for connection in held:
                        await self._visit(connection.close)
        except DBAPIError as error:
            raise self._failure(error) from error

    async def _visit(self, work: Callable[[], T]) -> T:
        """Runs in a thread that may wait for the database. Once begun it runs to its end there; only then is the caller
        cancelled, if it was."""
        doing = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(self._threads, work))
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            while not doing.done():  # a cancelled scope of anyio cancels again at every wait
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([doing])
            raise

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[None]:
        """Takes one of the connections."""
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._given_back += 1
            self._free.release()

    async def _wait(self) -> None:
        """Waits for a connection, in order, however long the queue is, as long as it moves."""
        waiting = asyncio.create_task(self._free.acquire())
        try:
            while True:
                seen = self._given_back
                done, _ = await asyncio.wait({waiting}, timeout=self._wait_seconds)
                if done:
                    return
                if self._given_back == seen:
                    raise Unavailable(
                        f"All {self._connections} connections to the database {self.where} have been in use for "
                        f"{self._wait_seconds:g} seconds. Try again in a moment."
                    )
        except BaseException:
            if not waiting.cancel():  # it had got the connection already
                self._free.release()
            raise

    async def _migrate(self) -> None:
        try:
            if await self._visit(self._schema) == SCHEMA:
                return
            import alembic.command  # noqa: F401  (slow, and better done before the lock is taken)

            await self._visit(self._upgrade_alone)
        except DBAPIError as error:
            raise self._failure(error) from error

    def _schema(self) -> str | None:
        with self._engine.connect() as connection:
            return _current(connection)

    def _upgrade_alone(self) -> None:
        with self._engine.begin() as connection:
            if self._engine.dialect.name == "postgresql":  # two programs starting at once
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
            else:
                connection.execute(text("BEGIN IMMEDIATE"))
            self._upgrade(connection)

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
        """Turns a driver's error into ours. A server that cannot be reached now may be reached later, so callers that can wait
        do."""
        return self._engine.dialect.name == "postgresql" and isinstance(error, OperationalError | InterfaceError)


def _is_read_only(url: URL) -> bool:
    """Whether it is a file of SQLite that can be read and not written, on a read-only volume for example."""
    file = Path(url.database or "")
    return (
        url.get_backend_name() == "sqlite"
        and file.is_file()
        and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))
    )


def _reading(url: URL) -> dict[str, Any]:
    """How SQLite opens such a file: it need not look for what others write, unless a log of theirs is there."""
    file = Path(url.database or "").absolute()
    immutable = "" if file.with_name(f"{file.name}-wal").exists() else "&immutable=1"
    address = f"{file.as_uri()}?mode=ro{immutable}"
    return {"creator": lambda: connect(address, uri=True, check_same_thread=False)}


def _make_private(file: str | None) -> None:
    """For its owner alone, also one that is there already; SQLite gives the files beside it the same mode. One of another owner,
    or in a place that cannot be written, is left to fail when it is opened."""
    if file and file != ":memory:":
        with suppress(OSError):
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            Path(file).chmod(0o600)


def _options(url: URL) -> dict[str, Any]:
    pool = {"pool_size": CONNECTIONS[url.get_backend_name()], "max_overflow": 0}
    if url.get_backend_name() != "postgresql":
        return pool
    patience = {name: value for name, value in PATIENCE.items() if name not in url.query}
    return {**pool, "pool_pre_ping": True, "connect_args": patience}


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _prepare_sqlite(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    for pragma in ("busy_timeout=30000", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _use_write_ahead_log(cursor)
    cursor.close()


def _use_write_ahead_log(cursor: Any) -> None:
    """Switches a new file to WAL, which lets readers read while one writes; a kill loses nothing that was committed. Switching
    takes a lock that SQLite, unlike with every other lock, does not wait for."""
    give_up_at = time.monotonic() + WAL_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except OperationalFailure as error:
            if "locked" not in str(error) or time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    if not rows:
        return
    insert = _insert(connection.dialect.name, table)
    changes = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes), list(rows))


def insert_absent(connection: Connection, table: Table, row: dict[str, Any], *, keys: tuple[str, ...]) -> bool:
    """Inserts a row. Returns False if there is a row with these keys already, which stays unchanged."""
    return connection.execute(_insert_absent(connection.dialect.name, table, keys), row).first() is not None


def slices(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[start : start + ROWS_AT_ONCE] for start in range(0, len(keys), ROWS_AT_ONCE)]


def now(connection: Connection) -> datetime:
    """Returns the time by the clock that all processes share, the database server's; leases use it. SQLite has this machine's."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)


@cache
def _insert_absent(dialect: str, table: Table, keys: tuple[str, ...]) -> Any:
    """Built once, because building a statement takes longer than running it."""
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=keys).returning(table.c[keys[0]])


def _insert(dialect: str, table: Table) -> Any:
    """Returns an insert that may meet an existing row. Both databases write it alike, but their types have nothing in common."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # late: most have none, and it is slow to import

    return postgresql.insert(table)
