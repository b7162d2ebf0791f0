"""Gaps: what readers asked and the book did not answer, or only barely, grouped by the nearest section. Made from stored
turns; the files for an author are in `gap_texts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bythebook.answering.answer import Answer
from bythebook.threads.model import StoredTurn
from bythebook.threads.reactions import Reactions
from bythebook.threads.review import Review

ELSEWHERE = "Off the subject"
"""The heading for questions that no section is near to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """A question, with how often and by how many readers it was asked. `ended` is the refusal's reason, or `low_confidence`."""

    question: str
    ended: str
    times: int
    threads: int
    relevance: float
    last_asked: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A section with the questions nearest to it, the most asked first."""

    page_title: str
    section: str
    source_url: str
    module: str
    chapter: int
    lesson: int
    questions: tuple[Unmet, ...]

    @property
    def times(self) -> int:
        return sum(question.times for question in self.questions)

    @property
    def title(self) -> str:
        return f"{self.page_title} › {self.section}" if self.section else self.page_title


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """An answer or a refusal that a reader rated wrong, and what the reader says is wrong with it."""

    thread_id: str
    turn: int
    question: str
    answer: str
    refused: bool
    reason: str
    lessons: tuple[str, ...]
    """The lessons it was answered from."""
    rated_at: datetime


_Place = tuple[str, str, str, str, int, int]


async def read_gaps(review: Review, book_id: str, *, since: datetime | None = None) -> list[Gap]:
    refused = await review.refused(book_id, since=since)
    return find_gaps([*refused, *await review.low_confidence(book_id, since=since)])


async def read_wrong_answers(reactions: Reactions, book_id: str, *, since: datetime | None = None) -> list[WrongAnswer]:
    return [
        WrongAnswer(
            thread_id=one.turn.thread_id,
            turn=one.turn.number,
            question=one.turn.answer.question or one.turn.answer.query,
            answer=one.turn.answer.answer,
            refused=one.turn.answer.refused,
            reason=one.rating.reason,
            lessons=tuple(dict.fromkeys(citation.source_file for citation in one.turn.answer.citations)),
            rated_at=one.rating.rated_at,
        )
        for one in await reactions.rated(book_id, right=False, since=since)
    ]


def find_gaps(turns: Sequence[StoredTurn]) -> list[Gap]:
    """Gaps, the most asked first and those off the subject last. What lies beyond a reader's filters is in the book, so it is not
    a gap."""
    places: dict[_Place, dict[tuple[str, str], list[StoredTurn]]] = {}
    for turn in turns:
        if turn.answer.reason != "outside_filters":
            asked = (_folded(turn.answer.question), turn.answer.reason or "low_confidence")
            places.setdefault(_place(turn.answer), {}).setdefault(asked, []).append(turn)
    gaps = [_gap(place, list(questions.values())) for place, questions in places.items()]
    return sorted(gaps, key=lambda gap: (gap.page_title == ELSEWHERE, -gap.times, gap.source_url))


def _folded(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip("?!. ")


def _place(answer: Answer) -> _Place:
    if answer.reason == "off_topic":
        return ELSEWHERE, "", "", "", 0, 0
    if answer.nearest:
        first = answer.nearest[0]
        section = first.heading_path[-1] if first.heading_path else ""
        return first.page_title, section, first.source_url, first.module, first.chapter, first.lesson
    if answer.citations:
        cited = answer.citations[0]
        return cited.page_title, cited.section, cited.source_url, "", 0, 0
    return ELSEWHERE, "", "", "", 0, 0


def _gap(place: _Place, questions: Sequence[Sequence[StoredTurn]]) -> Gap:
    page_title, section, source_url, module, chapter, lesson = place
    unmet = sorted(map(_unmet, questions), key=lambda one: (-one.times, -one.relevance, one.question))
    return Gap(
        page_title=page_title,
        section=section,
        source_url=source_url,
        module=module,
        chapter=chapter,
        lesson=lesson,
        questions=tuple(unmet),
    )


def _unmet(turns: Sequence[StoredTurn]) -> Unmet:
    latest = max(turns, key=lambda turn: turn.created_at)
    return Unmet(
        question=" ".join(latest.answer.question.split()),
        ended=latest.answer.reason or "low_confidence",
        times=len(turns),
        threads=len({turn.thread_id for turn in turns}),
        relevance=round(latest.answer.confidence.average_similarity, 4),
        last_asked=latest.created_at,
    )
