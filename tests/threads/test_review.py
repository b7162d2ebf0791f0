"""What an author learns from everyone's threads, on both databases."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from bythebook.database.engine import Database
from bythebook.threads.model import CitedChunk
from bythebook.threads.review import Review
from bythebook.threads.store import Threads
from tests.support.databases import tell
from tests.support.made_turns import NOON, answer, citation, keep, refusal

LATER = NOON + timedelta(hours=1)


def test_what_was_refused_or_barely_answered(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        threads, review = Threads(database), Review(database)
        old, new = refusal("What is a bank?"), refusal("What is a loan?", at=LATER)
        low = answer("Who was first?", level="low", disclaimer="Only lightly.")
        first = await keep(threads, new, low, answer(), key_id="a")
        second = await keep(threads, old, key_id="b")
        await keep(threads, refusal("Elsewhere?", book_id="dark"), book_id="dark")
        refused = await review.refused("light")
        assert [(turn.thread_id, turn.asked) for turn in refused] == [(second, old.query), (first, new.query)]
        assert refused[0].answer == old
        assert [turn.asked for turn in await review.refused("light", since=LATER)] == [new.query]
        assert [turn.answer for turn in await review.low_confidence("light")] == [low]
        await threads.delete(second, "b")
        assert [turn.asked for turn in await review.refused("light")] == [new.query]

    tell(database_address, folder, story)


def test_what_an_answer_quotes_from_a_chunk(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        threads, review = Threads(database), Review(database)
        one, other = citation(1, "c1"), citation(1, "c2")
        thread_id = await keep(threads, answer(citations=(one, one, other)))
        (quoted,) = await review.quoted("light", ["c1", "unknown"])
        assert (quoted.cited.thread_id, quoted.cited.turn, quoted.question) == (thread_id, 1, answer().query)
        assert quoted.citations == (one,)
        assert await review.quoted("dark", ["c1"]) == ()
        assert await review.quoted("light", []) == ()

    tell(database_address, folder, story)


def test_which_answers_an_edit_touches(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        threads, review = Threads(database), Review(database)
        two = answer(citations=(citation(1, "c1"), citation(1, "c1"), citation(1, "c2"), citation(2, "c3")))
        thread_id = await keep(threads, two, answer(citations=(citation(1, "c9"),)))
        await keep(threads, answer(book_id="dark"), book_id="dark")

        async def cited_in(book_id: str) -> list[CitedChunk]:
            return [one.cited for one in await review.quoted(book_id, await review.cited_chunks(book_id))]

        cited = await cited_in("light")
        assert [(one.turn, one.label, one.chunk_id) for one in cited] == [(1, 1, "c1"), (1, 1, "c2"), (1, 2, "c3"), (2, 1, "c9")]
        await review.mark([cited[1]], stale_since=NOON)
        await review.mark([cited[2]], stale_since=LATER)
        await review.mark([], stale_since=LATER)
        assert [one.stale_since for one in await cited_in("light")] == [None, NOON, LATER, None]
        assert await review.cited_chunks("light") == {"c1": False, "c2": True, "c3": True, "c9": False}
        first, second = await threads.turns(thread_id)
        assert (first.stale_since, first.stale_labels) == (NOON, (1, 2))
        assert (second.stale_since, second.stale_labels) == (None, ())
        assert [one.stale_since for one in await cited_in("dark")] == [None]
        assert [one.thread_id for one in await threads.list(None, stale=True)] == [thread_id]
        await review.mark(cited, stale_since=None)
        assert await threads.list(None, stale=True) == []

    tell(database_address, folder, story)
