"""What readers do with a turn whose thread is deleted at the same moment. On both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.database.engine import Database
from bythebook.errors import NotFound
from bythebook.threads.reactions import Reactions
from bythebook.threads.store import Threads
from tests.support.databases import tell
from tests.support.made_turns import answer, keep


def test_a_turn_that_goes_while_it_is_rated_or_shared_is_not_there(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        threads, reactions = Threads(database), Reactions(database)
        turn = await threads.turn(await keep(threads, answer()), 1)
        await threads.delete(turn.thread_id, None)
        with pytest.raises(NotFound, match=turn.thread_id):
            await reactions.rate(turn, right=True, reason="")
        with pytest.raises(NotFound, match=turn.thread_id):
            await reactions.share(turn)

    tell(database_address, folder, story)
