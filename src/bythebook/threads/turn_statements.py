"""The SQL of a turn: its lease, its history, and storing it whole.

The statements are built once, when this is imported: building them for every turn takes longer than running them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Integer, String, bindparam, insert, select, update

from bythebook.database.engine import insert_absent, now
from bythebook.database.tables import cited, messages, threads, turns
from bythebook.errors import Busy, NotFound
from bythebook.plain import to_plain
from bythebook.threads.model import SHOWN_MESSAGES, Lease, NewTurn, title_of
from bythebook.threads.rows import exchange_of, message_row

THIS = threads.c.thread_id == bindparam("of_thread")
OWN = (
    THIS & (threads.c.book_id == bindparam("of_book")) & threads.c.key_id.is_not_distinct_from(bindparam("of_key", type_=String))
)
FREE = (
    threads.c.turn_token.is_(None)
    | (threads.c.turn_expires_at < bindparam("moment"))
    | (threads.c.turn_expires_at > bindparam("beyond"))  # further ahead than any lease: the clock was set back
)
HELD = (
    THIS
    & (threads.c.turn_token == bindparam("of_token"))
    & (threads.c.turn_count == bindparam("of_turns"))
    & (threads.c.book_id == bindparam("of_book"))  # renamed meanwhile, the book has chunks with other ids
)
OLD = (messages.c.turn > 0) & (messages.c.turn <= bindparam("until_turn")) & ~messages.c.archived

TAKE = (
    update(threads)
    .where(OWN & FREE)
    .values(turn_token=bindparam("token"), turn_expires_at=bindparam("until"))
    .returning(threads.c.turn_count, threads.c.said, threads.c.metadata)
)
SAID = (
    select(threads.c.thread_id)
    .where(
        (threads.c.said == bindparam("of_said"))
        & (threads.c.book_id == bindparam("of_book"))
        & threads.c.key_id.is_not_distinct_from(bindparam("of_key", type_=String))
        & FREE
    )
    .order_by(threads.c.updated_at.desc(), threads.c.thread_id)
    .limit(1)
)
THERE, THERE_AS_OWN = select(threads.c.book_id).where(THIS), select(threads.c.thread_id).where(OWN)
HISTORY = (
    select(turns.c.answer)
    .where(turns.c.thread_id == bindparam("of_thread"))
    .order_by(turns.c.number.desc())
    .limit(bindparam("history", type_=Integer))
)
END = update(threads).where(HELD)
ADD_TURN, ADD_MESSAGES, ADD_CITED = insert(turns), insert(messages), insert(cited)
ARCHIVE = update(messages).where((messages.c.thread_id == bindparam("of_thread")) & OLD).values(archived=True)


def take(
    connection: Connection, thread_id: str, token: str, *, book_id: str, key_id: str | None, lasts: timedelta, history: int
) -> Lease | None:
    """Locks the thread for one turn, and makes one that does not exist. None while another turn has the lock; NotFound where it
    belongs to another key or book."""
    moment = now(connection)
    own = {"of_thread": thread_id, "of_book": book_id, "of_key": key_id}
    taken = connection.execute(
        TAKE, {**own, "moment": moment, "beyond": moment + 2 * lasts, "token": token, "until": moment + lasts}
    ).first()
    if taken is not None:
        rows = connection.execute(HISTORY, {"of_thread": thread_id, "history": history}).all()
        said = tuple(exchange_of(row.answer) for row in reversed(rows))
        return Lease(
            thread_id=thread_id,
            book_id=book_id,
            token=token,
            turn_count=taken.turn_count,
            history=said,
            said=taken.said,
            metadata=taken.metadata,
        )
    row: dict[str, Any] = {"thread_id": thread_id, "book_id": book_id, "key_id": key_id, "metadata": {}, "turn_count": 0}
    row |= {"turn_token": token, "turn_expires_at": moment + lasts, "created_at": moment, "updated_at": moment}
    if insert_absent(connection, threads, row, keys=("thread_id",)):
        return Lease(thread_id=thread_id, book_id=book_id, token=token)
    if connection.execute(THERE_AS_OWN, own).first() is None:
        raise no_thread(thread_id)
    return None


def find_said(connection: Connection, said: str, *, book_id: str, key_id: str | None, lasts: timedelta) -> str | None:
    """The latest thread with exactly this conversation, in which no turn is running."""
    moment = now(connection)
    wanted = {"of_said": said, "of_book": book_id, "of_key": key_id, "moment": moment, "beyond": moment + 2 * lasts}
    found: str | None = connection.execute(SAID, wanted).scalar()
    return found


def store(connection: Connection, lease: Lease, turn: NewTurn) -> None:
    """Stores all of the turn and gives the lease back. Raises Busy or NotFound if the lease is lost."""
    held = {"of_thread": lease.thread_id, "of_book": lease.book_id, "of_token": lease.token, "of_turns": lease.turn_count}
    if not connection.execute(END, {**held, **_changes(lease, turn)}).rowcount:
        raise _lost(connection, lease)
    answer, number = turn.answer, lease.turn_count + 1
    place: dict[str, Any] = {"thread_id": lease.thread_id, "book_id": answer.book_id}
    row = {
        **place,
        "number": number,
        "refused": answer.refused,
        "confidence_level": answer.confidence.confidence_level,
        "answer": to_plain(answer),
        "trace": to_plain(turn.trace),
        "created_at": answer.created_at,
    }
    connection.execute(ADD_TURN, row)
    spoken = [message_row(one, lease.thread_id, position) for position, one in enumerate(turn.messages)]
    connection.execute(ADD_MESSAGES, spoken)
    chunks = {(one.label, one.chunk_id) for sentence in answer.sentences for one in sentence.citations}
    if chunks:
        connection.execute(ADD_CITED, [{**place, "turn": number, "label": label, "chunk_id": id} for label, id in chunks])
    if number > SHOWN_MESSAGES // 2:
        connection.execute(ARCHIVE, {"of_thread": lease.thread_id, "until_turn": number - SHOWN_MESSAGES // 2})


def _changes(lease: Lease, turn: NewTurn) -> dict[str, Any]:
    """The columns of the thread that the turn changes."""
    number = lease.turn_count + 1
    changes: dict[str, Any] = {"turn_count": number, "turn_token": None, "turn_expires_at": None}
    changes["updated_at"] = turn.answer.created_at
    if number == 1:
        asked, understood = turn.answer.query, turn.answer.question
        named = understood if understood.startswith(f"{asked} “") else asked  # with the words of the book that it is about
        changes |= {"title": title_of(named), "created_at": turn.messages[0].timestamp}
    if turn.topic_summary is not None:
        changes["topic_summary"] = turn.topic_summary
    if turn.metadata:
        changes["metadata"] = turn.metadata
        if user_id := turn.metadata.get("user_id"):
            changes["user_id"] = str(user_id)
    changes["said"] = turn.said
    return changes


def _lost(connection: Connection, lease: Lease) -> Busy | NotFound:
    there = connection.execute(THERE, {"of_thread": lease.thread_id}).first()
    if there is None:
        return NotFound(f"The thread {lease.thread_id} was deleted while its turn ran; nothing of the turn was kept.")
    if there.book_id != lease.book_id:
        return Busy(f"The book was renamed to '{there.book_id}' while this turn ran; it was not kept. Ask again.")
    return Busy(f"Another turn of the thread {lease.thread_id} began before this one ended; this one was not kept. Ask again.")


def no_thread(thread_id: str) -> NotFound:
    return NotFound(f"There is no thread {thread_id}. 'bythebook threads list' and GET /threads list those there are.")
