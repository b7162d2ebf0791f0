"""The worker that a service carries, and what its log says of the jobs it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bythebook.errors import BookError
from bythebook.web.logs import log
from bythebook.wiring.author import Resources

if TYPE_CHECKING:
    from bythebook.jobs.model import Job
    from bythebook.jobs.progress import JobEvent


@asynccontextmanager
async def worker_beside(resources: Resources) -> AsyncIterator[None]:
    """Does queued jobs as long as it is held. A job that is not done by then is another worker's."""
    task = asyncio.create_task(_work(resources), name="worker")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _work(resources: Resources) -> None:
    """What reads a book is imported on another thread: readers need not wait for it."""
    worker = await asyncio.to_thread(resources.worker, _tell)
    await worker.work()


def _tell(job: Job, event: JobEvent | BookError) -> None:
    """What went wrong with a job is in its row; the log says that it did."""
    if isinstance(event, BookError):
        log.warning("job failed", job_id=job.job_id, book_id=job.book_id, reason=str(event))
