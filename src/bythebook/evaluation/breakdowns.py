"""Marks broken down by confidence, by result and by chapter. Pure; the page draws the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bythebook.evaluation.intervals import wilson
from bythebook.evaluation.marks import Mark

EDGES = (0.0, 0.3, 0.6, 0.75, 0.85, 1.0)
"""Where relevance changes its meaning: document A's threshold, and document E's levels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """If the most confident `coverage` of the questions were answered, `risk` of them would be ones the book does not answer."""

    coverage: float
    risk: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A rate with its interval."""

    label: str
    at: float
    right: int
    count: int

    @property
    def value(self) -> float:
        return self.right / self.count if self.count else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.right, self.count)


def judged(marks: Sequence[Mark]) -> list[Mark]:
    """The questions that confidence alone decides: filters have a rule of their own."""
    return [mark for mark in marks if mark.expected is not None and not mark.filtered and not mark.failure]


def risk_coverage(marks: Sequence[Mark]) -> list[Point]:
    """From the most confident question to all of them. Questions of equal confidence are added together."""
    ordered = sorted(judged(marks), key=lambda mark: -mark.confidence)
    points: list[Point] = []
    wrong = 0
    for done, mark in enumerate(ordered, start=1):
        wrong += not mark.expected
        if done == len(ordered) or ordered[done].confidence != mark.confidence:
            points.append(Point(coverage=done / len(ordered), risk=wrong / done, confidence=mark.confidence))
    return points


def operating_point(marks: Sequence[Mark]) -> Point | None:
    """The tutor's point on that curve: what it really answered."""
    known = judged(marks)
    answered = [mark for mark in known if mark.answered]
    if not answered:
        return None
    wrong = sum(not mark.expected for mark in answered)
    least = min(mark.confidence for mark in answered)
    return Point(coverage=len(answered) / len(known), risk=wrong / len(answered), confidence=least)


def reliability(marks: Sequence[Mark]) -> list[Share]:
    """How often the book answers questions of a confidence; `at` is their mean confidence."""
    shares = []
    for low, high in pairwise(EDGES):
        inside = [mark for mark in judged(marks) if low <= mark.confidence < high or (mark.confidence == high == 1.0)]
        if inside:
            mean = sum(mark.confidence for mark in inside) / len(inside)
            answerable = sum(bool(mark.expected) for mark in inside)
            shares.append(Share(label=f"{low:.2f} to {high:.2f}", at=mean, right=answerable, count=len(inside)))
    return shares


def confusion(marks: Sequence[Mark]) -> dict[str, Counter[str]]:
    """Counts what should have happened against what did."""
    table: dict[str, Counter[str]] = {}
    for mark in marks:
        if mark.expected is not None and not mark.failure:
            table.setdefault(_wanted(mark), Counter())[_given(mark)] += 1
    order = ("answered", "not_in_book", "outside_filters", "off_topic", "nothing_found", "unsupported", "refused")
    return {name: table[name] for name in order if name in table}


def _wanted(mark: Mark) -> str:
    return "answered" if mark.expected else mark.expected_reason or "refused"


def _given(mark: Mark) -> str:
    return "answered" if mark.answered else mark.reason or "refused"


def by_chapter(marks: Sequence[Mark]) -> list[Share]:
    """Shares in the book's order; questions without a lesson are left out."""
    chapters: dict[str, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: mark.order):
        if mark.chapter and mark.right is not None:
            chapters.setdefault(mark.chapter, []).append(mark)
    return [
        Share(label=name, at=0.0, right=sum(bool(mark.right) for mark in some), count=len(some))
        for name, some in chapters.items()
    ]


def worst(marks: Sequence[Mark]) -> list[Mark]:
    """Returns the questions that were not right: first wrong answers, the most confident first, then wrong refusals."""
    wrong = [mark for mark in marks if mark.right is False]
    return sorted(wrong, key=lambda mark: (not mark.answered, -mark.confidence if mark.answered else mark.confidence, mark.id))
