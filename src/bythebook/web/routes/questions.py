"""Questions for readers: those worth asking, and those to quiz oneself with, each with the book's own answer behind it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import StringConstraints

from bythebook.evaluation.study_questions import StudyQuestion
from bythebook.web.access import Reader
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId, Readable
from bythebook.web.responses import json_response
from bythebook.web.state import Current

router = APIRouter(prefix="/books/{book_id}", tags=["books"], responses=ERRORS)
MOST_LESSONS = 30
LessonPath = Annotated[Readable, StringConstraints(min_length=1, max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    id: str
    question: str
    source_file: str
    page_title: str
    by: Literal["author", "draft"]
    quote: str
    html: str
    """The HTML of the quote, safe to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionList:
    questions: tuple[QuestionView, ...]


@router.get("/questions", response_model=QuestionList, summary="Questions that the book answers, to ask or to learn by")
async def list_questions(
    book_id: Annotated[BookId, Path(description="The book's id.")],
    who: Reader,
    current: Current,
    lesson: Annotated[tuple[LessonPath, ...], Query(max_length=MOST_LESSONS, description="Only of these lessons.")] = (),
    purpose: Annotated[Literal["ask", "learn"], Query(description="`ask`: only what the tutor is sure to answer.")] = "ask",
    limit: Annotated[int, Query(ge=1, le=50)] = 4,
) -> Response:
    state = await current.resources.search.book(who.book(book_id))
    questions = current.resources.study_questions
    found = questions.worth_asking if purpose == "ask" else questions.to_learn
    shown = await asyncio.to_thread(_views, await found(state, lesson, limit))
    return json_response(QuestionList(questions=shown))


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
        )
        for one in questions
    )
