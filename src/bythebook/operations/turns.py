"""One turn outside any thread, event by event. Separate from `reader`, so that a search need not import what answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bythebook.answering.answer import TurnEvent
from bythebook.answering.question import Question
from bythebook.wiring.reader import Library


async def answer(library: Library, *, question: Question) -> AsyncIterator[TurnEvent]:
    async for event in library.answerer.answer(question):
        yield event
