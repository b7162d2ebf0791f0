"""Decides who runs an operation: this process, which then opens the index, or the server that already has it open.

An operation is an async function whose first argument is the library and whose others, and result, are values. It is written
once and does not know where it runs; nor does the command that sends it, which prints what comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from bythebook.errors import Locked
from bythebook.operations.address import SERVER_FILE
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.wiring.reader import Library

WATCHED = "watched.lock"
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 30.0

P = ParamSpec("P")
T = TypeVar("T")
L = TypeVar("L", bound="Library")
L_co = TypeVar("L_co", bound="Library", covariant=True)
"""What operations are given: a Library, or Resources."""


class OperationRunner(Protocol[L_co]):
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


@asynccontextmanager
async def open_runner(
    settings: Settings, opening: Callable[[Settings], AbstractAsyncContextManager[L]]
) -> AsyncIterator[OperationRunner[L]]:
    """Opens a runner: the server that holds this index, if one answers; otherwise this process, with what `opening` opens."""
    folder = settings.data_dir.expanduser() / "index"
    if not settings.qdrant_url and (folder / SERVER_FILE).exists():
        from bythebook.operations.client import ServerRunner, find_server

        if address := await asyncio.to_thread(find_server, folder):
            yield ServerRunner[L](address, settings)
            return
    async with AsyncExitStack() as stack:
        yield InProcess(await _enter(stack, opening, settings, folder))


async def _enter(
    stack: AsyncExitStack, opening: Callable[[Settings], AbstractAsyncContextManager[L]], settings: Settings, folder: Path
) -> L:
    """Opens the index. `ingest --watch` releases it after each change, so other commands wait a moment for it, and so does
    `--watch` itself."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        try:
            return await stack.enter_async_context(opening(settings))
        except Locked:
            if asyncio.get_running_loop().time() > deadline or not _is_watched(folder):
                raise
        await asyncio.sleep(POLL_SECONDS)


@contextmanager
def watching(folder: Path) -> Iterator[None]:
    """While this is held, commands know that the holder of the index in `folder` will release it. It ends with the process."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    with suppress(Timeout), FileLock(folder / WATCHED, timeout=0):
        yield
        return
    yield  # another watches here too


def _is_watched(folder: Path) -> bool:
    from filelock import FileLock, Timeout

    try:
        FileLock(folder / WATCHED, timeout=0).acquire().lock.release()
    except Timeout:
        return True
    return False
