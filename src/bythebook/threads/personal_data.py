"""A reader's personal data: exported, erased, and deleted after the configured time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, or_, select, true, update

from bythebook.database.audit import act
from bythebook.database.engine import Database, now, slices
from bythebook.database.tables import audit_log, key_usage, keys, ratings, threads
from bythebook.errors import InvalidInput, NotFound
from bythebook.plain import to_plain
from bythebook.threads.model import StoredTurn
from bythebook.threads.rows import thread_of
from bythebook.threads.store import STORED, Threads

ERASED = "erased"
EXPIRED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOwner:
    """Whose data: that of a key, with the readers of a public one; of the user that a client names; or of that user with that
    key. `book_id`: only what belongs to this book. `threads_only`: the key itself is left unchanged."""

    key_id: str | None = None
    user_id: str | None = None
    book_id: str | None = None
    threads_only: bool = False

    def __post_init__(self) -> None:
        if not self.key_id and not self.user_id:
            raise InvalidInput("Say whose data is meant: a key's id, or the user_id that a client sent.")

    @property
    def condition(self) -> ColumnElement[bool]:
        wanted: ColumnElement[bool] = true()
        if self.key_id:
            wanted &= or_(threads.c.key_id == self.key_id, threads.c.key_id.startswith(f"{self.key_id}:", autoescape=True))
        if self.user_id:
            wanted &= threads.c.user_id == self.user_id
        if self.book_id:
            wanted &= threads.c.book_id == self.book_id
        return wanted

    @property
    def whole_key(self) -> bool:
        """Whether the key itself is meant, not one of its users or books."""
        return bool(self.key_id and not self.user_id and not self.book_id and not self.threads_only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """How much was erased."""

    threads: int
    key_erased: bool


class PersonalData:
    """Exports, erases and expires what is stored about readers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = Threads(database)

    async def export(self, owner: DataOwner) -> AsyncIterator[dict[str, Any]]:
        """Yields one object at a time, each with its `kind`: the key, what it used and did, then every thread with its transcript
        and turns."""
        await self._database.run(act("data exported", owner.user_id or owner.key_id, book_id=owner.book_id).write)
        if owner.whole_key:
            for one in await self._database.run(lambda connection: _of_key(connection, owner.key_id or "")):
                yield one
        wanted = select(threads).where(owner.condition & STORED).order_by(threads.c.created_at, threads.c.thread_id)
        for row in await self._database.run(lambda connection: connection.execute(wanted).all()):
            turns = [_without_others(turn, owner.book_id) for turn in await self._threads.turns(row.thread_id)]
            messages = await self._threads.messages(row.thread_id, archived=True)
            told = {"user_id": row.user_id, "messages": messages, "turns": turns, "ratings": await self._ratings(row.thread_id)}
            yield {"kind": "thread", **to_plain(thread_of(row, datetime.now(UTC))), **to_plain(told)}

    async def _ratings(self, thread_id: str) -> list[dict[str, Any]]:
        wanted = select(ratings.c.turn, ratings.c.right, ratings.c.reason, ratings.c.rated_at).where(
            ratings.c.thread_id == thread_id
        )
        rows = await self._database.run(lambda connection: connection.execute(wanted.order_by(ratings.c.turn)).all())
        return [dict(row._mapping) for row in rows]

    async def erase(self, owner: DataOwner) -> Erasure:
        """Erases for good. A turn that is running is not stored. A key stays, revoked and without its name: if it were deleted,
        a service whose only key it was would be open to all."""
        told = act("data erased", owner.user_id or owner.key_id, book_id=owner.book_id)

        def erase(connection: Connection) -> Erasure:
            gone = connection.execute(delete(threads).where(owner.condition)).rowcount
            erased = False
            if owner.whole_key:
                connection.execute(delete(key_usage).where(key_usage.c.key_id == owner.key_id))
                named = update(keys).where(keys.c.key_id == owner.key_id)
                changed = connection.execute(named.values(name=ERASED, last_used_at=None))
                connection.execute(named.where(keys.c.revoked_at.is_(None)).values(revoked_at=datetime.now(UTC)))
                mentioned = (audit_log.c.subject == owner.key_id) & (audit_log.c.action == "key created")
                connection.execute(update(audit_log).where(mentioned).values(details={}))
                erased = changed.rowcount > 0
            if not gone and not erased:
                raise NotFound("Nothing is stored about this key or user.")
            told.write(connection)
            return Erasure(threads=gone, key_erased=erased)

        return await self._database.run(erase)

    async def expire(self, days: int) -> int:
        """Deletes threads that have had no turn for this many days, some hundreds at a time, and returns how many. A thread in
        use is kept."""
        removed = 0

        def expire(connection: Connection) -> int:
            moment = now(connection)
            old = STORED & (threads.c.updated_at < moment - timedelta(days=days))
            free = threads.c.turn_token.is_(None) | (threads.c.turn_expires_at < moment)
            found = list(connection.execute(select(threads.c.thread_id).where(old & free).limit(EXPIRED_AT_ONCE)).scalars())
            for some in slices(found):
                connection.execute(delete(threads).where(threads.c.thread_id.in_(some) & old & free))
            if found:
                told.write(connection)
            return len(found)

        told = act("threads expired", f"after {days} days")
        while some := await self._database.run(expire):
            removed += some
        return removed


def _without_others(turn: StoredTurn, book_id: str | None) -> StoredTurn:
    """For whoever has one book alone: the turn without the other books that were asked with it."""
    if book_id is None:
        return turn
    books = tuple(one for one in turn.answer.books if one.book_id == book_id)
    return replace(turn, answer=replace(turn.answer, books=books))


def _of_key(connection: Connection, key_id: str) -> list[dict[str, Any]]:
    shown = select(keys.c.key_id, keys.c.name, keys.c.scopes, keys.c.book_id, keys.c.created_at, keys.c.last_used_at)
    used = select(key_usage.c.day, key_usage.c.requests, key_usage.c.tokens).where(key_usage.c.key_id == key_id)
    done = select(audit_log).where(or_(audit_log.c.actor == f"key {key_id}", audit_log.c.subject == key_id))
    found = (
        ("key", shown.where(keys.c.key_id == key_id)),
        ("usage", used.order_by(key_usage.c.day)),
        ("audit_entry", done.order_by(audit_log.c.entry_id)),
    )
    return [{"kind": kind, **to_plain(dict(row._mapping))} for kind, wanted in found for row in connection.execute(wanted).all()]
