"""Threads in SQL. A turn is stored whole or not at all; one runs at a time in a thread, whichever process runs it.

A thread exists from its first stored turn on. For any key but its own, and for any other book, it does not exist.
"""

from __future__ import annotations

import builtins
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Select,
    String,
    Update,
    cast,
    delete,
    exists,
    func,
    select,
    true,
    update,
)

from bythebook.database.audit import Act, act
from bythebook.database.engine import Database, now
from bythebook.database.tables import cited, messages, threads, turns
from bythebook.errors import NotFound
from bythebook.threads.model import Lease, Message, NewTurn, StoredTurn, Thread, checked_title, read_thread_id
from bythebook.threads.rows import message_of, thread_of, turn_of
from bythebook.threads.turn_statements import find_said, no_thread, store, take

ANY_KEY: Final = "*"
"""Stands for a key's id: the operator sees the threads of all keys."""
LEASE = timedelta(seconds=30)
STORED = threads.c.turn_count > 0


class Threads:
    """Reads and writes threads. `lease` is how long a thread stays locked after the process that ran its turn died; a live
    process renews its lease well before."""

    def __init__(self, database: Database, *, lease: timedelta = LEASE) -> None:
        self._database = database
        self.lease_for = lease

    async def get(self, thread_id: str, key_id: str | None) -> Thread:
        wanted = select(threads).where(_own(thread_id, key_id))
        row = await self._database.run(lambda connection: connection.execute(wanted).first())
        if row is None:
            raise no_thread(thread_id)
        return thread_of(row, datetime.now(UTC))

    async def list(
        self,
        key_id: str | None,
        *,
        book_id: str | None = None,
        limit: int = 20,
        before: datetime | None = None,
        stale: bool = False,
    ) -> builtins.list[Thread]:
        """Threads, the latest used first. `before`: an `updated_at`, for the next page. `stale`: only threads with an answer
        that quotes what the book no longer says."""
        wanted = _whose(key_id) & STORED
        if book_id is not None:
            wanted &= threads.c.book_id == book_id
        if before is not None:
            wanted &= threads.c.updated_at < before
        if stale:
            wanted &= exists().where((cited.c.thread_id == threads.c.thread_id) & cited.c.stale_since.is_not(None))
        newest = select(threads).where(wanted).order_by(threads.c.updated_at.desc(), threads.c.thread_id).limit(limit)
        rows = await self._database.run(lambda connection: connection.execute(newest).all())
        return [thread_of(row, datetime.now(UTC)) for row in rows]

    async def rename(self, thread_id: str, key_id: str | None, title: str) -> None:
        await self._change(thread_id, update(threads).where(_own(thread_id, key_id)).values(title=checked_title(title)))

    async def delete(self, thread_id: str, key_id: str | None) -> None:
        """Deletes a thread for good. A turn that is running in it is not stored."""
        await self._change(thread_id, delete(threads).where(_own(thread_id, key_id)), act("thread deleted", thread_id))

    async def messages(self, thread_id: str, *, archived: bool = False, turn: int | None = None) -> tuple[Message, ...]:
        """Returns the transcript in order, with `archived` from its very beginning; or what of it belongs to one turn."""
        wanted = messages.c.thread_id == thread_id
        if turn is not None:
            wanted &= messages.c.turn == turn
        if not archived:
            wanted &= ~messages.c.archived
        in_order = select(messages).where(wanted).order_by(messages.c.turn, messages.c.position)
        rows = await self._database.run(lambda connection: connection.execute(in_order).all())
        return tuple(message_of(row) for row in rows)

    async def turns(self, thread_id: str, *, last: int | None = None, before: int | None = None) -> tuple[StoredTurn, ...]:
        """Returns the last turns, or all, oldest first. `before` limits them to lower numbers."""
        wanted = turns.c.thread_id == thread_id
        if before is not None:
            wanted &= turns.c.number < before
        newest = stored_turns().where(wanted).order_by(turns.c.number.desc()).limit(last)
        rows = await self._database.run(lambda connection: connection.execute(newest).all())
        return tuple(turn_of(row) for row in reversed(rows))

    async def turn(self, thread_id: str, number: int) -> StoredTurn:
        wanted = stored_turns().where((turns.c.thread_id == thread_id) & (turns.c.number == number))
        row = await self._database.run(lambda connection: connection.execute(wanted).first())
        if row is None:
            raise NotFound(f"The thread {thread_id} has no turn {number}.")
        return turn_of(row)

    async def lease(self, thread_id: str, token: str, *, book_id: str, key_id: str | None, history: int = 0) -> Lease | None:
        """Takes the lease for the thread's next turn, with the history of its last ones; None while another turn has it. A
        thread that does not exist begins."""
        return await self._database.run(
            lambda connection: take(
                connection, thread_id, token, book_id=book_id, key_id=key_id, lasts=self.lease_for, history=history
            )
        )

    async def find(self, said: str, *, book_id: str, key_id: str | None) -> str | None:
        """Finds the thread whose conversation has this digest and waits for its next turn."""
        return await self._database.run(
            lambda connection: find_said(connection, said, book_id=book_id, key_id=key_id, lasts=self.lease_for)
        )

    async def renew(self, thread_id: str, token: str) -> None:
        """Renews the lease of a running turn. A lost lease is reported when the turn is stored."""

        def extend(connection: Connection) -> None:
            end = now(connection) + self.lease_for
            connection.execute(update(threads).where(_leased(thread_id, token)).values(turn_expires_at=end))

        await self._database.run(extend)

    async def release(self, thread_id: str, token: str) -> None:
        """Gives the lease back without storing a turn. A thread without a turn is deleted, and so are those whose process died
        in the first."""

        def give_back(connection: Connection) -> None:
            dead = threads.c.turn_expires_at < now(connection)
            connection.execute(delete(threads).where(~STORED & (_leased(thread_id, token) | dead)))
            freed = {"turn_token": None, "turn_expires_at": None}
            connection.execute(update(threads).where(_leased(thread_id, token)).values(freed))

        await self._database.run(give_back)

    async def append(self, lease: Lease, turn: NewTurn) -> int:
        """Stores the whole turn and gives the lease back, in one transaction. Returns the turn's number."""
        await self._database.run(lambda connection: store(connection, lease, turn))
        return lease.turn_count + 1

    async def _change(self, thread_id: str, statement: Update | Delete, told: Act | None = None) -> None:
        def change(connection: Connection) -> int:
            changed = connection.execute(statement).rowcount
            if changed and told:
                told.write(connection)
            return changed

        if not await self._database.run(change):
            raise no_thread(thread_id)


def stored_turns() -> Select[Any]:
    """Selects turns, each with the time since when the book no longer has what a citation quotes, and which citations those
    are."""
    same = (cited.c.thread_id == turns.c.thread_id) & (cited.c.turn == turns.c.number)
    labels = func.aggregate_strings(cast(cited.c.label, String), ",")
    return select(
        turns,
        select(func.min(cited.c.stale_since)).where(same).scalar_subquery().label("stale_since"),
        select(labels).where(same & cited.c.stale_since.is_not(None)).scalar_subquery().label("stale_labels"),
    )


def _whose(key_id: str | None) -> ColumnElement[bool]:
    return true() if key_id == ANY_KEY else threads.c.key_id.is_not_distinct_from(key_id)


def _own(thread_id: str, key_id: str | None) -> ColumnElement[bool]:
    return (threads.c.thread_id == read_thread_id(thread_id)) & STORED & _whose(key_id)


def _leased(thread_id: str, token: str) -> ColumnElement[bool]:
    return (threads.c.thread_id == thread_id) & (threads.c.turn_token == token)
