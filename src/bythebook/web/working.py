"""The worker that a service carries, and what its log says of the jobs it does."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from bythebook.errors import BookError
from bythebook.index.progress import Planned, Report
from bythebook.jobs.course import JobEvent, Waiting
from bythebook.jobs.model import Job
from bythebook.jobs.worker import working
from bythebook.web.logs import log
from bythebook.wiring import Resources


def worker_beside(resources: Resources) -> AbstractAsyncContextManager[None]:
    """Does queued jobs as long as it is held. A job that is not done by then is another worker's."""
    return working(resources.worker(_tell))


def _tell(job: Job, event: JobEvent | BookError) -> None:
    about = {"job_id": job.job_id, "book_id": job.book_id}
    match event:
        case Planned():
            log.info("job began", **about, mode=job.mode, lessons=event.files_total, attempt=job.attempts)
        case Waiting():
            log.warning("job waits", **about, seconds=round(event.seconds, 1), reason=event.reason)
        case Report():
            log.info("job completed", **about, lessons=event.files_processed, chunks_created=event.chunks_created)
        case BookError():
            log.warning("job ended", **about, reason=str(event))
        case _:
            pass
