"""Runs one job to its end: renews its lease, stores its progress, waits out outages and stops when it is cancelled.
`ForegroundJob` is a job that a person waits for."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from uuid import uuid4

from bythebook.books.model import BookWarning
from bythebook.errors import BookError, RateLimited, Rejected, Unavailable
from bythebook.ingestion.plan import identify
from bythebook.ingestion.progress import Advanced, IngestReport, nobody
from bythebook.ingestion.publisher import Publisher
from bythebook.ingestion.request import DEFAULT_REQUEST, IngestionRequest
from bythebook.jobs.model import Folder, Job, Order, Repository
from bythebook.jobs.progress import JobEvent, JobProgress, TellJob, WaitBegun, ended
from bythebook.jobs.sources import Sources
from bythebook.jobs.store import Jobs
from bythebook.threads.stale_answers import StaleAnswers

RENEWAL_SECONDS = 1.0
"""A tenth of the lease. Also how long a cancelled job may go on, and how old the progress is that others see."""
LOOK_SECONDS = 0.25
CHANCE = Random()  # our own: the shared generator may be seeded by others
TRIES = 12
LONGEST_PAUSE_SECONDS = 60.0
UNEXPECTED = "An unexpected error ended it ({kind}: {text}). Report it, then: bythebook jobs retry {job_id}"
PROCESS = f"{os.getpid()}-{uuid4().hex[:8]}"
"""Identifies this process: a process's number is used again later, in a container at once."""


class Cancelled(BookError):
    """Somebody asked the job to end."""


class JobFault(BookError):
    """An unexpected error ended the job."""


class Lost(BookError):
    """The lease ran out, and another worker has taken the job."""


def this_host() -> str:
    return socket.gethostname()


def new_owner() -> str:
    """A new name for the holder of a lease. No two are the same, because a process may run several jobs."""
    return f"{this_host()}:{PROCESS}:{uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunner:
    """Runs jobs that are leased already. `attended`: a person waits, who is told at once of an outage at the start, and who ends
    the job by leaving; otherwise a worker that stops leaves its job to the next. `alone`: no other process of this machine can
    run jobs, because this one holds the index."""

    jobs: Jobs
    publisher: Publisher
    sources: Sources
    stale_answers: StaleAnswers
    attended: bool = False
    alone: bool = False
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def take_back(self) -> None:
        """Frees the jobs of dead processes, if this process is alone, so that nobody has to wait for their leases to expire.
        Also removes checkouts of books that have been removed, on each machine when its worker starts."""
        await asyncio.to_thread(self.sources.sweep, await self.jobs.sources())
        if self.alone:
            await self.jobs.hand_back_all(this_host(), unless_of=PROCESS)

    async def run(self, job: Job, *, calibrate: bool = True, tell: TellJob = nobody) -> IngestReport:
        """Runs the job. It is ended in the store before the report is returned or the error raised."""
        try:
            report = await self._watched(job, calibrate, tell)
            if not await self.jobs.complete(job, report):
                raise _lost(job)
            return report
        except Cancelled:
            await self.jobs.fail_cancelled(job)
            raise
        except Lost:
            raise
        except BookError as error:
            await self.jobs.fail(job, str(error))
            raise
        except asyncio.CancelledError:
            await asyncio.shield(self._leave(job))
            raise
        except Exception as error:
            reason = UNEXPECTED.format(kind=type(error).__name__, text=str(error)[:300], job_id=job.job_id)
            await self.jobs.fail(job, reason)
            raise JobFault(reason) from error

    async def _watched(self, job: Job, calibrate: bool, tell: TellJob) -> IngestReport:
        """Does the work until it is done, or until the lease is lost or the job cancelled."""
        progress = JobProgress(died_at=job.progress.place if job.progress else None)
        over = asyncio.Event()

        async def note(event: JobEvent) -> None:
            if progress.note(event):
                with suppress(Unavailable):  # the next renewal stores it
                    await self.jobs.renew(job, progress.progress())
            await tell(event)

        work = asyncio.create_task(self._persistent(job, progress, calibrate, note))
        watch = asyncio.create_task(self._keep(job, progress, over))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done():
                watch.result()  # raises the reason
            return await work
        finally:
            over.set()
            work.cancel()
            await ended(work)
            await ended(watch)

    async def _keep(self, job: Job, progress: JobProgress, over: asyncio.Event) -> None:
        """Renews the lease until the work is over; raises when the lease is lost or the job cancelled. A renewal that has begun
        is not cancelled: a connection in the middle of a statement would be lost."""
        if job.cancel_requested:
            raise Cancelled(f"Job {job.job_id} was cancelled.")
        while not await _happens(over, RENEWAL_SECONDS):
            try:
                standing = await self.jobs.renew(job, progress.progress())
            except Unavailable:  # the database is away: the lease may expire, and whoever comes first goes on
                continue
            if standing == "lost":
                raise _lost(job)
            if standing == "cancelled":
                raise Cancelled(f"Job {job.job_id} was cancelled.")

    async def _persistent(self, job: Job, progress: JobProgress, calibrate: bool, tell: TellJob) -> IngestReport:
        """Runs the work again after an outage; what is done is not done twice. Progress resets the count of failures."""
        failures = 0

        async def go_on(event: JobEvent) -> None:
            nonlocal failures
            if isinstance(event, Advanced) and (event.files_done or event.chunks_embedded):
                failures = 0
            await tell(event)

        while True:
            try:
                return await self._once(job, progress, calibrate, go_on)
            except Rejected:
                raise
            except Unavailable as error:
                failures += 1
                if failures > TRIES or (self.attended and not progress.planned):
                    raise
                pause = _pause_seconds(failures, error)
                await tell(WaitBegun(reason=str(error), seconds=pause))
                await self.sleep(pause)

    async def _once(self, job: Job, progress: JobProgress, calibrate: bool, tell: TellJob) -> IngestReport:
        progress.enter("fetching")
        source = await self.sources.fetch(job.source)
        progress.enter("reading")
        request = IngestionRequest(
            book_id=job.book_id, mode=job.mode, calibrate=calibrate, consent=job.consent, options=job.options
        )
        report = await self.publisher.run(source.root, request, coming=partial(self._another, job), tell=tell)
        unread = tuple(BookWarning(source_file="", line=0, field="site", message=problem) for problem in source.problems)
        return await self._with_impact(job, replace(report, warnings=(*report.warnings, *unread)))

    async def _another(self, job: Job) -> None:
        """Waits until another job of the book is queued."""
        while True:
            with suppress(Unavailable):
                if await self.jobs.list(book_id=job.book_id, status="queued", limit=1):
                    return
            await asyncio.sleep(LOOK_SECONDS)

    async def _with_impact(self, job: Job, report: IngestReport) -> IngestReport:
        """Adds the answers that became stale. `started_at` is the same for every worker of the job, so that the last one also
        reports what another had marked."""
        since = job.started_at or report.started_at
        records, index = self.publisher.records, self.publisher.index
        return replace(report, stale=await self.stale_answers.update(records, index, book_id=job.book_id, since=since))

    async def _leave(self, job: Job) -> None:
        with suppress(BookError):  # where the database is away, the lease expires by itself
            await (self.jobs.fail_cancelled(job) if self.attended else self.jobs.hand_back(job))


async def _happens(event: asyncio.Event, within_seconds: float) -> bool:
    try:
        async with asyncio.timeout(within_seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _lost(job: Job) -> Lost:
    return Lost(f"Job {job.job_id} was taken over by another worker, because this one did not renew its lease in time.")


def _pause_seconds(failures: int, error: Unavailable) -> float:
    """Doubles from one second; at least as long as a server asked for. A random part spreads clients that wait for the same
    server."""
    pause = min(2.0 ** (failures - 1), LONGEST_PAUSE_SECONDS) * CHANCE.uniform(0.8, 1.2)
    wanted = error.retry_after_seconds if isinstance(error, RateLimited) else None
    return max(pause, wanted or 0.0)


TURN_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ForegroundJob:
    """A job that a person waits for: what `bythebook ingest` runs."""

    runner: JobRunner

    async def run(
        self,
        root: Path,
        request: IngestionRequest = DEFAULT_REQUEST,
        *,
        repository: Repository | None = None,
        tell: TellJob = nobody,
    ) -> IngestReport:
        """Stores the job and runs it; a dry run is not a job. `repository`: where the book comes from, if not from the folder
        `root`."""
        if repository:
            root = (await self.runner.sources.fetch(repository)).root
        if request.dry_run:
            return await self.runner.publisher.run(root, request, tell=tell)
        book = (await identify(self.runner.publisher.records, root, request)).book
        folder = Folder(path=await asyncio.to_thread(root.resolve), host=this_host())
        order = Order(
            book_id=book.book_id,
            source=repository or folder,
            mode=request.mode,
            consent=request.consent,
            options=request.options,
        )
        await self.runner.take_back()
        while (job := await self.runner.jobs.start(order, new_owner())) is None:
            await tell(WaitBegun(reason=f"Another job of '{book.book_id}' is running", seconds=TURN_POLL_SECONDS))
            await asyncio.sleep(TURN_POLL_SECONDS)
        return await self.runner.run(job, calibrate=request.calibrate, tell=tell)
