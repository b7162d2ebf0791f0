"""Workers: many books shared between them, and what a worker that was killed leaves to another."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, text

from bythebook.database.tables import embeddings
from bythebook.embedding.embedder import Embedder
from bythebook.embedding.granite import GraniteEmbedder
from bythebook.errors import BookError
from bythebook.ingestion.progress import IngestReport
from bythebook.ingestion.request import Mode
from bythebook.jobs.model import Job
from bythebook.jobs.progress import JobEvent
from bythebook.jobs.store import Jobs
from bythebook.jobs.worker import Worker
from tests.cli.conftest import environment
from tests.jobs.test_store import let_lapse
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.hall import Hall, open_hall, order_of, runner_of, write_listings
from tests.support.library import forget_book
from tests.support.processes import SECONDS
from tests.support.soak import soak_size


def test_two_workers_share_the_jobs_of_many_books(folder: Path, postgresql: str) -> None:
    """No job twice, no two of one book at a time, and every book is served in the end."""
    done: Counter[int] = Counter()

    def listen(job: Job, event: JobEvent | BookError) -> None:
        assert not isinstance(event, BookError), event
        done[job.job_id] += isinstance(event, IngestReport)

    async def story(hall: Hall) -> None:
        async with hall.open() as first, hall.open() as second:
            jobs = Jobs(first.database)
            for number in range(6):
                book_id = f"book-{number}"
                book = write_listings(folder / book_id, book_id=book_id, lessons=1)
                modes: tuple[Mode, ...] = ("incremental", "full")
                for mode in modes:
                    await jobs.queue(order_of(book, book_id=book_id, mode=mode))
            workers = [Worker(runner=runner_of(library), listener=listen) for library in (first, second)]
            while await jobs.list(status="queued"):
                await asyncio.gather(*(worker.work(until_idle=True) for worker in workers))
            assert done == dict.fromkeys(range(1, 13), 1)
            assert {job.attempts for job in await jobs.list()} == {1}
            assert len(await first.snapshot()) == 6
            manifests = await first.index.collections()
            assert {book for manifest in manifests.values() for book in manifest.books} == {f"book-{n}" for n in range(6)}

    with open_hall(folder, postgresql) as hall:
        asyncio.run(story(hall))


def test_a_worker_beside_other_work_takes_what_is_queued(folder: Path) -> None:
    async def story(hall: Hall) -> None:
        ended = asyncio.Event()

        def listen(_: Job, event: JobEvent | BookError) -> None:
            if isinstance(event, IngestReport):
                ended.set()

        async with hall.open() as library:
            work = asyncio.create_task(Worker(runner=runner_of(library), listener=listen).work_on(lambda _: None))
            await Jobs(library.database).queue(order_of(write_listings(folder / "book")))
            async with asyncio.timeout(SECONDS):
                await ended.wait()
            work.cancel()
            await asyncio.wait({work})

    with open_hall(folder) as hall:
        asyncio.run(story(hall))


def test_a_job_that_fails_does_not_end_the_worker(folder: Path) -> None:
    async def story(hall: Hall) -> None:
        async with hall.open() as library:
            jobs = Jobs(library.database)
            await jobs.queue(order_of(folder / "nowhere", book_id="gone"))
            await jobs.queue(order_of(write_listings(folder / "book")))
            await Worker(runner=runner_of(library)).work(until_idle=True)
            assert [job.status for job in await jobs.list()] == ["completed", "failed"]

    with open_hall(folder) as hall:
        asyncio.run(story(hall))


def test_a_job_that_fails_in_a_way_nobody_foresaw_does_not_end_the_worker(folder: Path) -> None:
    def explode(_: Sequence[str]) -> None:
        raise ZeroDivisionError("a fault of the program")

    async def story(hall: Hall) -> None:
        async with hall.open(SmallEmbedder(before_batch=explode)) as library:
            jobs = Jobs(library.database)
            await jobs.queue(order_of(write_listings(folder / "book")))
            await Worker(runner=runner_of(library)).work(until_idle=True)
            (job,) = await jobs.list()
            assert job.status == "failed"
            assert job.error_message is not None
            assert "ZeroDivisionError: a fault of the program" in job.error_message

    with open_hall(folder) as hall:
        asyncio.run(story(hall))


def test_a_worker_outlives_a_database_that_takes_nothing_for_a_while(folder: Path) -> None:
    async def story(hall: Hall) -> None:
        ended, in_trouble = asyncio.Event(), asyncio.Event()

        def listen(_: Job, event: JobEvent | BookError) -> None:
            if isinstance(event, IngestReport):
                ended.set()

        def hear(trouble: str | None) -> None:
            if trouble:
                assert "no such table: jobs" in trouble
                in_trouble.set()

        async with hall.open() as library:
            await Jobs(library.database).queue(order_of(write_listings(folder / "book")))
            await library.database.run(lambda connection: connection.execute(text("ALTER TABLE jobs RENAME TO away")))
            work = asyncio.create_task(Worker(runner=runner_of(library), listener=listen).work_on(hear))
            async with asyncio.timeout(SECONDS):
                await in_trouble.wait()
                await library.database.run(lambda connection: connection.execute(text("ALTER TABLE away RENAME TO jobs")))
                await ended.wait()
            work.cancel()
            await asyncio.wait({work})

    with open_hall(folder) as hall:
        asyncio.run(story(hall))


@pytest.fixture(scope="module")
def granite() -> Iterator[GraniteEmbedder]:
    embedder = GraniteEmbedder()
    yield embedder
    asyncio.run(embedder.close())


def test_a_job_moves_from_a_worker_that_was_killed_to_a_living_one(folder: Path, granite: GraniteEmbedder) -> None:
    with open_hall(folder) as hall:
        trial = Trial(hall, granite)
        for number in range(1):
            trial.kill(random.Random(number))


@pytest.mark.soak
def test_workers_killed_at_50_random_moments_lose_nothing(folder: Path, granite: GraniteEmbedder, postgresql: str) -> None:
    seed, kills = random.randrange(10**6), soak_size(50)
    with open_hall(folder, postgresql) as hall:
        trial = Trial(hall, granite, lessons=40)
        moments = Counter(trial.kill(random.Random(seed + number)) for number in range(kills))
    told = ", ".join(f"{count} {moment}" for moment, count in sorted(moments.items()))
    print(f"\n{kills} workers killed (seed {seed}) in runs of {trial.seconds:.1f} s: {told}; all jobs were finished by another")


class Trial:
    """A book, what an undisturbed worker makes of it, and workers in processes of their own that are killed."""

    def __init__(self, hall: Hall, embedder: Embedder, *, lessons: int = 4) -> None:
        self.hall = hall
        self.embedder = embedder
        self.book = write_listings(hall.folder / "book", lessons=lessons)
        self.seconds = 0.0
        self.expected = asyncio.run(self._undisturbed())

    def kill(self, chance: random.Random) -> str:
        """Everything anew, in any mode; the worker is killed at some moment. Says what it had done by then."""
        mode: Mode = chance.choice(["incremental", "full", "recreate"])
        job = asyncio.run(self._queue(mode, afresh=chance.random() < 0.5))
        with self._start() as worker:
            assert worker.stdout is not None
            worker.stdout.readline()  # it is ready, and about to take the job
            try:
                worker.wait(timeout=chance.uniform(0.05, 1.0) * self.seconds)
            except subprocess.TimeoutExpired:
                worker.kill()
            worker.communicate()
        return asyncio.run(self._go_on(job))

    def _start(self) -> subprocess.Popen[str]:
        given = {"QDRANT_URL": self.hall.server.url, "PYTHONUNBUFFERED": "1"}
        if self.hall.url:
            given["DATABASE_URL"] = self.hall.url
        command = [sys.executable, "-m", "bythebook", "worker", "--until-idle"]
        return subprocess.Popen(
            command, env=environment(self.hall.folder, given), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )

    async def _undisturbed(self) -> dict[str, Any]:
        async with self.hall.open(self.embedder) as library:
            jobs = Jobs(library.database)
            await jobs.queue(order_of(self.book))
            await Worker(runner=runner_of(library)).work(until_idle=True)
            (job,) = await jobs.list()
            assert job.duration_seconds is not None
            self.seconds = job.duration_seconds + 1.0
            return await library.snapshot()

    async def _queue(self, mode: Mode, *, afresh: bool) -> Job:
        """The book is forgotten; `afresh`: its embeddings too."""
        async with self.hall.open(self.embedder) as library:
            for name in await library.index.collections():
                await library.index.drop(name)
            await forget_book(library, "small")
            if afresh:
                await library.database.run(lambda connection: connection.execute(delete(embeddings)))
            return await Jobs(library.database).queue(order_of(self.book, mode=mode))

    async def _go_on(self, job: Job) -> str:
        async with self.hall.open(self.embedder) as library:
            jobs = Jobs(library.database)
            left = await jobs.get(job.job_id)
            if left.status == "running":
                await let_lapse(library.database, left)  # as ten seconds would
            await Worker(runner=runner_of(library)).work(until_idle=True)
            done = await jobs.get(job.job_id)
            assert (done.status, done.error_message) == ("completed", None)
            assert await library.snapshot() == self.expected
            assert await library.problems() == ()
            return {"queued": "before it was taken", "running": "while it ran"}.get(left.status, "after its end")
