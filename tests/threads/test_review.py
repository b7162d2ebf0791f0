"""What an author learns from everyone's threads, on both databases."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from bythebook.database.engine import Database
from bythebook.threads.review import Review
from bythebook.threads.store import Threads
from tests.support.databases import tell
from tests.support.made_turns import NOON, answer, keep, refusal

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
