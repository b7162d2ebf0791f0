"""Decides which process runs an operation: this one, which then opens the index, or the one that has it open already.

An operation is an async function whose first argument is the library and whose other arguments and result are values. It is
written once and does not know where it runs; nor does the command, which prints the result. The process that has the index open
writes its address into a file beside the index's lock, which only its owner can read.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from bythebook import __version__
from bythebook.errors import Locked, Released, StorageFailure
from bythebook.plain import from_plain, to_plain
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.operations.client import ServerRunner
    from bythebook.wiring.reader import Library


POLL_SECONDS = 0.1
PATIENCE_SECONDS = 30.0
SERVER_FILE = "server.json"
REACHED_BY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""The address by which to reach a server that listens on all of them."""

P = ParamSpec("P")
T = TypeVar("T")
L = TypeVar("L", bound="Library")
L_co = TypeVar("L_co", bound="Library", covariant=True)
"""The first argument of an operation: a Library, or Resources."""


class OperationRunner(Protocol[L_co]):
    """Runs operations, in this process or in the one that holds the index."""

    @property
    def settings(self) -> Settings:
        """The command's own settings, whoever runs its operations."""

    async def run(
        self, operation: Callable[Concatenate[L_co, P], Coroutine[Any, Any, T]], *given: P.args, **named: P.kwargs
    ) -> T:
        """Runs an operation with one result."""

    def follow(
        self, operation: Callable[Concatenate[L_co, P], AsyncIterator[T]], *given: P.args, **named: P.kwargs
    ) -> AsyncIterator[T]:
        """Runs an operation that yields events. Follow it to its end, where it closes what it opened, while the library is
        still open."""


class InProcess(Generic[L]):
    """An `OperationRunner` in the process that has the index open."""

    def __init__(self, library: L) -> None:
        self._library = library

    @property
    def settings(self) -> Settings:
        return self._library.settings

    async def run(self, operation: Callable[Concatenate[L, P], Coroutine[Any, Any, T]], *given: P.args, **named: P.kwargs) -> T:
        return await operation(self._library, *given, **named)

    def follow(
        self, operation: Callable[Concatenate[L, P], AsyncIterator[T]], *given: P.args, **named: P.kwargs
    ) -> AsyncIterator[T]:
        return operation(self._library, *given, **named)


class Guest(Generic[L]):
    """An `OperationRunner` in a process that does not hold the index: the one that does runs its operations. When that one ends,
    this one opens the index itself and repeats what was cancelled."""

    def __init__(self, holder: _IndexHolder[L], settings: Settings) -> None:
        self._holder = holder
        self._settings = settings

    @property
    def settings(self) -> Settings:
        return self._settings

    async def run(self, operation: Callable[Concatenate[L, P], Coroutine[Any, Any, T]], *given: P.args, **named: P.kwargs) -> T:
        while True:
            try:
                return await (await self._holder.runner()).run(operation, *given, **named)
            except Released:
                self._holder.forget()

    async def follow(
        self, operation: Callable[Concatenate[L, P], AsyncIterator[T]], *given: P.args, **named: P.kwargs
    ) -> AsyncIterator[T]:
        while True:
            try:
                async for value in (await self._holder.runner()).follow(operation, *given, **named):
                    yield value
                return
            except Released:
                self._holder.forget()


class _IndexHolder(Generic[L]):
    """The process that runs operations now: found when it is first needed, and again after it has gone."""

    def __init__(
        self, stack: AsyncExitStack, settings: Settings, opening: Callable[[Settings], AbstractAsyncContextManager[L]]
    ) -> None:
        self._stack = stack
        self._settings = settings
        self._opening = opening
        self._runner: OperationRunner[L] | None = None

    async def runner(self) -> OperationRunner[L]:
        self._runner = self._runner or await self._find()
        return self._runner

    def forget(self) -> None:
        self._runner = None

    async def _find(self) -> OperationRunner[L]:
        """Finds the runner. If a command such as `ask` holds the index, which takes a moment and runs nothing for others, this
        waits for it."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            if server := await self._server():
                return server
            try:
                return InProcess(await self._open())
            except Locked:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(POLL_SECONDS)

    async def _server(self) -> ServerRunner[L] | None:
        folder = self._settings.data_dir.expanduser() / "index"
        if self._settings.qdrant_url or not (folder / SERVER_FILE).exists():
            return None
        from bythebook.operations.client import ServerRunner, find_server

        address = await asyncio.to_thread(find_server, folder)
        return ServerRunner[L](address, self._settings) if address else None

    async def _open(self) -> L:
        """Opens the index and, if the database is there, lets other processes use both."""
        from bythebook.wiring.author import Resources

        library = await self._stack.enter_async_context(self._opening(self._settings))
        if isinstance(library, Resources):
            from bythebook.operations.host import hosting

            await self._stack.enter_async_context(hosting(library))
        return library


@asynccontextmanager
async def open_runner(
    settings: Settings, opening: Callable[[Settings], AbstractAsyncContextManager[L]]
) -> AsyncIterator[OperationRunner[L]]:
    """Opens a runner: the process that holds this index, if one answers; otherwise this one, with what `opening` opens."""
    async with AsyncExitStack() as stack:
        holder = _IndexHolder(stack, settings, opening)
        runner = await holder.runner()
        yield runner if isinstance(runner, InProcess) else Guest(holder, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where a server can be reached. `token` is new for each server: anyone who can read the file can have the server do what its
    owner may do."""

    host: str
    port: int
    pid: int
    version: str
    token: str = field(repr=False)


@contextmanager
def announced(index_folder: Path, *, host: str, port: int) -> Iterator[None]:
    """While this is held, commands that need this index have the server run their operations."""
    address = ServerAddress(
        host=REACHED_BY.get(host, host), port=port, pid=os.getpid(), version=__version__, token=secrets.token_urlsafe(32)
    )
    file = index_folder / SERVER_FILE
    _write(file, json.dumps(to_plain(address)))
    try:
        yield
    finally:
        if read_address(index_folder) == address:  # another server may have taken over
            with suppress(OSError):
                file.unlink()


def read_address(index_folder: Path) -> ServerAddress | None:
    """Reads the address that a server wrote; None where there is none. That server may have ended."""
    try:
        return from_plain(ServerAddress, json.loads((index_folder / SERVER_FILE).read_text("utf-8")))
    except (OSError, ValueError):
        return None


def proof(address: ServerAddress, nonce: str) -> str:
    """A value that only a holder of the token can compute, so that no stranger on a port that was ours is told anything."""
    return hmac.digest(address.token.encode(), nonce.encode(), "sha256").hex()


def _write(file: Path, text: str) -> None:
    """Writes the file in one step; others can never read it, not even for a moment."""
    fresh = file.with_name(f".{SERVER_FILE}-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)  # with a Qdrant server there is no index in it
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(text)
        fresh.replace(file)
    except OSError as error:
        raise StorageFailure(f"{file} cannot be written ({error.strerror}); make room, or make the folder writable.") from error
