"""Operations on threads: resuming one, and running its next turn, event by event. They are separate from `turns`, because a
question outside any thread need not import the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from bythebook.answering.answer import Answer
from bythebook.answering.assessment import rank_books
from bythebook.errors import NotFound
from bythebook.threads.conversation import Asked, ThreadEvent
from bythebook.wiring.author import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A stored thread, its book, and its last answer."""

    thread_id: str
    book_id: str
    last: Answer


async def resume(resources: Resources, *, thread_id: str, book_id: str | None) -> Resumed:
    thread = await resources.threads.get(thread_id, None)
    if book_id not in (None, thread.book_id):
        raise NotFound(f"The thread {thread.thread_id} belongs to the book '{thread.book_id}', not with '{book_id}'.")
    last = (await resources.threads.turns(thread.thread_id, last=1))[-1]
    return Resumed(thread_id=thread.thread_id, book_id=thread.book_id, last=last.answer)


async def converse(resources: Resources, *, asked: Asked, among: tuple[str, ...] = ()) -> AsyncIterator[ThreadEvent]:
    """Runs the thread's next turn. `among`: the best grounded of these books answers, in a new thread."""
    if among:
        assessed = await rank_books(resources.answerer, asked.question(), among)
        asked = replace(asked, scope=replace(asked.scope, book_id=assessed[0].book_id), books=assessed)
    async with aclosing(resources.conversation.turn(asked)) as events:
        async for event in events:
            yield event
