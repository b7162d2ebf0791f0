"""Stores jobs in SQL. A running job is leased to its worker; another worker that finds the lease expired takes the job over.

The times of leases are the database's where it has a clock of its own (PostgreSQL), so that machines need not agree about the
time. SQLite is used by one machine only.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Text, and_, cast, func, insert, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from bythebook.books.model import Failure
from bythebook.database.audit import Act, act
from bythebook.database.engine import Database
from bythebook.database.engine import now as time_of
from bythebook.database.tables import jobs
from bythebook.errors import InvalidInput, NotFound, StorageFailure
from bythebook.jobs.model import (
    Job,
    JobStatus,
    Order,
    Progress,
    Source,
    consent_from_plain,
    options_from_plain,
    order_to_plain,
    source_from_plain,
)

if TYPE_CHECKING:
    from bythebook.ingestion.progress import IngestReport

T = TypeVar("T")

LEASE = timedelta(seconds=10)
ATTEMPTS_MAX = 10
LISTED = 50
CANCELLED = "Cancelled before it was done; what was done so far is kept. Continue with: bythebook jobs retry {job_id}"
INTERRUPTED = (
    "The process that ran it ended before the job did; what was done is kept. Continue with: bythebook jobs retry {job_id}"
)
WORN_OUT = (
    "It was started {attempts} times, and each time its worker died. Check the workers' memory, then: "
    "bythebook jobs retry {job_id}"
)
DEADLY = (
    "Its worker died twice at '{lesson}' or a lesson soon after it. Check that lesson and the workers' memory, then: "
    "bythebook jobs retry {job_id}"
)

LeaseState = Literal["ours", "cancelled", "lost"]
"""What a worker learns when it renews its lease."""

REPORTED = ("files_discovered", "files_new", "files_modified", "files_deleted", "chunks_embedded", "total_chunks")
STALE = ("thread_id", "turn", "label", "page_title", "section", "quote")
"""What a job's report keeps of a stale citation. The question is left out: what a reader wrote is deleted with the thread, but
the report stays."""
KEPT_AS_THEY_ARE = (
    *("job_id", "book_id", "mode", "status", "files_processed", "files_skipped", "files_total", "chunks_created"),
    *("chunks_deleted", "queued_at", "started_at", "completed_at", "duration_seconds", "error_message", "attempts"),
    *("cancel_requested", "owner", "lease_expires_at"),
)


class Jobs:
    """Reads and changes jobs. Every change is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def queue(self, order: Order) -> Job:
        """Queues a job. A queued job that would do the same is returned instead."""
        told = act("job ordered", order.book_id, mode=order.mode)

        def queue(connection: Connection, now: datetime) -> Job:
            same = _first(connection, _same(order), jobs.c.status == "queued")
            return same or _insert(connection, new_row(order, now), told)

        return await self._alone(order.book_id, queue)

    async def start(self, order: Order, owner: str) -> Job | None:
        """Starts a job at once, continuing what a dead worker left of the same job. None while another job of the book runs."""
        told = act("job ordered", order.book_id, mode=order.mode)

        def start(connection: Connection, now: datetime) -> Job | None:
            running = _first(connection, jobs.c.book_id == order.book_id, jobs.c.status == "running")
            if running and not _lapsed_at(running, now):
                return None
            if running and running.order == order:
                return _lease(connection, jobs.c.job_id == running.job_id, owner, now)
            if running:
                _end(connection, running, now, error_message=INTERRUPTED.format(job_id=running.job_id))
            queued = _first(connection, _same(order), jobs.c.status == "queued")
            job = queued or _insert(connection, new_row(order, now), told)
            return _lease(connection, jobs.c.job_id == job.job_id, owner, now)

        return await self._alone(order.book_id, start)

    async def claim(self, owner: str, host: str) -> Job | None:
        """Leases the next job: one whose worker died, else the one that has waited longest and whose book has none running."""
        here = or_(jobs.c.host.is_(None), jobs.c.host == host)

        def claim(connection: Connection, now: datetime) -> Job | None:
            lapsed = and_(jobs.c.status == "running", _lapsed(now), here)
            if taken := _lease(connection, _next(lapsed, jobs.c.lease_expires_at), owner, now):
                return _unless_worn_out(connection, taken, now)
            busy = jobs.alias("busy")
            alone = ~select(busy.c.job_id).where(busy.c.book_id == jobs.c.book_id, busy.c.status == "running").exists()
            waiting = and_(jobs.c.status == "queued", here, alone)  # whatever its time: the clock may have been set back
            return _lease(connection, _next(waiting, jobs.c.run_after, jobs.c.job_id), owner, now)

        try:
            return await self._timed(claim)
        except StorageFailure as failure:
            if isinstance(failure.__cause__, IntegrityError):  # another worker started a job of this book at the same moment
                return None
            raise

    async def renew(self, job: Job, progress: Progress) -> LeaseState:
        """Stores the progress and renews the lease. Returns whether to go on."""
        changes = update(jobs).where(_held(job)).values(**progress_columns(progress)).returning(jobs.c.cancel_requested)
        row = await self._timed(lambda connection, now: connection.execute(changes.values(lease_expires_at=now + LEASE)).first())
        return "lost" if row is None else "cancelled" if row.cancel_requested else "ours"

    async def complete(self, job: Job, report: IngestReport) -> bool:
        """Ends the job as completed. False where another worker has taken it over."""
        done = report_columns(report)
        return await self._timed(
            lambda connection, now: _end(connection, job, now, status="completed", error_message=None, **done)
        )

    async def fail(self, job: Job, message: str) -> bool:
        return await self._timed(lambda connection, now: _end(connection, job, now, error_message=message))

    async def fail_cancelled(self, job: Job) -> bool:
        return await self._timed(lambda connection, now: _end_cancelled(connection, job, now))

    async def hand_back(self, job: Job) -> None:
        """Gives the job back before its worker stops, so that the next one need not wait for the lease to expire."""
        left = update(jobs).where(_held(job)).values(progress=None)
        await self._timed(lambda connection, now: connection.execute(left.values(lease_expires_at=now - LEASE)))

    async def hand_back_all(self, host: str, *, unless_of: str) -> None:
        """Gives back all jobs of this machine, for a process that knows that no other process here can be running any."""
        here = jobs.c.owner.startswith(f"{host}:", autoescape=True)
        mine = jobs.c.owner.startswith(f"{host}:{unless_of}:", autoescape=True)
        dead = update(jobs).where(jobs.c.status == "running", here, ~mine)
        await self._timed(lambda connection, now: connection.execute(dead.values(lease_expires_at=now - LEASE)))

    async def cancel(self, job_id: int) -> Job:
        """Cancels a job. A queued one ends now, a running one at its worker's next renewal; one that has ended stays as it is."""

        told = act("job cancelled", job_id)

        def cancel(connection: Connection, now: datetime) -> Job:
            asked = update(jobs).where(jobs.c.job_id == job_id, jobs.c.status.in_(("queued", "running")))
            changed = connection.execute(asked.values(cancel_requested=True)).rowcount
            job = _get(connection, job_id)
            if changed:
                replace(told, subject=job.book_id, details={"job_id": job_id}).write(connection)
            if job.status == "queued" or (job.status == "running" and _lapsed_at(job, now)):
                _end_cancelled(connection, job, now)
            return _get(connection, job_id)

        return await self._timed(cancel)

    async def retry(self, job_id: int) -> Job:
        """Queues a new job that does the same: in document D, `failed` is final."""
        job = await self.get(job_id)
        if job.status != "failed":
            raise InvalidInput(f"Job {job_id} is {job.status}; only a failed job can be tried again.")
        return await self.queue(job.order)

    async def get(self, job_id: int) -> Job:
        return await self._database.run(lambda connection: _get(connection, job_id))

    async def list(
        self,
        *,
        book_id: str | None = None,
        status: JobStatus | None = None,
        before: int | None = None,
        limit: int = LISTED,
    ) -> list[Job]:
        """Jobs, newest first. `before` is the last job_id of the page before."""
        wanted = select(jobs).order_by(jobs.c.job_id.desc()).limit(limit)
        for column, value in ((jobs.c.book_id, book_id), (jobs.c.status, status)):
            wanted = wanted if value is None else wanted.where(column == value)
        wanted = wanted if before is None else wanted.where(jobs.c.job_id < before)
        return [job_of(row) for row in await self._database.run(lambda connection: connection.execute(wanted).all())]

    async def sources(self) -> builtins.list[Source]:
        """The sources of all books that have had a job."""
        there = select(jobs.c.source, jobs.c.host)
        rows = await self._database.run(lambda connection: connection.execute(there).all())
        return [source_from_plain(row.source, row.host) for row in rows]

    async def counts(self) -> dict[str, int]:
        """How many jobs there are in each status that has any."""
        counted = select(jobs.c.status, func.count()).group_by(jobs.c.status)
        return {row[0]: row[1] for row in await self._database.run(lambda connection: connection.execute(counted).all())}

    async def _timed(self, work: Callable[[Connection, datetime], T]) -> T:
        """Runs one transaction that knows the database's time."""
        return await self._database.run(lambda connection: work(connection, time_of(connection)))

    async def _alone(self, book_id: str, work: Callable[[Connection, datetime], T]) -> T:
        """Runs one transaction during which nobody else queues or starts jobs of this book."""

        def locked(connection: Connection) -> T:
            if connection.dialect.name == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"jobs of {book_id}"))))
            else:
                connection.execute(text("BEGIN IMMEDIATE"))
            return work(connection, time_of(connection))

        return await self._database.run(locked)


def _unless_worn_out(connection: Connection, job: Job, now: datetime) -> Job | None:
    """Fails a job that killed its workers at the same place, or too often, so that it does not go on killing them."""
    last = job.progress
    if last and last.place and last.place == last.died_at:
        _end(connection, job, now, error_message=DEADLY.format(lesson=last.lesson, job_id=job.job_id))
    elif job.attempts > ATTEMPTS_MAX:
        _end(connection, job, now, error_message=WORN_OUT.format(attempts=ATTEMPTS_MAX, job_id=job.job_id))
    else:
        return job
    return None


def _same(order: Order) -> ColumnElement[bool]:
    source = cast(jobs.c.source, Text) == json.dumps(order_to_plain(order))
    return and_(jobs.c.book_id == order.book_id, jobs.c.mode == order.mode, source, ~jobs.c.cancel_requested)


def _lapsed(now: datetime) -> ColumnElement[bool]:
    """Whether the lease has expired. A lease that ends later than any can was given before the clock was set back."""
    return or_(jobs.c.lease_expires_at < now, jobs.c.lease_expires_at > now + 2 * LEASE)


def _lapsed_at(job: Job, now: datetime) -> bool:
    return job.lease_expires_at is None or not now <= job.lease_expires_at <= now + 2 * LEASE


def _held(job: Job) -> ColumnElement[bool]:
    return and_(jobs.c.job_id == job.job_id, jobs.c.status == "running", jobs.c.owner == job.owner)


def _next(condition: ColumnElement[bool], *order: ColumnElement[Any]) -> ColumnElement[bool]:
    found = select(jobs.c.job_id).where(condition).order_by(*order).limit(1).with_for_update(skip_locked=True)
    return jobs.c.job_id == found.scalar_subquery()


def _lease(connection: Connection, which: ColumnElement[bool], owner: str, now: datetime) -> Job | None:
    begun = (
        update(jobs)
        .where(which)
        .values(
            status="running",
            owner=owner,
            lease_expires_at=now + LEASE,
            started_at=func.coalesce(jobs.c.started_at, now),
            attempts=jobs.c.attempts + 1,
        )
    )
    row = connection.execute(begun.returning(jobs)).first()
    return job_of(row) if row else None


def _insert(connection: Connection, row: dict[str, Any], told: Act) -> Job:
    job = job_of(connection.execute(insert(jobs).values(**row).returning(jobs)).one())
    replace(told, details={**told.details, "job_id": job.job_id}).write(connection)
    return job


def _first(connection: Connection, *conditions: ColumnElement[bool]) -> Job | None:
    row = connection.execute(select(jobs).where(*conditions).order_by(jobs.c.job_id).limit(1)).first()
    return job_of(row) if row else None


def _get(connection: Connection, job_id: int) -> Job:
    if found := _first(connection, jobs.c.job_id == job_id):
        return found
    raise NotFound(f"There is no job {job_id}. 'bythebook jobs list' shows those there are.")


def _end_cancelled(connection: Connection, job: Job, now: datetime) -> bool:
    return _end(connection, job, now, error_message=CANCELLED.format(job_id=job.job_id), cancel_requested=True)


def _end(connection: Connection, job: Job, now: datetime, *, status: JobStatus = "failed", **columns: Any) -> bool:
    """Ends the job, unless it has changed since `job` was read: one that another worker took over is left alone."""
    as_it_was = and_(jobs.c.job_id == job.job_id, jobs.c.status == job.status, jobs.c.owner.is_not_distinct_from(job.owner))
    seconds = round((now - job.started_at).total_seconds()) if job.started_at else None
    ended = (
        update(jobs)
        .where(as_it_was)
        .values(status=status, completed_at=now, duration_seconds=max(0, seconds) if seconds is not None else None, **columns)
    )
    rows = connection.execute(ended.values(owner=None, lease_expires_at=None).returning(jobs.c.job_id))
    return rows.first() is not None


def new_row(order: Order, now: datetime) -> dict[str, Any]:
    counts = ("files_total", "files_processed", "files_skipped", "chunks_created", "chunks_deleted", "attempts")
    return {
        "book_id": order.book_id,
        "mode": order.mode,
        "status": "queued",
        "source": order_to_plain(order),
        "host": order.host,
        "queued_at": now,
        "run_after": now,
        "failed_files": [],
        "cancel_requested": False,
        **dict.fromkeys(counts, 0),
    }


def job_of(row: Row[Any]) -> Job:
    return Job(
        **{name: getattr(row, name) for name in KEPT_AS_THEY_ARE},
        source=source_from_plain(row.source, row.host),
        consent=consent_from_plain(row.source),
        options=options_from_plain(row.source),
        failed_files=tuple(Failure(**failure) for failure in row.failed_files),
        progress=Progress(**row.progress) if row.progress and row.status == "running" else None,
        report=row.report or {},
    )


def progress_columns(progress: Progress) -> dict[str, Any]:
    counts = ("files_total", "files_processed", "files_skipped")
    return {"progress": asdict(progress), **{name: getattr(progress, name) for name in counts}}


def report_columns(report: IngestReport) -> dict[str, Any]:
    """Document D's counts; `report` holds what else an author may want to know, such as the warnings."""
    return {
        "files_total": report.files_discovered,
        "files_processed": report.files_processed,
        "files_skipped": report.files_skipped,
        "chunks_created": report.chunks_created,
        "chunks_deleted": report.chunks_deleted,
        "failed_files": [asdict(failure) for failure in report.failures],
        "report": {
            **{name: getattr(report, name) for name in REPORTED},
            "warnings": [asdict(warning) for warning in report.warnings],
            "stale": [{name: getattr(one, name) for name in STALE} for one in report.stale],
        },
    }
