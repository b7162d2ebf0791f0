"""What all threads tell an author about one book: which questions were refused, and which were answered with a disclaimer."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement

from bythebook.database.engine import Database
from bythebook.database.tables import turns
from bythebook.threads.model import StoredTurn
from bythebook.threads.rows import turn_of
from bythebook.threads.store import stored_turns


class Review:
    """Looks through all threads of a book for refused turns and uncertain answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def refused(self, book_id: str, *, since: datetime | None = None) -> tuple[StoredTurn, ...]:
        """Returns turns that ended in a refusal, oldest first."""
        return await self._turns(book_id, turns.c.refused, since)

    async def low_confidence(self, book_id: str, *, since: datetime | None = None) -> tuple[StoredTurn, ...]:
        """Returns turns that were answered with a disclaimer."""
        return await self._turns(book_id, ~turns.c.refused & (turns.c.confidence_level == "low"), since)

    async def _turns(self, book_id: str, wanted: ColumnElement[bool], since: datetime | None) -> tuple[StoredTurn, ...]:
        here = (turns.c.book_id == book_id) & wanted
        if since is not None:
            here &= turns.c.created_at >= since
        found = stored_turns().where(here).order_by(turns.c.created_at, turns.c.thread_id, turns.c.number)
        rows = await self._database.run(lambda connection: connection.execute(found).all())
        return tuple(turn_of(row) for row in rows)
