"""Streams: signs of life, an end that is said, and work that stops with its reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from fastapi.sse import KEEPALIVE_COMMENT
from starlette.types import Message

from bythebook.errors import BookError, NotFound, StorageFailure
from bythebook.web.stream import Event, EventStream, ReaderGone, WhileRead, begin
from tests.support.serving import events

pytestmark = pytest.mark.anyio


class Reader:
    """A client: `leave` when it goes away."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.got: list[bytes] = []
        self.heard = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.got.append(message.get("body", b""))
        self.heard.set()


class Work:
    """Events that come when they are told to."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.closed = False

    async def events(self) -> AsyncGenerator[Event]:
        try:
            yield _event("first")
            await self.go_on.wait()
            yield _event("second")
        finally:
            await asyncio.sleep(0)
            self.closed = True


def _event(name: str, *, held: bool = False) -> Event:
    return Event(name=name, id="t/1/0", body=b"{}", held=held)


SCOPE: dict[str, Any] = {"type": "http", "state": {"request_id": "r-1"}}


async def test_events_are_sent_as_browsers_read_them() -> None:
    reader, work = Reader(), Work()
    work.go_on.set()
    await (await begin(reader.receive, work.events()))(SCOPE, reader.receive, reader.send)
    assert b"".join(reader.got) == b"event: first\ndata: {}\nid: t/1/0\n\nevent: second\ndata: {}\nid: t/1/0\n\n"
    assert work.closed


async def test_a_sign_of_life_while_nothing_happens() -> None:
    reader, work = Reader(), Work()
    coming = work.events()
    stream = EventStream(await anext(coming), coming, keep_alive_seconds=0.001)
    answering = asyncio.create_task(stream(SCOPE, reader.receive, reader.send))
    while b": ping\n\n" not in reader.got:
        reader.heard.clear()
        await reader.heard.wait()
    work.go_on.set()
    await answering
    assert reader.got[-2].startswith(b"event: second")


async def test_work_stops_at_once_when_the_reader_goes() -> None:
    reader, work = Reader(), Work()
    stream = await begin(reader.receive, work.events())
    answering = asyncio.create_task(stream(SCOPE, reader.receive, reader.send))
    await reader.heard.wait()
    reader.gone.set()
    await answering
    assert work.closed


async def test_a_reader_who_goes_before_anything_was_said() -> None:
    reader = Reader()
    closed = asyncio.Event()

    async def never() -> AsyncGenerator[Event]:
        try:
            await asyncio.Event().wait()
            yield _event("never")
        finally:
            closed.set()

    reader.gone.set()
    with pytest.raises(ReaderGone):
        await begin(reader.receive, never())
    assert closed.is_set()


async def test_what_fails_before_its_first_event_fails_as_it_is() -> None:
    async def failing() -> AsyncGenerator[Event]:
        for name in ("never",):
            if name == "never":
                raise ValueError("early")
            yield _event(name)

    with pytest.raises(ValueError, match="early"):
        await begin(Reader().receive, failing())


class Failing(Work):
    """Fails as it is told to, after its first event and one that is held back."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error

    async def events(self) -> AsyncGenerator[Event]:
        yield Event(name="first", id="t/1/0", body=b"{}")
        yield Event(name="second", id="t/1/1", body=b"{}", held=True)
        if self.error:
            raise self.error
        await self.go_on.wait()


def told_last(reader: Reader) -> tuple[list[str], dict[str, Any]]:
    """The names of all events, and what the last one says."""
    told = events(b"".join(reader.got).decode())
    assert told[-1].id == "t/1/2"
    assert told[-1].data["request_id"] == "r-1"
    return [one.name for one in told], told[-1].data


@pytest.mark.parametrize(
    ("error", "code"), [(NotFound("There is no such job."), "not_found"), (StorageFailure("/a/path"), "storage_failure")]
)
async def test_what_fails_on_the_way_says_so_at_the_end(error: BookError, code: str) -> None:
    reader = Reader()
    await (await begin(reader.receive, Failing(error).events()))(SCOPE, reader.receive, reader.send)
    names, last = told_last(reader)
    assert (names, last["code"]) == (["first", "second", "error"], code)
    assert "/a/path" not in last["detail"]


async def test_a_fault_of_the_program_is_an_end_too() -> None:
    reader = Reader()
    stream = await begin(reader.receive, Failing(ZeroDivisionError("ours")).events())
    with pytest.raises(ZeroDivisionError):  # for the log
        await stream(SCOPE, reader.receive, reader.send)
    names, last = told_last(reader)
    assert (names[-1], last["code"]) == ("error", "internal")
    assert "ours" not in last["detail"]


async def test_a_server_that_waits_no_longer_says_so() -> None:
    reader = Reader()
    stream = await begin(reader.receive, Failing(None).events())
    answering = asyncio.create_task(stream(SCOPE, reader.receive, reader.send))
    await reader.heard.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    names, last = told_last(reader)
    assert (names[-1], last["code"]) == ("error", "stopping")


async def test_the_whole_work_runs_in_one_task() -> None:
    """A timeout that is begun between two events must find the task it began in."""
    tasks = []

    async def timed() -> AsyncGenerator[Event]:
        async with asyncio.timeout(60):
            for number in range(3):
                tasks.append(asyncio.current_task())
                await asyncio.sleep(0)
                yield _event(str(number))

    reader = Reader()
    await (await begin(reader.receive, timed()))(SCOPE, reader.receive, reader.send)
    assert [part.split()[1] for part in reader.got if part] == [b"0", b"1", b"2"]
    assert len(set(tasks)) == 1


async def test_what_is_held_goes_with_the_next() -> None:
    async def two() -> AsyncGenerator[Event]:
        yield _event("first", held=True)
        yield _event("second")

    reader = Reader()
    await (await begin(reader.receive, two()))(SCOPE, reader.receive, reader.send)
    assert [part.count(b"event: ") for part in reader.got] == [0, 2, 0]


async def test_a_reader_who_takes_nothing_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing but a sign of life is to be sent."""
    monkeypatch.setattr("bythebook.web.stream.SEND_SECONDS", 0.001)
    work = Work()

    async def stuck(message: Message) -> None:
        if message.get("body") == KEEPALIVE_COMMENT:
            await asyncio.Event().wait()

    coming = work.events()
    stream = EventStream(await anext(coming), coming, keep_alive_seconds=0.001)
    await stream(SCOPE, Reader().receive, stuck)
    assert work.closed


async def test_work_that_is_read_to_its_end_is_left_alone() -> None:
    reader = Reader()
    with WhileRead(reader.receive):
        await asyncio.sleep(0)
    reader.gone.set()
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task
    assert not task.cancelling()


async def test_a_reader_who_goes_as_the_work_ends_cancels_nothing_after_it() -> None:
    reader = Reader()
    with WhileRead(reader.receive):
        await asyncio.sleep(0)
        reader.gone.set()
    for _ in range(3):
        await asyncio.sleep(0)


async def test_who_cancels_the_work_is_not_taken_for_its_reader() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        with WhileRead(Reader().receive):
            begun.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
