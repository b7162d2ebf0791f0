"""A worker takes the next job, runs it, and takes the next. There may be any number of workers, on any number of machines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bythebook.errors import BookError, Unavailable
from bythebook.jobs.model import Job
from bythebook.jobs.progress import JobEvent
from bythebook.jobs.runner import JobRunner, new_owner, this_host

CHANCE = Random()  # our own: the shared generator may be seeded by others
POLL_SECONDS = 0.5

Listener = Callable[[Job, JobEvent | BookError], None]
"""Receives every event, and every job that failed."""


def _nobody(job: Job, event: JobEvent | BookError) -> None:
    pass


Trouble = Callable[[str | None], None]
"""Receives the reason why the worker cannot take jobs; None when it takes them again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Runs queued jobs, one at a time."""

    runner: JobRunner
    listener: Listener = _nobody

    async def work(self, *, until_idle: bool = False) -> None:
        """Runs jobs until it is stopped, or until there are none. A job that fails does not end the worker."""
        await self.runner.take_back()
        while True:
            if await self._next():
                continue
            if until_idle:
                return
            await asyncio.sleep(POLL_SECONDS * CHANCE.uniform(0.8, 1.2))

    async def work_on(self, trouble: Trouble) -> None:
        """Runs jobs until it is stopped, whatever happens: a full disk or a database that refuses writes does not last."""
        taken_back = False
        while True:
            try:
                if not taken_back:
                    await self.runner.take_back()
                    taken_back = True
                had_one = await self._next()
                trouble(None)
            except Exception as error:  # noqa: BLE001  # the one place that must outlive every error
                trouble(str(error) if isinstance(error, BookError) else f"{type(error).__name__}: {error}")
                had_one = False
            if not had_one:
                await asyncio.sleep(POLL_SECONDS * CHANCE.uniform(0.8, 1.2))

    async def _next(self) -> bool:
        """Runs the next job. False where there was none."""
        try:
            job = await self.runner.jobs.claim(new_owner(), this_host())
        except Unavailable:  # the database is away for a while
            return False
        if job:
            await self._run(job)
        return job is not None

    async def _run(self, job: Job) -> None:
        async def tell(event: JobEvent) -> None:
            self.listener(job, event)

        try:
            self.listener(job, await self.runner.run(job, tell=tell))
        except BookError as error:
            self.listener(job, error)
