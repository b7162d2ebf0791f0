"""Which of several books answers a question. Each is assessed by itself, on its own scale and with the same thresholds. The best
grounded one answers, and the others are listed with their assessments."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bythebook.errors import NO_BOOK, BookError, InvalidInput, NotFound, no_such_book
from bythebook.grounding.verdict import ConfidenceLevel

if TYPE_CHECKING:
    from bythebook.answering.answerer import Answerer
    from bythebook.answering.question import Question

ALL_BOOKS = "*"
MOST_BOOKS = 20
"""The most books that one question may be put to. Each is read closely, which takes as long as answering from one book."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookAssessment:
    """How surely one of several books answers the question. `relevance` is the average of its best passages, on the book's own
    scale; `score` is the best cosine, which is one scale for all books."""

    book_id: str
    title: str
    answers: bool
    confidence_level: ConfidenceLevel
    relevance: float
    score: float


def choose_several(there: Collection[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """The books that are named, or all of them."""
    if missing := [book_id for book_id in wanted if book_id != ALL_BOOKS and book_id not in there]:
        raise NotFound(no_such_book(missing[0], there))
    return tuple(sorted(there)) if ALL_BOOKS in wanted else tuple(wanted)


async def rank_books(answerer: Answerer, question: Question, book_ids: Sequence[str]) -> tuple[BookAssessment, ...]:
    """Ranks the best grounded book first: of those that answer, the one closest to the question. A book that cannot be searched
    now is left out while another one answers. If none does, its error is raised: otherwise the reader would be told that the
    books do not have it, although one was not searched."""
    wanted = tuple(dict.fromkeys(book_ids))
    if not wanted:
        raise NotFound(NO_BOOK)
    if len(wanted) > MOST_BOOKS:
        raise InvalidInput(f"At most {MOST_BOOKS} books can be asked at once, and these are {len(wanted)}: name fewer.")
    looks = (answerer.assess(replace(question, scope=replace(question.scope, book_id=book_id))) for book_id in wanted)
    seen = await asyncio.gather(*looks, return_exceptions=True)
    for one in seen:
        if isinstance(one, BaseException) and not isinstance(one, BookError):
            raise one
    assessed = [one for one in seen if isinstance(one, BookAssessment)]
    failed = [one for one in seen if isinstance(one, BookError)]
    if not any(one.answers for one in assessed):
        for error in failed:
            if not assessed or not isinstance(error, NotFound | InvalidInput):  # a book that was removed just now has nothing
                raise error
    return tuple(sorted(assessed, key=lambda one: (one.answers, one.score), reverse=True))
