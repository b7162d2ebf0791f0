"""A job and what may befall it: a person who cancels, a worker that stops or is given up, a lesson that goes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from bythebook.embedding.embedder import Vectors
from bythebook.errors import InvalidBook, Unavailable
from bythebook.ingestion.progress import CalibrationBegun, IngestReport, Planned
from bythebook.jobs.model import Job
from bythebook.jobs.progress import JobEvent, follow
from bythebook.jobs.runner import Cancelled, ForegroundJob, Lost
from bythebook.jobs.store import Jobs
from tests.jobs.test_store import let_lapse
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.hall import begin, many_lessons, open_hall, order_of, run_whole, runner_of
from tests.support.library import Library, open_library, with_embedder
from tests.support.lighthouse import make_embedder, write_lighthouse
from tests.support.small_book import SUBJECTS, write


class Held(SmallEmbedder):
    """Begins an embedding and does not end it until it is let go; the first `free` ones it does."""

    def __init__(self, *, free: int = 0) -> None:
        super().__init__()
        self.free = free
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        if self.free:
            self.free -= 1
            return await super().embed_lessons(texts)
        self.begun.set()
        await self.let_go.wait()
        return await super().embed_lessons(texts)


def test_a_job_is_ingested_calibrated_and_completed(folder: Path, book: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library, open_library(folder / "plain") as plain:
            events = await run_whole(library, order_of(book))
            assert isinstance(events[0], Planned)
            assert CalibrationBegun() in events
            report = events[-1]
            assert isinstance(report, IngestReport)
            job = await Jobs(library.database).get(1)
            assert (job.status, job.files_processed, job.files_total, job.chunks_created) == ("completed", 7, 7, 17)
            assert job.report["total_chunks"] == report.total_chunks == 17
            await plain.ingest(book)
            assert await library.snapshot() == await plain.snapshot()

    asyncio.run(story())


def test_a_cancelled_job_ends_and_a_new_one_goes_on_where_it_was(folder: Path, book: Path) -> None:
    """What was embedded before is not embedded again, and the index is that of an undisturbed run."""

    async def story() -> None:
        held = Held(free=1)
        async with open_library(folder / "data", held) as library, open_library(folder / "plain") as plain:
            jobs = Jobs(library.database)
            job = await begin(library, order_of(many_lessons(book)))
            running = asyncio.create_task(_drain(library, job))
            await held.begun.wait()
            assert (await jobs.cancel(job.job_id)).status == "running"
            with pytest.raises(Cancelled):
                await running
            ended = await jobs.get(job.job_id)
            assert (ended.status, ended.cancelled) == ("failed", True)
            assert held.embedded
            held.let_go.set()
            again = await jobs.retry(job.job_id)
            await _drain(library, await begin(library, again.order))
            assert (await jobs.get(again.job_id)).status == "completed"
            assert len(held.embedded) == len(set(held.embedded))
            await plain.ingest(book)
            assert await library.snapshot() == await plain.snapshot()

    asyncio.run(story())


def test_a_job_that_another_worker_took_over_is_left_to_it(folder: Path, book: Path) -> None:
    async def story() -> None:
        held = Held()
        async with open_library(folder / "data", held) as library:
            jobs = Jobs(library.database)
            slow = await begin(library, order_of(book))
            running = asyncio.create_task(_drain(library, slow))
            await held.begun.wait()
            await let_lapse(library.database, slow)
            heir = await jobs.claim("there:1:a", "there")
            assert heir is not None
            with pytest.raises(Lost):
                await running
            held.let_go.set()
            await _drain(library, heir)
            done = await jobs.get(slow.job_id)
            assert (done.status, done.attempts) == ("completed", 2)

    asyncio.run(story())


def test_a_job_whose_worker_dies_twice_at_the_same_lesson_fails_with_its_name(folder: Path, book: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data", Held()) as library:
            jobs = Jobs(library.database)
            job: Job | None = await begin(library, order_of(book))
            for number in range(2):
                assert job is not None
                held = Held()
                running = asyncio.create_task(_drain(with_embedder(library, held), job))
                async with asyncio.timeout(120):
                    await held.begun.wait()
                await let_lapse(library.database, job)  # as if it had died there
                job = await jobs.claim(f"there:{number}:a", "there")
                with pytest.raises(Lost):
                    await running
            assert job is None
            (failed,) = await jobs.list()
            assert (failed.status, failed.attempts) == ("failed", 3)
            assert failed.error_message is not None
            assert "died twice at 'glossary.md'" in failed.error_message

    asyncio.run(story())


def test_a_job_that_gets_on_between_two_deaths_goes_on(folder: Path, book: Path) -> None:
    """What was embedded is kept, so that the place is another one."""

    async def story() -> None:
        async with open_library(folder / "data", Held()) as library:
            jobs = Jobs(library.database)
            job: Job | None = await begin(library, order_of(many_lessons(book)))
            for number in range(2):
                assert job is not None
                held = Held(free=1)
                running = asyncio.create_task(_drain(with_embedder(library, held), job))
                async with asyncio.timeout(120):
                    await held.begun.wait()
                await let_lapse(library.database, job)
                job = await jobs.claim(f"there:{number}:a", "there")
                with pytest.raises(Lost):
                    await running
            assert job is not None
            assert job.attempts == 3

    asyncio.run(story())


def test_a_worker_that_is_stopped_leaves_its_job_to_the_next_at_once(folder: Path, book: Path) -> None:
    async def story() -> None:
        held = Held()
        async with open_library(folder / "data", held) as library:
            job = await begin(library, order_of(book))
            running = asyncio.create_task(_drain(library, job))
            await held.begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            heir = await Jobs(library.database).claim("there:1:a", "there")
            assert heir is not None
            assert (heir.job_id, heir.attempts) == (job.job_id, 2)

    asyncio.run(story())


def test_a_person_who_leaves_ends_the_job(folder: Path, book: Path) -> None:
    async def story() -> None:
        held = Held()
        async with open_library(folder / "data", held) as library:
            attended = ForegroundJob(runner=runner_of(library, attended=True))

            running = asyncio.create_task(attended.run(book))
            await held.begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            (job,) = await Jobs(library.database).list()
            assert (job.status, job.cancelled) == ("failed", True)

    asyncio.run(story())


def test_a_reader_of_events_who_stops_reading_stops_the_job(folder: Path, book: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            job = await begin(library, order_of(many_lessons(book)))
            runner = runner_of(library, attended=True)
            async with aclosing(follow(lambda tell: runner.run(job, tell=tell))) as events:
                assert isinstance(await anext(events), Planned)
            assert (await Jobs(library.database).get(job.job_id)).cancelled

    asyncio.run(story())


def test_a_person_hears_at_once_that_a_server_is_away(folder: Path, book: Path) -> None:
    async def story() -> None:
        with open_hall(folder) as hall:
            hall.server.troubles = [503] * 4
            async with hall.open() as library:
                attended = ForegroundJob(runner=runner_of(library, attended=True))
                with pytest.raises(Unavailable):
                    await attended.run(book)
                (job,) = await Jobs(library.database).list()
                assert job.status == "failed"
                assert job.error_message is not None
                assert "told to fail" in job.error_message

    asyncio.run(story())


def test_a_book_that_cannot_be_read_fails_with_its_reason(folder: Path) -> None:
    async def story() -> None:
        write(folder / "odd", "one.md", "")
        (folder / "odd/one.md").write_bytes(b"\xff\xfe\x00")
        async with open_library(folder / "data") as library:
            job = await begin(library, order_of(folder / "odd"))
            with pytest.raises(InvalidBook):
                await _drain(library, job)
            ended = await Jobs(library.database).get(job.job_id)
            assert ended.status == "failed"
            assert ended.error_message is not None
            assert "one.md" in ended.error_message

    asyncio.run(story())


def test_a_lesson_deleted_while_it_is_embedded_is_gone_after_the_next_job(folder: Path, book: Path) -> None:
    first = next(iter(SUBJECTS))

    def delete(_: Sequence[str]) -> None:
        (book / first).unlink(missing_ok=True)

    async def story() -> None:
        async with open_library(folder / "data", SmallEmbedder(before_batch=delete)) as library:
            await _drain(library, await begin(library, order_of(book)))
            assert await library.problems() == ()
            await _drain(library, await begin(library, order_of(book)))
            async with open_library(folder / "plain") as plain:
                await plain.ingest(book)
                assert await library.snapshot() == await plain.snapshot()

    asyncio.run(story())


def test_another_embedder_takes_over_only_when_its_index_is_complete_and_calibrated(folder: Path) -> None:
    """The old one answers until then, also after a failure."""
    book = write_lighthouse(folder / "book")
    question = "How long does a wick burn?"
    calls = 0

    def broken(_: Sequence[str]) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise InvalidBook("it broke")

    async def story() -> None:
        async with open_library(folder / "data", make_embedder()) as library:
            order = order_of(book, book_id="light")
            await run_whole(library, order)
            before = await library.ask(question, book_id="light")
            old = (await library.search.book("light")).collection_name

            newer = SmallEmbedder("light@2", dimension=64, before_batch=broken)
            recreating = order_of(book, book_id="light", mode="recreate")
            with pytest.raises(InvalidBook):
                await run_whole(with_embedder(library, newer), recreating)
            assert await library.ask(question, book_id="light") == before

            switching = with_embedder(library, newer)

            async def old_serves(_: JobEvent) -> None:
                assert (await library.search.book("light")).collection_name == old
                assert await library.ask(question, book_id="light") == before

            await runner_of(switching).run(await begin(switching, recreating), tell=old_serves)
            state = await switching.search.book("light")
            assert state.collection_name != old
            manifest = (await library.index.collections())[state.collection_name]
            assert manifest.embedder == "light@2"
            assert "light" in manifest.calibration
            assert old not in await library.index.collections()

    asyncio.run(story())


def test_progress_is_told_while_the_job_runs(folder: Path, book: Path) -> None:
    async def story() -> None:
        held = Held()
        async with open_library(folder / "data", held) as library:
            jobs = Jobs(library.database)
            job = await begin(library, order_of(book))
            running = asyncio.create_task(_drain(library, job))
            await held.begun.wait()
            while True:
                seen = await jobs.get(job.job_id)
                if seen.progress:
                    break
                await asyncio.sleep(0.05)
            assert (seen.progress.stage, seen.progress.files_total, seen.files_total) == ("ingesting", 7, 7)
            held.let_go.set()
            await running
            assert (await jobs.get(job.job_id)).progress is None

    asyncio.run(story())


async def _drain(library: Library, job: Job) -> None:
    await runner_of(library).run(job, calibrate=False)
