"""Opening the database: SQLite or PostgreSQL, migrated to what this program expects before anyone uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bythebook.errors import InvalidSettings, StorageFailure

SCHEMA = "0002"
"""The newest migration. Kept here so that an up-to-date database is opened without importing Alembic."""

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
MIGRATION_LOCK = 7_415_263


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

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.where = self._engine.url.render_as_string(hide_password=True).replace("+aiosqlite", "").replace("+psycopg", "")

    @classmethod
    async def open(cls, url: str) -> Database:
        try:
            parsed = make_url(url)
            engine = create_async_engine(parsed, pool_pre_ping=parsed.get_backend_name() == "postgresql")
        except (ArgumentError, NoSuchModuleError, ValueError) as error:  # ValueError: a port that is no number
            raise InvalidSettings(
                "DATABASE_URL cannot be read. It should look like postgresql://user:password@host/name"
            ) from error
        if parsed.get_backend_name() == "sqlite":
            event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        database = cls(engine)
        try:
            await database._migrate()
        except BaseException:
            await engine.dispose()
            raise
        return database

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """All of it or nothing of it."""
        try:
            async with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._failure(error) from error

    async def close(self) -> None:
        await self._engine.dispose()

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

    def _failure(self, error: DBAPIError) -> StorageFailure:
        reason = str(error.orig).strip().splitlines()[0] if error.orig and str(error.orig).strip() else type(error).__name__
        if "disk is full" in reason or "No space left" in reason:
            return StorageFailure(f"The disk that holds {self.where} is full. Free some space and run the same command again.")
        if "locked" in reason:
            return StorageFailure(f"The database {self.where} is busy with another process. Wait for it to end, then run again.")
        if "readonly" in reason or "unable to open" in reason:
            return StorageFailure(f"The database {self.where} cannot be written ({reason}). Check the folder's permissions.")
        return StorageFailure(f"The database {self.where} does not answer as it should ({reason}). Check DATABASE_URL.")


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _prepare_sqlite(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    # WAL lets readers read while one writes; a kill loses nothing that was committed.
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
