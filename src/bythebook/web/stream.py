"""Server-sent events: a turn's events as they come, a sign of life in between, and an end that is always said.

The work runs in one task of its own. When the reader goes away that task is cancelled at once, and its generator closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

T = TypeVar("T")
KEEP_ALIVE_SECONDS = 15.0
SEND_SECONDS = 30.0
"""A reader who takes nothing for so long has gone."""
AHEAD = 16
"""How many events may wait for their reader before the work waits, too."""
_END = object()


class ReaderGone(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event as it is sent. `body` is JSON."""

    name: str
    id: str
    body: bytes

    @property
    def wire(self) -> bytes:
        return format_sse_event(data_str=self.body.decode(), event=self.name, id=self.id)


class Running(AsyncIterator[T]):
    """A generator run by a task of its own: timeouts inside it need that it is always the same task. Raises what the generator
    raises."""

    def __init__(self, events: AsyncGenerator[T]) -> None:
        self._waiting: asyncio.Queue[Any] = asyncio.Queue(AHEAD)
        self._task = asyncio.create_task(self._run(events))

    async def __anext__(self) -> T:
        item = await self._waiting.get()
        if item is _END:
            self._waiting.put_nowait(_END)
            await self._task
            raise StopAsyncIteration
        return item  # type: ignore[no-any-return]

    async def next_ones(self) -> list[T]:
        """All that wait, and one at least; none when it has ended. Sent together they cost as much as one."""
        try:
            ones = [await anext(self)]
        except StopAsyncIteration:
            return []
        while not self._waiting.empty():
            if (item := self._waiting.get_nowait()) is _END:
                self._waiting.put_nowait(_END)
                break
            ones.append(item)
        return ones

    async def close(self) -> None:
        """Stop the work, wherever it stands."""
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # seen, or nobody wants it

    async def _run(self, events: AsyncGenerator[T]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    await self._waiting.put(event)
        finally:
            if not _cancelled():
                await self._waiting.put(_END)


async def begin(receive: Receive, events: AsyncGenerator[Event]) -> EventStream:
    """Waits for the first event before there is a status, so that what fails early fails as HTTP does."""
    running = Running(events)
    try:
        first = await while_read(receive, running.__anext__())
    except BaseException:
        await running.close()
        raise
    return EventStream(first, running)


class EventStream(EventSourceResponse):
    def __init__(self, first: Event, running: Running[Event], *, keep_alive_seconds: float = KEEP_ALIVE_SECONDS) -> None:
        super().__init__((), headers={"X-Accel-Buffering": "no"})
        self._first = first
        self._running = running
        self._keep_alive_seconds = keep_alive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await while_read(receive, self._stream(send))
        except ReaderGone:
            return
        finally:
            await self._running.close()

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        part = self._first.wire
        while part:
            await _send_part(send, part)
            part = await self._next_part()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next_part(self) -> bytes:
        """Nothing, at the end."""
        try:
            async with asyncio.timeout(self._keep_alive_seconds):
                return b"".join([event.wire for event in await self._running.next_ones()])
        except TimeoutError:
            return KEEPALIVE_COMMENT


async def while_read(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do the work as long as somebody waits for it; raise ReaderGone when nobody does."""
    doing, gone = asyncio.create_task(work), asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait([doing, gone], return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ReaderGone
        return await doing
    finally:
        for task in (doing, gone):
            task.cancel()
        await asyncio.wait([doing, gone])


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_part(send: Send, part: bytes) -> None:
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except TimeoutError as error:
        raise ReaderGone from error


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
