"""Asks every question, several at once, as a reader would. Yields each outcome as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import islice

from bythebook.answering.answer import Answer, Answered, Found, Refused, Sentence
from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question, ScoreScale
from bythebook.errors import Unavailable
from bythebook.evaluation.cases import Case
from bythebook.grounding.verdict import DEFAULT_SCORE_THRESHOLD
from bythebook.retrieval.query import SearchResult

AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the questions are asked: as the settings say."""

    top_k: int = 5
    score_threshold: float = DEFAULT_SCORE_THRESHOLD
    score_scale: ScoreScale = "relevance"
    at_once: int = AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one question ended. Without an answer, `failure` says why it could not be asked."""

    case: Case
    answer: Answer | None
    results: tuple[SearchResult, ...] = ()
    first_sentence_ms: float | None = None
    total_ms: float = 0.0
    failure: str = ""


async def ask_all(answerer: Answerer, book_id: str, cases: Sequence[Case], manner: Manner) -> AsyncIterator[Outcome]:
    """Yields outcomes as they end, in no order. A model that does not answer fails its question and no other."""
    waiting = iter(cases)
    asked = {asyncio.create_task(_ask(answerer, book_id, case, manner)) for case in islice(waiting, manner.at_once)}
    try:
        while asked:
            done, asked = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
            # After that, so that the time of a question asked alone does not include judging the one before.
            asked |= {asyncio.create_task(_ask(answerer, book_id, case, manner)) for case in islice(waiting, len(done))}
    finally:
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def _ask(answerer: Answerer, book_id: str, case: Case, manner: Manner) -> Outcome:
    question = Question(
        text=case.question,
        scope=case.scope(book_id, manner.top_k),
        score_threshold=manner.score_threshold,
        score_scale=manner.score_scale,
        history=case.history,
    )
    results: tuple[SearchResult, ...] = ()
    first_sentence_ms: float | None = None
    began = time.perf_counter()
    try:
        async for event in answerer.answer(question):
            elapsed_ms = round(1000 * (time.perf_counter() - began), 1)
            match event:
                case Found():
                    results = (*event.results, *event.beyond)
                case Sentence() if first_sentence_ms is None:
                    first_sentence_ms = elapsed_ms
                case Answered() | Refused():
                    return Outcome(
                        case=case,
                        answer=event.answer,
                        results=results,
                        first_sentence_ms=first_sentence_ms,
                        total_ms=elapsed_ms,
                    )
    except Unavailable as error:
        return Outcome(case=case, answer=None, results=results, failure=str(error))
    raise AssertionError("a turn ends with its answer")
