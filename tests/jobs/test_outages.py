"""Servers that go away while a job runs: the job waits, keeps what it has, and goes on. For an instant here, in full by the clock
in `make soak`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from bythebook.errors import RateLimited, Unavailable
from bythebook.ingestion.progress import Advanced
from bythebook.jobs.progress import JobEvent, WaitBegun
from bythebook.jobs.runner import TRIES
from bythebook.jobs.store import Jobs
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.hall import begin, many_lessons, open_hall, order_of, runner_of
from tests.support.library import Library, heard, open_library

OUTAGE_SECONDS = 30.0
LIMITED_SECONDS = 60.0

Act = Callable[[], Awaitable[None]]
Opened = tuple[Library, Act, Act]
"""A library over a server, what makes that server go away, and what brings it back."""


@asynccontextmanager
async def over_qdrant(folder: Path, _: str) -> AsyncIterator[Opened]:
    with open_hall(folder) as hall:

        async def go() -> None:
            hall.server.troubles = ["cut"] * 1_000_000

        async def come_back() -> None:
            hall.server.troubles = []

        async with hall.open() as library:
            yield library, go, come_back


@asynccontextmanager
async def over_postgresql(folder: Path, url: str) -> AsyncIterator[Opened]:
    name = urlsplit(url).path.removeprefix("/")

    def tell(*statements: str) -> None:
        with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    async def go() -> None:
        gone = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        await asyncio.to_thread(tell, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false", gone)

    async def come_back() -> None:
        await asyncio.to_thread(tell, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    async with open_library(folder / "data", url=url) as library:
        yield library, go, come_back


Over = Callable[[Path, str], AbstractAsyncContextManager[Opened]]
SERVERS = pytest.mark.parametrize("over", [over_qdrant, over_postgresql])


@SERVERS
def test_a_server_that_goes_away_in_the_middle_is_waited_for(folder: Path, book: Path, postgresql: str, over: Over) -> None:
    """It is back when the job has waited once."""

    async def story() -> None:
        async with over(folder, postgresql) as (library, go, come_back):

            async def sleep(_: float) -> None:
                await come_back()

            waits = await outlive(library, many_lessons(book), go, sleep)
            assert len(waits) == 1
            await compare(library, folder, book)

    asyncio.run(story())


@pytest.mark.soak
@SERVERS
def test_a_server_that_is_away_for_half_a_minute(folder: Path, book: Path, postgresql: str, over: Over) -> None:
    async def story() -> None:
        async with over(folder, postgresql) as (library, go, come_back), AsyncExitStack() as stack:

            async def go_for_a_while() -> None:
                await go()
                task = asyncio.create_task(back_later())
                stack.push_async_callback(asyncio.wait, [task])

            async def back_later() -> None:
                await asyncio.sleep(OUTAGE_SECONDS)
                await come_back()

            began = time.monotonic()
            waits = await outlive(library, many_lessons(book), go_for_a_while, asyncio.sleep)
            took = time.monotonic() - began
            assert sum(event.seconds for event in waits) >= OUTAGE_SECONDS / 2
            await compare(library, folder, book)
            told = ", ".join(f"{event.seconds:.0f}" for event in waits)
            print(f"\n{over.__name__}: away for {OUTAGE_SECONDS:.0f} s, waited {told} s, done after {took:.0f} s, nothing lost")

    asyncio.run(story())


async def outlive(library: Library, book: Path, go: Act, sleep: Callable[[float], Awaitable[None]]) -> list[WaitBegun]:
    """A job to its end, while a server goes after the first batch. How it waited."""
    job = await begin(library, order_of(book))
    waits: list[WaitBegun] = []
    gone = False

    async def hear(event: JobEvent) -> None:
        nonlocal gone
        if isinstance(event, Advanced) and not gone:
            gone = True
            await go()
        if isinstance(event, WaitBegun):
            waits.append(event)

    await runner_of(library, sleep=sleep).run(job, calibrate=False, tell=hear)
    assert waits
    assert (await Jobs(library.database).get(job.job_id)).status == "completed"
    return waits


async def compare(library: Library, folder: Path, book: Path) -> None:
    """With what an undisturbed run makes of the book."""
    async with open_library(folder / "plain") as plain:
        await plain.ingest(book)
        assert await library.snapshot() == await plain.snapshot()


def test_an_embedder_that_limits_its_rate_is_waited_for_and_asked_nothing_twice(folder: Path, book: Path) -> None:
    calls = 0

    def limited(_: Sequence[str]) -> None:
        nonlocal calls
        calls += 1
        if calls in (2, 3, 4):
            raise RateLimited("api.example accepts no more requests for now", retry_after_seconds=7.0)

    async def story() -> None:
        pauses: list[float] = []

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)

        embedder = SmallEmbedder(before_batch=limited)
        async with open_library(folder / "data", embedder) as library:
            job = await begin(library, order_of(many_lessons(book)))
            events = await heard(lambda tell: runner_of(library, sleep=sleep).run(job, calibrate=False, tell=tell))
            waits = [event for event in events if isinstance(event, WaitBegun)]
            assert [event.seconds for event in waits] == pauses
            assert len(pauses) == 3
            assert min(pauses) >= 7.0
            lessons = [text for text in embedder.embedded if "say" in text]
            assert len(lessons) == len(set(lessons))
            assert await library.problems() == ()

    asyncio.run(story())


@pytest.mark.soak
def test_an_embedder_that_takes_nothing_for_a_minute(folder: Path, book: Path) -> None:
    """By the clock: it takes one batch, and then none until the minute is over."""
    until: float | None = None

    def limited(_: Sequence[str]) -> None:
        nonlocal until
        if until is None:
            until = time.monotonic() + LIMITED_SECONDS
        elif time.monotonic() < until:
            raise RateLimited("api.example accepts no more requests for now")

    async def story() -> None:
        embedder = SmallEmbedder(before_batch=limited)
        async with open_library(folder / "data", embedder) as library:
            job = await begin(library, order_of(many_lessons(book)))
            events = await heard(lambda tell: runner_of(library, sleep=asyncio.sleep).run(job, calibrate=False, tell=tell))
            waits = [event.seconds for event in events if isinstance(event, WaitBegun)]
            assert len(embedder.embedded) == len(set(embedder.embedded))
            await compare(library, folder, book)
            print(f"\nlimited for {LIMITED_SECONDS:.0f} s: waited {', '.join(f'{one:.0f}' for one in waits)} s, nothing twice")

    asyncio.run(story())


def test_an_outage_that_does_not_end_fails_the_job(folder: Path, book: Path) -> None:
    def away(_: Sequence[str]) -> None:
        raise Unavailable("api.example does not answer")

    async def story() -> None:
        async with open_library(folder / "data", SmallEmbedder(before_batch=away)) as library:
            job = await begin(library, order_of(book))
            waits: list[float] = []

            async def sleep(seconds: float) -> None:
                waits.append(seconds)

            with pytest.raises(Unavailable):
                await runner_of(library, sleep=sleep).run(job)
            assert len(waits) == TRIES
            assert 40 < waits[-1] <= 72
            ended = await Jobs(library.database).get(job.job_id)
            assert (ended.status, ended.error_message, ended.cancelled) == ("failed", "api.example does not answer", False)

    asyncio.run(story())
