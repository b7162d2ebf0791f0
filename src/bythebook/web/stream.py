"""Server-sent events: a turn's events as they come, a comment in between as a sign of life, and always an end, `done` or `error`.

The work runs in the task of its request. When the reader leaves, it is cancelled at once and its generator closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from fastapi import Request
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

from bythebook.errors import BookError
from bythebook.web.logs import log
from bythebook.web.problems import Problem, ShuttingDown, describe, failure, request_id, trusted
from bythebook.web.responses import write

KEEP_ALIVE_SECONDS = 15.0
SEND_SECONDS = 30.0
"""A reader who receives nothing for so long counts as gone."""


class ReaderGone(Exception):
    """The reader has left."""


def described_stream(*names: str) -> dict[str, Any]:
    """A stream of events with these names, for the OpenAPI document; without names, of `data` alone, as OpenAI sends it."""
    text = {"type": "string"}
    fields = {"event": {"enum": names}, "id": text, "data": text} if names else {"data": text}
    return {"text/event-stream": {"itemSchema": {"type": "object", "required": list(fields), "properties": fields}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event as it is sent. `id` ends with its number in the stream; `body` is JSON. Clients of chat completions know neither
    names nor ids. `held`: sent with the next event, or with the end, which comes at once."""

    name: str = ""
    id: str = ""
    body: bytes
    held: bool = False

    @property
    def wire(self) -> bytes:
        return format_sse_event(data_str=self.body.decode(), event=self.name or None, id=self.id or None)


class WhileRead:
    """`with WhileRead(receive):` runs the work as long as the reader is connected. Otherwise it is cancelled wherever it is, and
    raises ReaderGone."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task
        self._working = task
        self._cancelling = task.cancelling()  # by others, earlier
        self._watching = asyncio.create_task(self._watch())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._watching.cancel()
        if self._gone and self._working.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise ReaderGone from error

    def leave(self) -> None:
        """The reader has left."""
        self._gone = True
        self._working.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.leave()


Failed = Callable[[Problem, str], Event]
"""Makes the last event of an interrupted stream, from the problem and the id of the event before."""


def error_event(told: Problem, last_id: str) -> Event:
    begun, _, number = last_id.rpartition("/")
    return Event(name="error", id=f"{begun}/{int(number) + 1}", body=write(told), held=True)


async def begin(receive: Receive, events: AsyncGenerator[Event], failed: Failed = error_event) -> EventStream:
    """Waits for the first event before sending a status, so that an early failure is an HTTP error."""
    try:
        with WhileRead(receive):
            first = await anext(events)
    except BaseException:
        await events.aclose()
        raise
    return EventStream(first, events, failed)


class EventStream(EventSourceResponse):
    """A stream of events. Send it in the task that began it: timeouts inside the work must stay in one task."""

    def __init__(
        self,
        first: Event,
        events: AsyncGenerator[Event],
        failed: Failed = error_event,
        *,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        super().__init__((), headers={"X-Accel-Buffering": "no"})
        self._first = first
        self._events = events
        self._failed = failed
        self._keep_alive_seconds = keep_alive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the events. However the work ends, the last event says so."""
        reading = WhileRead(receive)
        telling = _EventSender(send, reading, self._failed, self._keep_alive_seconds)
        request = Request(scope)
        try:
            async with aclosing(self._events) as events:
                with reading, telling:
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                    await telling.tell(self._first)
                    async for event in events:
                        await telling.tell(event)
                    await telling.end()
        except ReaderGone:
            return
        except BookError as error:
            log.warning("failed", reason=str(error))
            await telling.fail(describe(error, request_id(request), trusted=trusted(request)))
        except asyncio.CancelledError:  # by the server, which waits no longer
            await telling.fail(describe(ShuttingDown("The server is shutting down. Ask again in a moment."), request_id(request)))
            raise
        except Exception as error:
            await telling.fail(failure(request_id(request), error))
            raise


class _EventSender:
    """Sends events, and a comment when nothing was sent for a while. One timer does that and watches for readers who receive
    nothing: setting one for each event would cost more than sending it."""

    def __init__(self, send: Send, reading: WhileRead, failed: Failed, keep_alive_seconds: float) -> None:
        self._send = send
        self._reading = reading
        self._failed = failed
        self._keep_alive_seconds = keep_alive_seconds
        self._held = b""
        self._last_id = ""
        self._under_way = 0
        self._sign: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._moved_at = self._loop.time()
        self._look_in(self._keep_alive_seconds)
        return self

    def __exit__(self, *_: object) -> None:
        self._next_look.cancel()
        if self._sign:
            self._sign.cancel()

    async def tell(self, event: Event) -> None:
        self._held += event.wire
        self._last_id = event.id
        if not event.held:
            part, self._held = self._held, b""
            await self._send_part(part)

    async def end(self) -> None:
        await self._send_part(self._held, more=False)

    async def fail(self, told: Problem) -> None:
        """Ends a stream that was interrupted."""
        await self.tell(self._failed(told, self._last_id))
        await self.end()

    async def _send_part(self, part: bytes, *, more: bool = True) -> None:
        self._under_way += 1
        self._moved_at = self._loop.time()
        await self._send({"type": "http.response.body", "body": part, "more_body": more})
        self._under_way -= 1
        self._moved_at = self._loop.time()

    def _look_in(self, seconds: float) -> None:
        self._next_look = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        still_for = self._loop.time() - self._moved_at
        if self._under_way and still_for >= SEND_SECONDS:
            self._reading.leave()
            return
        due = (SEND_SECONDS if self._under_way else self._keep_alive_seconds) - still_for
        if due <= 0:
            self._sign = self._loop.create_task(self._send_part(KEEPALIVE_COMMENT))
            due = min(self._keep_alive_seconds, SEND_SECONDS)
        self._look_in(due)
