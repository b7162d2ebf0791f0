"""Errands of an author who wants to know how good the book's tutor is."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bythebook.evaluation.asking import Manner
from bythebook.evaluation.drafts import QuestionDraft
from bythebook.evaluation.drafts import draft_questions as propose_questions
from bythebook.evaluation.reading import CaseSet
from bythebook.evaluation.report import Asked, Report
from bythebook.evaluation.report import evaluate as run_evaluation
from bythebook.wiring import Library


async def evaluate(library: Library, *, book_id: str, given: CaseSet, manner: Manner, name: str) -> AsyncIterator[Asked | Report]:
    """`name` is the questions' file, for the report to tell."""
    state = await library.search.book(book_id)
    async with library.answering() as answering:
        async for event in run_evaluation(answering, library.index, state, given, manner, name=name):
            yield event


async def draft_questions(library: Library, *, book_id: str, count: int) -> list[QuestionDraft]:
    return await propose_questions(library.index, await library.search.book(book_id), count)
