"""Operations of `evaluate` and `questions draft`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bythebook.evaluation.files import CaseSet
from bythebook.evaluation.question_drafts import QuestionDraft
from bythebook.evaluation.question_drafts import draft_questions as propose_questions
from bythebook.evaluation.report import CaseDone, Report
from bythebook.evaluation.report import evaluate as run_evaluation
from bythebook.evaluation.run import Manner
from bythebook.wiring.reader import Library


async def evaluate(
    library: Library, *, book_id: str, given: CaseSet, manner: Manner, name: str
) -> AsyncIterator[CaseDone | Report]:
    """Evaluates a book. `name` is the questions' file, as the report shows it."""
    state = await library.search.book(book_id)
    async for event in run_evaluation(library.answerer, library.index, state, given, manner, name=name):
        yield event


async def draft_questions(library: Library, *, book_id: str, count: int) -> list[QuestionDraft]:
    return await propose_questions(library.index, await library.search.book(book_id), count)
