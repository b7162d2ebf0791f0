"""What readers do with a stored turn: they rate it, and share it by a link that they can revoke."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, delete, select
from sqlalchemy.exc import IntegrityError

from bythebook.database.engine import Database, upsert
from bythebook.database.tables import ratings, shares, turns
from bythebook.errors import NotFound, StorageFailure
from bythebook.threads.model import StoredTurn
from bythebook.threads.rows import turn_of
from bythebook.threads.store import stored_turns
from bythebook.threads.turn_statements import no_thread

ONE_TURN = ("thread_id", "turn")
OPENS_NOTHING = "This link opens nothing: its owner has revoked it, or deleted the thread, or its book is not for this key."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A reader's rating of a turn: whether it was right, and why not."""

    right: bool
    reason: str
    rated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedTurn:
    """A turn that a reader rated, with the rating."""

    turn: StoredTurn
    rating: Rating


class Reactions:
    """Ratings and shared links. The caller has checked whose thread it is."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rate(self, turn: StoredTurn, *, right: bool, reason: str) -> None:
        """Stores a rating; it replaces an earlier one."""
        here = {"thread_id": turn.thread_id, "turn": turn.number}
        row = {**here, "right": right, "reason": reason, "rated_at": datetime.now(UTC)}
        await self._keep(ratings, row, turn)

    async def withdraw(self, turn: StoredTurn) -> None:
        here = (ratings.c.thread_id == turn.thread_id) & (ratings.c.turn == turn.number)
        await self._database.run(lambda connection: connection.execute(delete(ratings).where(here)))

    async def of_thread(self, thread_id: str) -> tuple[Mapping[int, Rating], frozenset[int]]:
        """The ratings of a thread by turn, and which of its turns are shared."""

        def read(connection: Connection) -> tuple[Mapping[int, Rating], frozenset[int]]:
            rated = connection.execute(select(ratings).where(ratings.c.thread_id == thread_id)).all()
            shared = connection.execute(select(shares.c.turn).where(shares.c.thread_id == thread_id)).scalars()
            found = {row.turn: Rating(right=row.right, reason=row.reason, rated_at=row.rated_at) for row in rated}
            return found, frozenset(shared)

        return await self._database.run(read)

    async def rated(self, book_id: str, *, right: bool, since: datetime | None = None) -> tuple[RatedTurn, ...]:
        """The turns of a book that readers rated right, or wrong; the latest first."""
        same = (ratings.c.thread_id == turns.c.thread_id) & (ratings.c.turn == turns.c.number)
        wanted = (turns.c.book_id == book_id) & (ratings.c.right.is_(right))
        if since is not None:
            wanted &= ratings.c.rated_at >= since
        columns = (ratings.c.right, ratings.c.reason, ratings.c.rated_at)
        found = stored_turns().add_columns(*columns).join(ratings, same).where(wanted)
        latest = found.order_by(ratings.c.rated_at.desc(), turns.c.thread_id, turns.c.number)
        rows = await self._database.run(lambda connection: connection.execute(latest).all())
        return tuple(
            RatedTurn(turn=turn_of(row), rating=Rating(right=row.right, reason=row.reason, rated_at=row.rated_at)) for row in rows
        )

    async def share(self, turn: StoredTurn) -> str:
        """Makes a link and returns its token; an earlier link stops working."""
        token = secrets.token_urlsafe(24)
        row = {
            "thread_id": turn.thread_id,
            "turn": turn.number,
            "token_hash": _hash(token),
            "shared_at": datetime.now(UTC),
        }
        await self._keep(shares, row, turn)
        return token

    async def revoke(self, turn: StoredTurn) -> None:
        here = (shares.c.thread_id == turn.thread_id) & (shares.c.turn == turn.number)
        await self._database.run(lambda connection: connection.execute(delete(shares).where(here)))

    async def shared(self, token: str) -> StoredTurn:
        same = (shares.c.thread_id == turns.c.thread_id) & (shares.c.turn == turns.c.number)
        wanted = stored_turns().join(shares, same).where(shares.c.token_hash == _hash(token))
        row = await self._database.run(lambda connection: connection.execute(wanted).first())
        if row is None:
            raise NotFound(OPENS_NOTHING)
        return turn_of(row)

    async def _keep(self, table: Table, row: dict[str, Any], turn: StoredTurn) -> None:
        try:
            await self._database.run(lambda connection: upsert(connection, table, [row], keys=ONE_TURN))
        except StorageFailure as failure:
            if isinstance(failure.__cause__, IntegrityError):  # the thread was deleted since the turn was read
                raise no_thread(turn.thread_id) from failure
            raise


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
