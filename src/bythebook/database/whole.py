"""Statements that are not broken off: what is begun in another thread is ended there, whoever stops waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Dialect, Engine, Executable, Result

P = ParamSpec("P")
T = TypeVar("T")


class Visit(Protocol):
    """Does something in a thread that may wait for the database."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


async def whole(work: Awaitable[T]) -> T:
    """Once begun it is ended; only then is the caller cancelled, if it was to be."""
    doing = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        while not doing.done():  # a cancelled scope of anyio cancels again at every wait
            with suppress(asyncio.CancelledError):
                await asyncio.wait([doing])
        raise


class Transaction:
    """A connection that is used from the event loop: each statement is a visit to another thread."""

    def __init__(self, engine: Engine, visit: Visit) -> None:
        self._engine = engine
        self._visit = visit
        self._connection: Connection | None = None

    @property
    def dialect(self) -> Dialect:
        return self._engine.dialect

    async def begin(self) -> None:
        await self._visit(self._connect)

    async def execute(self, statement: Executable, parameters: Any = None) -> Result[*tuple[Any, ...]]:
        return await self.run_sync(_execute, statement, parameters)

    async def run_sync(self, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """`work` in one visit."""
        connection = self._connection
        assert connection is not None
        return await self._visit(lambda: work(connection, *given, **named))

    async def commit(self) -> None:
        await self.run_sync(Connection.commit)

    async def end(self) -> None:
        """What was not committed is undone."""
        if self._connection is not None:
            await self._visit(self._connection.close)

    def _connect(self) -> None:
        self._connection = self._engine.connect()


def _execute(connection: Connection, statement: Executable, parameters: Any) -> Result[*tuple[Any, ...]]:
    """Rows are read in the same visit: one that is left unread would keep the transaction from its end."""
    result = connection.execute(statement, parameters)
    return result.freeze()() if result.returns_rows else result
