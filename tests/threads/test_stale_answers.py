"""An edit and the answers that are kept: those that quote what it took away are told and marked, until it comes back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bythebook.database.engine import Database
from bythebook.ingestion.progress import IngestReport, StaleCitation
from bythebook.jobs.store import Jobs
from bythebook.threads.model import CitedChunk, StoredTurn
from bythebook.threads.stale_answers import StaleAnswers
from bythebook.threads.store import Threads
from tests.support.databases import tell
from tests.support.hall import begin, order_of, runner_of
from tests.support.lighthouse import LAMP, LESSONS, TRIMMED, WICK, write_lighthouse
from tests.support.made_turns import NOON, answer, citation, keep
from tests.support.room import Room, tell_in_room
from tests.support.small_book import write

WICKS = f"{LAMP}/01-wicks.md"
LATER = NOON + timedelta(hours=1)
BESIDE = "Scissors with a tray catch the charred crumbs before they fall into the burner."


async def ingest(room: Room, book: Path) -> IngestReport:
    library = room.lighthouse.library
    job = await begin(library, order_of(book, book_id="light"))
    return await runner_of(library).run(job, calibrate=False)


async def stored(room: Room, thread_id: str) -> StoredTurn:
    (turn,) = await room.threads.turns(thread_id)
    return turn


@pytest.fixture
def lesson(folder: Path) -> str:
    return LESSONS[WICKS]


def test_an_answer_is_stale_when_its_words_go_and_good_again_when_they_come_back(
    database_address: str | None, folder: Path, lesson: str
) -> None:
    book = folder / "book"

    async def story(room: Room) -> None:
        write_lighthouse(book)
        assert (await ingest(room, book)).stale == ()
        thread_id = await room.begun(WICK)
        other = await room.begun("What is a Fresnel lens?")

        write(book, WICKS, lesson.replace("every four hours", "every five hours"))
        report = await ingest(room, book)
        assert report.stale == (
            StaleCitation(
                thread_id=thread_id,
                turn=1,
                label=1,
                question=WICK,
                page_title="Wicks and oil",
                section="Trimming the wick",
                quote=TRIMMED,
            ),
        )
        job = (await Jobs(room.lighthouse.library.database).list())[0]
        assert job.report["stale"] == [
            {
                "thread_id": thread_id,
                "turn": 1,
                "label": 1,
                "page_title": "Wicks and oil",
                "section": "Trimming the wick",
                "quote": TRIMMED,
            }
        ]
        turn = await stored(room, thread_id)
        assert (turn.stale_since, turn.stale_labels) == (job.started_at, (1,))
        assert (await stored(room, other)).stale_since is None

        assert (await ingest(room, book)).stale == ()  # told once
        assert (await stored(room, thread_id)).stale_since == job.started_at
        write(book, WICKS, lesson)
        assert (await ingest(room, book)).stale == ()
        assert (await stored(room, thread_id)).stale_since is None

    tell_in_room(database_address, folder, story)


def test_an_edit_beside_the_words_leaves_the_answer_good_and_a_lesson_that_goes_does_not(folder: Path, lesson: str) -> None:
    book = folder / "book"

    async def story(room: Room) -> None:
        thread_id = await room.begun(WICK)
        before = (await stored(room, thread_id)).answer.citations[0].chunk_id
        write(book, WICKS, lesson.replace(BESIDE, "A brush takes up the crumbs."))
        assert (await ingest(room, book)).stale == ()
        state = await room.lighthouse.library.records.book("light")
        assert state is not None
        assert not await room.lighthouse.library.index.chunks(state.collection_name, "light", [before])  # it is another chunk
        assert (await stored(room, thread_id)).stale_since is None

        (book / WICKS).unlink()
        assert [one.quote for one in (await ingest(room, book)).stale] == [TRIMMED]

    tell_in_room(None, folder, story)


def test_asked_again_by_a_worker_that_takes_the_job_over_it_tells_the_same(folder: Path, lesson: str) -> None:
    """The first one died between marking and completing."""
    book = folder / "book"

    async def story(room: Room) -> None:
        thread_id = await room.begun(WICK)
        write(book, WICKS, lesson.replace("every four hours", "every five hours"))
        library = room.lighthouse.library
        await library.ingest(book)
        for since, told in ((NOON, [thread_id]), (NOON, [thread_id]), (NOON + timedelta(hours=1), [])):
            stale = await StaleAnswers(library.database).update(library.records, library.index, book_id="light", since=since)
            assert [one.thread_id for one in stale] == told

    tell_in_room(None, folder, story)


def test_what_an_answer_quotes_from_a_chunk(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        threads, stale = Threads(database), StaleAnswers(database)
        one, other = citation(1, "c1"), citation(1, "c2")
        thread_id = await keep(threads, answer(citations=(one, one, other)))
        (quoted,) = await stale.quoted("light", ["c1", "unknown"])
        assert (quoted.cited.thread_id, quoted.cited.turn, quoted.question) == (thread_id, 1, answer().query)
        assert quoted.citations == (one,)
        assert await stale.quoted("dark", ["c1"]) == ()
        assert await stale.quoted("light", []) == ()

    tell(database_address, folder, story)


def test_which_answers_an_edit_touches(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        threads, stale = Threads(database), StaleAnswers(database)
        two = answer(citations=(citation(1, "c1"), citation(1, "c1"), citation(1, "c2"), citation(2, "c3")))
        thread_id = await keep(threads, two, answer(citations=(citation(1, "c9"),)))
        await keep(threads, answer(book_id="dark"), book_id="dark")

        async def cited_in(book_id: str) -> list[CitedChunk]:
            return [one.cited for one in await stale.quoted(book_id, await stale.cited_chunks(book_id))]

        cited = await cited_in("light")
        assert [(one.turn, one.label, one.chunk_id) for one in cited] == [(1, 1, "c1"), (1, 1, "c2"), (1, 2, "c3"), (2, 1, "c9")]
        await stale.mark([cited[1]], stale_since=NOON)
        await stale.mark([cited[2]], stale_since=LATER)
        await stale.mark([], stale_since=LATER)
        assert [one.stale_since for one in await cited_in("light")] == [None, NOON, LATER, None]
        assert await stale.cited_chunks("light") == {"c1": False, "c2": True, "c3": True, "c9": False}
        first, second = await threads.turns(thread_id)
        assert (first.stale_since, first.stale_labels) == (NOON, (1, 2))
        assert (second.stale_since, second.stale_labels) == (None, ())
        assert [one.stale_since for one in await cited_in("dark")] == [None]
        assert [one.thread_id for one in await threads.list(None, stale=True)] == [thread_id]
        await stale.mark(cited, stale_since=None)
        assert await threads.list(None, stale=True) == []

    tell(database_address, folder, story)
