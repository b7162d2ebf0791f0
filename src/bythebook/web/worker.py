"""What a service does besides answering: it runs jobs, finds questions worth asking, and deletes old threads; its log and health
report on that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from bythebook.database.audit import ACTOR
from bythebook.errors import BookError, StorageFailure
from bythebook.threads.personal_data import PersonalData
from bythebook.web.logs import log
from bythebook.wiring.author import Resources

if TYPE_CHECKING:
    from bythebook.jobs.model import Job
    from bythebook.jobs.progress import JobEvent

EXPIRY_EVERY_SECONDS = 3600.0
LOOK_EVERY_SECONDS = 2.0
AFTER_ERROR_SECONDS = 60.0


class BackgroundWorker:
    """Runs queued jobs beside the service."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._trouble: str | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A job that is unfinished at the end is left to another worker."""
        self._task = asyncio.create_task(self._work(), name="worker")
        try:
            yield
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def check(self) -> None:
        """Raises the reason why it cannot run jobs."""
        if self._trouble:
            raise StorageFailure(f"The worker cannot take jobs: {self._trouble}")
        if self._task is None or self._task.done():
            raise StorageFailure("The worker has ended. Restart the server.")

    async def _work(self) -> None:
        """Imports what reads a book in another thread, so that readers need not wait for it."""
        worker = await asyncio.to_thread(self._resources.worker, _tell)
        await worker.work_on(self._note)

    def _note(self, trouble: str | None) -> None:
        if trouble and trouble != self._trouble:
            log.warning("worker in trouble", reason=trouble)
        self._trouble = trouble


class Retention:
    """Deletes threads when their retention time is over, once an hour. With several processes, each does."""

    def __init__(self, resources: Resources) -> None:
        self._data = PersonalData(resources.database)
        self._days = resources.settings.keep_threads_days

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        if self._days is None:
            yield
            return
        task = asyncio.create_task(self._expire(self._days), name="retention")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _expire(self, days: int) -> None:
        ACTOR.set("retention")
        while True:
            try:
                if removed := await self._data.expire(days):
                    log.info("threads expired", threads=removed, days=days)
            except BookError as error:  # the database is unavailable for a while
                log.warning("threads could not be expired", reason=str(error))
            await asyncio.sleep(EXPIRY_EVERY_SECONDS)


class QuestionPreparation:
    """Finds the questions worth asking of each book after an ingestion, while no reader's question is looked up, so that no
    reader waits. Lessons that have not changed cost one query."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._prepared: dict[str, datetime] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        if not self._resources.settings.prepare_questions:
            yield
            return
        task = asyncio.create_task(self._prepare(), name="questions")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _prepare(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            try:
                for state in await self._resources.records.books():
                    if self._prepared.get(state.book_id) != state.last_ingested:
                        await self._resources.study_questions.prepare(state)
                        self._prepared[state.book_id] = state.last_ingested
            except Exception as error:  # noqa: BLE001  a book rebuilt meanwhile, a database that is away, a bug of ours: no end
                log.info("questions could not be prepared", reason=str(error))
                await asyncio.sleep(AFTER_ERROR_SECONDS)


def _tell(job: Job, event: JobEvent | BookError) -> None:
    """The error of a job is in its row; the log only says that it failed."""
    if isinstance(event, BookError):
        log.warning("job failed", job_id=job.job_id, book_id=job.book_id, reason=str(event))
