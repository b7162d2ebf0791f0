"""Maps the ranking's scores and the signals to relevance: one fit for all books, from questions whose answers are known.

There are two probabilities. Whether the book answers decides between answering and refusing; whether the answer says what was
asked decides how sure the tutor says it is. Relevance combines them, so that document E's levels are promises: 0.60 is the line
between answering and refusing, 0.75 and 0.85 are where answers are right often enough to be called medium and high.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bythebook.grounding.calibration import Calibration, RankedSignals, Signals

LINE, MEDIUM, HIGH, TOP = 0.60, 0.75, 0.85, 0.98
FOREIGN, BESIDE = 0.30, 0.05
"""The highest relevance of a question about another subject, and how far below the subject's edge it must be."""
USUAL_SPREAD = 0.5
"""How much relevance a result gains for a search score above the pool's mean, where the book has no fit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A logistic regression over standardised signals."""

    weights: tuple[float, ...]
    intercept: float

    def chance(self, standard: np.ndarray[Any, Any]) -> float:
        return 1.0 / (1.0 + math.exp(-float(standard @ np.array(self.weights)) - self.intercept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerability:
    """The fit for all books. It is stored with the ranking's weights, because it was fitted to their scores. `line` is the
    probability of being answerable from which a question is answered; `medium` and `high` are the probabilities of being right
    from which an answer is called so."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    answerable: Regression
    right: Regression
    line: float
    medium: float
    high: float

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Answerability:
        return cls(
            names=tuple(stored["names"]),
            means=tuple(stored["means"]),
            spreads=tuple(stored["spreads"]),
            answerable=Regression(weights=tuple(stored["answerable"][:-1]), intercept=stored["answerable"][-1]),
            right=Regression(weights=tuple(stored["right"][:-1]), intercept=stored["right"][-1]),
            line=stored["line"],
            medium=stored["medium"],
            high=stored["high"],
        )

    def relevance(self, signals: RankedSignals) -> float:
        """The relevance of the question as a whole."""
        values = np.array([getattr(signals, name) for name in self.names])
        standard = np.clip((values - self.means) / self.spreads, -4.0, 4.0)
        answerable = self.answerable.chance(standard)
        if answerable < self.line:
            return LINE * answerable / self.line
        steps = (0.0, self.medium, self.high, 1.0)
        return float(np.interp(self.right.chance(standard), steps, (LINE, MEDIUM, HIGH, TOP)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedScale:
    """Relevance in one book: the fit for all books, and what the book's own text adds. `subject` is the cosine below which a
    question is about something else."""

    fit: Answerability
    spread: float = USUAL_SPREAD
    subject: float = 0.0

    def relevance(self, signals: RankedSignals) -> float:
        """The relevance of a question. It is never enough for an answer where the question is clearly about something else,
        however well a sentence seems to fit."""
        relevance = self.fit.relevance(signals)
        return min(relevance, FOREIGN) if signals.top_cosine < self.subject - BESIDE else relevance

    def of_result(self, relevance: float, above_mean: float) -> float:
        """The relevance of one result: the question's, higher where the result's score is above the pool's mean."""
        return float(np.clip(relevance + self.spread * above_mean, 0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredScale:
    """Relevance in a book whose author wrote questions: the author's fit and the ranking's fit together. Each errs where the
    other does not: the author's questions know the book, and the ranking knows whether a sentence answers."""

    own: Calibration
    ranked: RankedScale

    @property
    def subject(self) -> float:
        return self.own.subject

    def relevance(self, signals: Signals, ranking: RankedSignals) -> float:
        """The relevance of a question. Both fits decide whether it is answered; the author's fit may decide how surely."""
        own = self.own.relevance(signals)
        together = (own + self.ranked.relevance(ranking)) / 2
        return max(own, together) if together >= LINE else together

    def of_result(self, relevance: float, above_mean: float) -> float:
        return self.own.of_result(relevance, above_mean)


Scale = Calibration | RankedScale | AuthoredScale
