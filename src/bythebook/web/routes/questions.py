"""Questions for readers: those worth asking, and those to quiz oneself with, each with the book's own answer behind it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import StringConstraints

from bythebook.evaluation.question_store import StudyQuestion
from bythebook.evaluation.study_questions import Spend
from bythebook.web.access import Principal, Reader, take_turn
from bythebook.web.problems import ERRORS, TooManyRequests
from bythebook.web.requests import BookId, Readable
from bythebook.web.responses import json_response
from bythebook.web.state import Current, State

router = APIRouter(prefix="/books/{book_id}", tags=["books"], responses=ERRORS)
MOST_LESSONS = 30
PURPOSES = (
    "`ask`: only what the tutor is sure to answer. `learn`: for a quiz, drafted by the model where one is configured and the key "
    "may use it, and checked as an answer is."
)
LessonPath = Annotated[Readable, StringConstraints(min_length=1, max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question with the quote that answers it."""

    id: str
    question: str
    source_file: str
    page_title: str
    by: Literal["author", "model", "draft"]
    quote: str
    html: str
    """The HTML of the quote, safe to show."""
    answer: str = ""
    """The answer in a model's words, checked against the quote; empty where the quote alone is the answer."""
    answer_html: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionList:
    """Questions for readers."""

    questions: tuple[QuestionView, ...]


@router.get("/questions", response_model=QuestionList, summary="Questions that the book answers, to ask or to learn by")
async def list_questions(
    book_id: Annotated[BookId, Path(description="The book's id.")],
    request: Request,
    who: Reader,
    current: Current,
    lesson: Annotated[tuple[LessonPath, ...], Query(max_length=MOST_LESSONS, description="Only of these lessons.")] = (),
    purpose: Annotated[Literal["ask", "learn"], Query(description=PURPOSES)] = "ask",
    limit: Annotated[int, Query(ge=1, le=50)] = 4,
) -> Response:
    state = await current.resources.search.book(who.book(book_id))
    questions = current.resources.study_questions
    if purpose == "ask":
        found = await questions.worth_asking(state, lesson, limit)
    else:
        spend = await _spender(who, request, current) if questions.asks_model else None
        found = await questions.quiz(state, lesson, limit, spend)
    return json_response(QuestionList(questions=await asyncio.to_thread(_views, found)))


async def _spender(who: Principal, request: Request, current: State) -> Spend | None:
    """Counts a quiz's tokens for the key. None where the key may have no answer now: the quiz is then drawn from the text."""
    try:
        await take_turn(who, request, current)
    except TooManyRequests:
        return None
    return partial(current.quotas.spend, who.key_id)


def _views(questions: tuple[StudyQuestion, ...]) -> tuple[QuestionView, ...]:
    from bythebook.web.render.html import render_passage  # late: it brings a highlighter for every language

    return tuple(
        QuestionView(
            id=one.id,
            question=one.question,
            source_file=one.source_file,
            page_title=one.page_title,
            by=one.by,
            quote=one.quote,
            html=render_passage(one.quote, preface=f"{one.table_head}\n" if one.table_head else ""),
            answer=one.answer,
            answer_html=render_passage(one.answer) if one.answer else "",
        )
        for one in questions
    )
