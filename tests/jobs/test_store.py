"""Jobs on both databases: who gets which, who may write, and what document D allows."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from bythebook.books.model import Failure
from bythebook.database.engine import Database
from bythebook.database.tables import jobs as table
from bythebook.errors import InvalidInput, NotFound, StorageFailure
from bythebook.ingestion.progress import IngestReport
from bythebook.ingestion.request import Mode
from bythebook.jobs.model import Folder, Job, Order, Progress, Repository
from bythebook.jobs.store import ATTEMPTS_MAX, LEASE, Jobs, new_row
from tests.jobs.conftest import Tell, open_jobs

HERE = "here"
LATER = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)


def order(book_id: str = "small", mode: Mode = "incremental", path: str = "/books/small", host: str | None = None) -> Order:
    return Order(book_id=book_id, source=Folder(path=Path(path), host=host), mode=mode)


def report(book_id: str = "small") -> IngestReport:
    return IngestReport(
        book_id=book_id,
        title="A small book",
        mode="incremental",
        dry_run=False,
        collection_name="textbook_chunks",
        files_discovered=7,
        files_processed=2,
        files_skipped=4,
        files_new=1,
        files_modified=1,
        files_deleted=0,
        chunks_created=6,
        chunks_deleted=3,
        chunks_embedded=5,
        total_chunks=17,
        started_at=LATER,
        completed_at=LATER,
        warnings=(),
        failures=(Failure(source_file="odd.md", reason="odd.md is not UTF-8"),),
    )


async def claimed(jobs: Jobs, owner: str = "here:1:a", host: str = HERE) -> Job:
    job = await jobs.claim(owner, host)
    assert job is not None
    return job


async def let_lapse(database: Database, job: Job, *, by: timedelta = timedelta(seconds=1)) -> None:
    """As if nobody had renewed the lease for long enough."""
    lapsed = update(table).where(table.c.job_id == job.job_id).values(lease_expires_at=datetime.now(UTC) - by)
    await database.run(lambda connection: connection.execute(lapsed))


def test_a_job_goes_from_queued_over_running_to_completed(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        queued = await jobs.queue(order())
        assert (queued.status, queued.started_at, queued.completed_at, queued.attempts) == ("queued", None, None, 0)
        running = await claimed(jobs)
        assert (running.job_id, running.status, running.completed_at, running.attempts) == (queued.job_id, "running", None, 1)
        assert running.started_at is not None
        assert await jobs.complete(running, report())
        done = await jobs.get(queued.job_id)
        assert (done.status, done.owner, done.lease_expires_at, done.error_message) == ("completed", None, None, None)
        assert (done.files_processed, done.files_skipped, done.chunks_created, done.chunks_deleted) == (2, 4, 6, 3)
        assert done.files_processed + done.files_skipped + len(done.failed_files) == done.files_total
        assert done.failed_files == report().failures
        assert done.completed_at is not None
        assert done.duration_seconds is not None

    tell(story)


def test_the_same_order_twice_is_one_queued_job(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        repository = Repository(url="https://git.example/book", branch="main")
        orders = [order(), order(mode="full"), order("other"), order(path="/elsewhere")]
        orders.append(Order(book_id="small", source=repository))
        first = [(await jobs.queue(one)).job_id for one in orders]
        again = [(await jobs.queue(one)).job_id for one in orders]
        assert first == again
        assert len(set(first)) == len(orders)
        assert [job.order for job in reversed(await jobs.list())] == orders

    tell(story)


def test_a_push_while_a_job_runs_is_not_lost(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        await jobs.queue(order())
        running = await claimed(jobs)
        second = await jobs.queue(order())
        assert second.job_id != running.job_id
        assert await jobs.claim("here:1:b", HERE) is None
        await jobs.complete(running, report())
        assert (await claimed(jobs)).job_id == second.job_id

    tell(story)


def test_a_job_of_another_book_does_not_wait(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        for one in (order(), order(mode="full"), order("other")):
            await jobs.queue(one)
        assert [(await claimed(jobs, f"here:1:{n}")).book_id for n in range(2)] == ["small", "other"]
        assert await jobs.claim("here:1:x", HERE) is None

    tell(story)


def test_the_database_itself_forbids_two_running_jobs_of_a_book(tell: Tell) -> None:
    async def story(jobs: Jobs, database: Database) -> None:
        await jobs.queue(order())
        await claimed(jobs)
        second = {**new_row(order(mode="full"), LATER), "status": "running"}
        with pytest.raises(StorageFailure) as failed:
            await database.run(lambda connection: connection.execute(insert(table).values(second)))
        assert isinstance(failed.value.__cause__, IntegrityError)

    tell(story)


def test_many_workers_claim_each_job_once(address: str | None, folder: Path) -> None:
    async def story() -> None:
        async with open_jobs(address, folder) as (jobs, _):
            for number in range(24):
                await jobs.queue(order(f"book-{number % 8}", path=f"/books/{number}"))
            taken: list[Job] = []

            async def work(name: str) -> None:
                async with open_jobs(address, folder) as (mine, _):
                    while len(taken) < 24:
                        if job := await mine.claim(name, HERE):
                            taken.append(job)
                            await mine.complete(job, report())

            await asyncio.gather(*(work(f"here:{number}:a") for number in range(4)))
            assert sorted(job.job_id for job in taken) == list(range(1, 25))
            assert {job.attempts for job in await jobs.list()} == {1}

    asyncio.run(story())


def test_a_job_whose_worker_died_is_taken_over_and_the_dead_may_write_no_more(tell: Tell) -> None:
    async def story(jobs: Jobs, database: Database) -> None:
        await jobs.queue(order())
        dead = await claimed(jobs, "there:1:a", "there")
        assert await jobs.claim("here:2:b", HERE) is None
        await let_lapse(database, dead)
        heir = await claimed(jobs, "here:2:b")
        assert (heir.job_id, heir.started_at, heir.attempts) == (dead.job_id, dead.started_at, 2)
        assert await jobs.renew(dead, Progress(stage="ingesting")) == "lost"
        assert not await jobs.complete(dead, report())
        assert not await jobs.fail(dead, "too late")
        await jobs.hand_back(dead)
        assert await jobs.claim("here:3:c", HERE) is None
        assert await jobs.renew(heir, Progress(stage="ingesting")) == "ours"
        assert await jobs.complete(heir, report())

    tell(story)


def test_a_job_that_kills_its_workers_is_given_up(tell: Tell) -> None:
    async def story(jobs: Jobs, database: Database) -> None:
        queued = await jobs.queue(order())
        for _ in range(ATTEMPTS_MAX):
            await let_lapse(database, await claimed(jobs))
        assert await jobs.claim("here:1:z", HERE) is None
        job = await jobs.get(queued.job_id)
        assert job.status == "failed"
        assert job.error_message is not None
        assert job.error_message.startswith(f"It was started {ATTEMPTS_MAX} times")

    tell(story)


def test_a_clock_that_jumps_delays_nobody_for_long(folder: Path) -> None:
    """SQLite goes by the machine's clock. Set back, it leaves leases that no lease can be; set forward, all have run out."""

    async def story() -> None:
        async with open_jobs(None, folder) as (jobs, database):
            await jobs.queue(order())
            job = await claimed(jobs)
            await let_lapse(database, job, by=-timedelta(hours=1))
            assert (await claimed(jobs, "here:2:b")).job_id == job.job_id
            assert await jobs.renew(job, Progress(stage="reading")) == "lost"
            await jobs.queue(order("other"))
            later = datetime.now(UTC) + timedelta(hours=1)
            ahead = update(table).where(table.c.status == "queued").values(run_after=later, queued_at=later)
            await database.run(lambda connection: connection.execute(ahead))
            assert (await claimed(jobs, "here:3:c")).book_id == "other"

    asyncio.run(story())


def test_leases_go_by_the_clock_of_the_database(folder: Path, postgresql: str) -> None:
    async def story() -> None:
        async with open_jobs(postgresql, folder) as (jobs, database):
            await jobs.queue(order())
            job = await claimed(jobs)
            left = select(table.c.lease_expires_at - func.now()).where(table.c.job_id == job.job_id)
            assert timedelta() < await database.run(lambda connection: connection.execute(left).scalar_one()) <= LEASE

    asyncio.run(story())


def test_a_folder_of_one_machine_is_for_its_workers(tell: Tell) -> None:
    async def story(jobs: Jobs, database: Database) -> None:
        await jobs.queue(order(host="laptop"))
        assert await jobs.claim("here:1:a", HERE) is None
        job = await claimed(jobs, "laptop:1:a", "laptop")
        await let_lapse(database, job)
        assert await jobs.claim("here:1:a", HERE) is None
        assert (await claimed(jobs, "laptop:2:b", "laptop")).source == Folder(path=Path("/books/small"), host="laptop")

    tell(story)


def test_a_worker_that_stops_hands_its_job_back(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        await jobs.queue(order())
        job = await claimed(jobs)
        await jobs.hand_back(job)
        assert (await claimed(jobs, "here:2:b")).job_id == job.job_id

    tell(story)


def test_a_process_that_is_alone_takes_back_what_others_of_its_machine_left(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        for book_id, owner in (("a", "here:1-x:1"), ("b", "here:2-y:1"), ("c", "here2:1-x:1")):
            await jobs.queue(order(book_id))
            await claimed(jobs, owner)
        await jobs.hand_back_all("here", unless_of="2-y")
        assert (await claimed(jobs, "here:2-y:2")).book_id == "a"
        assert await jobs.claim("here:2-y:3", HERE) is None

    tell(story)


def test_progress_is_there_for_others_to_see(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        await jobs.queue(order())
        job = await claimed(jobs)
        progress = Progress(
            stage="ingesting",
            files_total=7,
            files_processed=3,
            files_skipped=1,
            chunks_embedded=40,
            bytes_done=25,
            bytes_total=100,
            seconds=4.0,
        )
        assert await jobs.renew(job, progress) == "ours"
        seen = await jobs.get(job.job_id)
        assert seen.progress == progress
        assert (seen.files_total, seen.files_processed, seen.files_skipped) == (7, 3, 1)
        assert (progress.chunks_per_second, progress.seconds_left) == (10.0, 12.0)

    tell(story)


def test_cancelling_ends_a_queued_job_now_and_a_running_one_when_it_hears(tell: Tell) -> None:
    async def story(jobs: Jobs, database: Database) -> None:
        queued = await jobs.queue(order())
        ended = await jobs.cancel(queued.job_id)
        assert (ended.status, ended.cancelled, ended.duration_seconds) == ("failed", True, None)
        assert ended.completed_at is not None
        assert ended.error_message is not None
        assert ended.error_message.startswith("Cancelled")
        assert await jobs.claim("here:1:a", HERE) is None

        await jobs.queue(order())
        running = await claimed(jobs)
        assert (await jobs.cancel(running.job_id)).status == "running"
        assert await jobs.renew(running, Progress(stage="ingesting")) == "cancelled"
        assert await jobs.fail_cancelled(running)
        assert (await jobs.get(running.job_id)).cancelled

        await jobs.queue(order())
        dead = await claimed(jobs)
        await let_lapse(database, dead)
        assert (await jobs.cancel(dead.job_id)).cancelled
        completed = await jobs.cancel(dead.job_id)
        assert completed.completed_at == (await jobs.get(dead.job_id)).completed_at

    tell(story)


def test_cancelling_what_is_done_changes_nothing(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        await jobs.queue(order())
        job = await claimed(jobs)
        await jobs.complete(job, report())
        done = await jobs.get(job.job_id)
        assert await jobs.cancel(job.job_id) == done

    tell(story)


def test_only_a_failed_job_is_tried_again_and_as_a_new_one(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        queued = await jobs.queue(order(mode="full"))
        with pytest.raises(InvalidInput, match=f"Job {queued.job_id} is queued"):
            await jobs.retry(queued.job_id)
        await jobs.fail(await claimed(jobs), "no")
        again = await jobs.retry(queued.job_id)
        assert (again.order, again.status, again.attempts) == (queued.order, "queued", 0)
        assert again.job_id != queued.job_id
        assert (await jobs.get(queued.job_id)).status == "failed"
        with pytest.raises(NotFound, match="There is no job 999"):
            await jobs.retry(999)

    tell(story)


def test_starting_at_once_takes_over_the_dead_and_waits_for_the_living(tell: Tell) -> None:
    async def story(jobs: Jobs, database: Database) -> None:
        first = await jobs.start(order(), "here:1:a")
        assert first is not None
        assert await jobs.start(order(), "here:2:b") is None
        await let_lapse(database, first)
        heir = await jobs.start(order(), "here:2:b")
        assert heir is not None
        assert (heir.job_id, heir.attempts) == (first.job_id, 2)
        await let_lapse(database, heir)
        other = await jobs.start(order(mode="recreate"), "here:3:c")
        assert other is not None
        left = await jobs.get(first.job_id)
        assert left.status == "failed"
        assert left.error_message is not None
        assert f"bythebook jobs retry {first.job_id}" in left.error_message

    tell(story)


def test_starting_at_once_is_the_job_that_was_queued(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        queued = await jobs.queue(order())
        begun = await jobs.start(order(), "here:1:a")
        assert begun is not None
        assert begun.job_id == queued.job_id

    tell(story)


def test_the_list_is_newest_first_filtered_and_paged(tell: Tell) -> None:
    async def story(jobs: Jobs, _: Database) -> None:
        made = [await jobs.queue(order(f"book-{number % 2}", path=f"/{number}")) for number in range(6)]
        await jobs.fail(await claimed(jobs), "no")
        assert [job.job_id for job in await jobs.list()] == [job.job_id for job in reversed(made)]
        assert [job.job_id for job in await jobs.list(book_id="book-1", limit=2)] == [6, 4]
        assert [job.job_id for job in await jobs.list(book_id="book-1", before=4)] == [2]
        assert [job.job_id for job in await jobs.list(status="failed")] == [1]

    tell(story)


def test_claiming_one_of_ten_thousand_reads_an_index(folder: Path, address: str | None) -> None:
    """Not timed here (bench/jobs.py does that): the plan says whether a claim's cost grows with the queue."""

    def said_of_ten_thousand(connection: Connection) -> str:
        connection.execute(insert(table), [new_row(order(f"book-{number}"), LATER) for number in range(10_000)])
        connection.execute(text("ANALYZE"))
        plan = "EXPLAIN" if address else "EXPLAIN QUERY PLAN"
        query = (
            "SELECT job_id FROM jobs WHERE status = 'queued' AND NOT EXISTS (SELECT 1 FROM "
            "jobs busy WHERE busy.book_id = jobs.book_id AND busy.status = 'running') ORDER BY run_after, job_id LIMIT 1"
        )
        return " ".join(str(row) for row in connection.execute(text(f"{plan} {query}")))

    async def story() -> None:
        async with open_jobs(address, folder) as (jobs, database):
            said = await database.run(said_of_ten_thousand)
            assert "jobs_waiting" in said
            assert "Sort" not in said
            assert "TEMP B-TREE" not in said
            assert (await claimed(jobs)).book_id == "book-0"

    asyncio.run(story())
