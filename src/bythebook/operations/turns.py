"""One turn outside any thread, event by event. Separate from `reader`, so that a search need not import what answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from bythebook.answering.answer import TurnEvent
from bythebook.answering.assessment import rank_books
from bythebook.answering.question import Question
from bythebook.wiring.reader import Library


async def answer(library: Library, *, question: Question, among: tuple[str, ...] = ()) -> AsyncIterator[TurnEvent]:
    """Runs one turn. `among`: the best grounded of these books answers, in place of the question's own."""
    if among:
        assessed = await rank_books(library.answerer, question, among)
        question = replace(question, scope=replace(question.scope, book_id=assessed[0].book_id), books=assessed)
    async for event in library.answerer.answer(question):
        yield event
