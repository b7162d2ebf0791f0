"""The worker that a service carries, and what its log and its health say of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bythebook.errors import BookError, StorageFailure
from bythebook.web.logs import log
from bythebook.wiring.author import Resources

if TYPE_CHECKING:
    from bythebook.jobs.model import Job
    from bythebook.jobs.progress import JobEvent


class BackgroundWorker:
    """Does queued jobs beside the service."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._trouble: str | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A job that is not done by the end is another worker's."""
        self._task = asyncio.create_task(self._work(), name="worker")
        try:
            yield
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def check(self) -> None:
        """Raises what keeps it from doing jobs."""
        if self._trouble:
            raise StorageFailure(f"The worker cannot take jobs: {self._trouble}")
        if self._task is None or self._task.done():
            raise StorageFailure("The worker has ended. Restart the server.")

    async def _work(self) -> None:
        """What reads a book is imported on another thread: readers need not wait for it."""
        worker = await asyncio.to_thread(self._resources.worker, _tell)
        await worker.work_on(self._note)

    def _note(self, trouble: str | None) -> None:
        if trouble and trouble != self._trouble:
            log.warning("worker in trouble", reason=trouble)
        self._trouble = trouble


def _tell(job: Job, event: JobEvent | BookError) -> None:
    """What went wrong with a job is in its row; the log says that it did."""
    if isinstance(event, BookError):
        log.warning("job failed", job_id=job.job_id, book_id=job.book_id, reason=str(event))
