"""A thread of many turns, without the work of answering each."""

from __future__ import annotations

from dataclasses import replace

from bythebook.threads.model import NewTurn
from bythebook.threads.store import Threads


async def lengthen(threads: Threads, thread_id: str, *, turns: int) -> None:
    """The thread's one turn, told over and over, each with its number behind the question."""
    thread = await threads.get(thread_id, None)
    (told,) = await threads.turns(thread_id)
    user, assistant = [message for message in await threads.messages(thread_id) if message.spoken]
    for number in range(2, turns + 1):
        question = f"{told.answer.query} ({number})"
        lease = await threads.lease(thread_id, f"turn {number}", book_id=thread.book_id, key_id=None)
        assert lease is not None
        said = (replace(user, turn=number, content=question), replace(assistant, turn=number))
        await threads.append(lease, NewTurn(answer=replace(told.answer, query=question), messages=said))
