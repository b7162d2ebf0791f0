"""The errand of a reader who asks: one turn, event by event."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bythebook.answers import TurnEvent
from bythebook.turn import Question
from bythebook.wiring import Library


async def answer(library: Library, *, question: Question) -> AsyncIterator[TurnEvent]:
    async with library.answering() as answering:
        async for event in answering.answer(question):
            yield event
