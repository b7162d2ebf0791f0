"""Following a job: all that it tells, then how it ended; and nothing of it goes on behind the back of who stopped following."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from bythebook.errors import Unavailable
from bythebook.ingestion.progress import CalibrationBegun, IngestReport
from bythebook.jobs.progress import TellJob, follow

BEGUN = CalibrationBegun()


def test_all_that_is_told_comes_before_the_error() -> None:
    async def work(tell: TellJob) -> IngestReport:
        for _ in range(3):
            await tell(BEGUN)
        raise Unavailable("gone")

    async def story() -> None:
        events = follow(work)
        assert [await anext(events) for _ in range(3)] == [BEGUN] * 3
        with pytest.raises(Unavailable, match="gone"):
            await anext(events)

    asyncio.run(story())


def test_who_stops_following_goes_on_when_the_work_has_stopped() -> None:
    stopped = False

    async def work(tell: TellJob) -> IngestReport:
        nonlocal stopped
        try:
            await tell(BEGUN)
            await asyncio.Event().wait()
        finally:
            for _ in range(5):  # tidying up takes a while
                await asyncio.sleep(0)
            stopped = True
        raise AssertionError("it was stopped")

    async def left_early() -> None:
        async with aclosing(follow(work)) as events:
            await anext(events)
            assert not stopped

    async def cancelled() -> None:
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in follow(work):
                begun.set()

        reading = asyncio.create_task(read())
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    for story in (left_early, cancelled):
        stopped = False
        asyncio.run(story())
        assert stopped
