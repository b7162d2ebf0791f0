"""How much each signal weighs. Questions of the book's author tell it best. Questions made from the book's own text know only of
pages that are missing, never of a fact that is: their fit is drawn towards the weights that readers' questions gave elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bythebook.grounding.regression import RIDGE, regress

FOREIGN_SHARE = 0.2
"""Of the weight of all questions that the book does not answer, where others than those about other subjects are among them:
those are easy, and what is near the subject decides."""
LEAST_SCALES: Mapping[str, float] = {
    "known_share": 0.1,
    "sentence_cosine": 0.05,
    "cosine_margin": 0.03,
    "agreement": 0.15,
    "rare_coverage": 0.2,
    "names_found": 0.3,
    "same_sense": 0.3,
    "kind_found": 0.3,
    "said_already": 0.03,
}
"""Questions made from a book's text vary less than a reader's: they name nothing that is not there and rarely negate."""
USUAL: Mapping[str, float] = {
    "known_share": 0.1,
    "sentence_cosine": 0.6,
    "cosine_margin": 0.0,
    "agreement": 0.0,
    "rare_coverage": 0.3,
    "names_found": 0.8,
    "same_sense": 0.6,
    "kind_found": 0.5,
    "said_already": 0.2,
}
"""Weights per scale, fitted on 1,415 questions about four encyclopedia articles and on the fitting half of the sample book's,
none below zero, rounded."""
TEXT_RIDGE = 30.0
"""How strongly questions made from the text are drawn to them: those repeat the text's words, so that alone they would have
shared words decide everything."""
PASSING = 0.8
"""Of the made questions that the book answers, so many pass at least. Where those stand far above the held-out ones, the middle
between them says nothing: what is near the subject and missing scores there, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """A linear score of signals: above zero the book rather answers."""

    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercept: float

    def score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = (rows - self.means) / self.scales @ self.coefficients + self.intercept
        return scores


def fitted(rows: NDArray[np.float64], answerable: NDArray[np.bool_], foreign: NDArray[np.bool_]) -> Weighing:
    """By questions that were asked. `foreign` marks those about other subjects."""
    scales = rows.std(axis=0)
    return _fitted(rows, answerable, foreign, rows.mean(axis=0), np.where(scales > 1e-9, scales, 1.0))


def fitted_by_text(
    rows: NDArray[np.float64],
    answerable: NDArray[np.bool_],
    foreign: NDArray[np.bool_],
    made: NDArray[np.bool_],
    names: Sequence[str],
) -> Weighing:
    """By questions `made` from the book's text, with and without their lesson."""
    scales = np.maximum(rows[made].std(axis=0), [LEAST_SCALES[name] for name in names])
    usual = np.array([USUAL[name] for name in names])
    found = _fitted(rows, answerable, foreign, rows[made].mean(axis=0), scales, usual=usual, ridge=TEXT_RIDGE)
    stricter = max(0.0, float(np.quantile(found.score(rows[made & answerable]), 1.0 - PASSING)))
    return replace(found, intercept=found.intercept - stricter)


def _fitted(
    rows: NDArray[np.float64],
    answerable: NDArray[np.bool_],
    foreign: NDArray[np.bool_],
    means: NDArray[np.float64],
    scales: NDArray[np.float64],
    *,
    usual: NDArray[np.float64] | None = None,
    ridge: float = RIDGE,
) -> Weighing:
    truth, weights = answerable.astype(np.float64), _weights(answerable, foreign)
    coefficients, intercept = regress((rows - means) / scales, truth, weights=weights, usual=usual, ridge=ridge)
    return Weighing(means=means, scales=scales, coefficients=coefficients, intercept=intercept)


def _weights(answerable: NDArray[np.bool_], foreign: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Both kinds weigh the same, however many there are of each."""
    near = ~answerable & ~foreign
    share = FOREIGN_SHARE if near.any() else 1.0
    weights = np.zeros(len(answerable))
    for some, part in ((answerable, 1.0), (near, 1.0 - share if foreign.any() else 1.0), (~answerable & foreign, share)):
        weights[some] = part / max(1, some.sum())
    return weights * (len(weights) / float(weights.sum()))
