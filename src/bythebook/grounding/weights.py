"""Fits the weight of each signal.

Questions by the book's author are the best data. Questions made from the book's own text show what a missing page looks like,
but not what a missing fact does: their fit is drawn towards the weights that readers' questions gave on other books.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FOREIGN_SHARE = 0.2
"""The share of questions about other subjects in the weight of all unanswerable ones, where there are others: they are easy, and
those near the subject decide."""
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
"""The least standard deviation of each signal: questions made from a book's text vary less than a reader's, because they name
nothing that is not there and rarely negate."""
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
"""Weights per scale, none below zero, rounded. They were fitted on 1,415 questions about four encyclopedia articles and on the
fitting half of the sample book's."""
RIDGE = 10.0
"""A hundred questions are few for nine weights. Cross-validation shows no difference between 5 and 20."""
STEPS = 40
TEXT_RIDGE = 30.0
"""How strongly the fit of questions made from the text is drawn to these weights: such questions repeat the text's words, so that
shared words alone would decide."""
PASSING = 0.8
"""At least this share of the made questions that the book answers must pass. Where these score far above the held-out ones, the
middle between the two means nothing: questions near the subject without an answer score there, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalWeights:
    """A linear score of the signals: above zero, the book rather answers."""

    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercept: float

    def score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = (rows - self.means) / self.scales @ self.coefficients + self.intercept
        return scores


def fitted(rows: NDArray[np.float64], answerable: NDArray[np.bool_], foreign: NDArray[np.bool_]) -> SignalWeights:
    """Fits the weights to questions that were asked. `foreign` marks those about other subjects."""
    scales = rows.std(axis=0)
    return _fitted(rows, answerable, foreign, rows.mean(axis=0), np.where(scales > 1e-9, scales, 1.0))


def fitted_by_text(
    rows: NDArray[np.float64],
    answerable: NDArray[np.bool_],
    foreign: NDArray[np.bool_],
    made: NDArray[np.bool_],
    names: Sequence[str],
) -> SignalWeights:
    """Fits the weights to questions `made` from the book's text, with and without their lesson."""
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
) -> SignalWeights:
    truth, weights = answerable.astype(np.float64), _weights(answerable, foreign)
    coefficients, intercept = regress((rows - means) / scales, truth, weights=weights, usual=usual, ridge=ridge)
    return SignalWeights(means=means, scales=scales, coefficients=coefficients, intercept=intercept)


def _weights(answerable: NDArray[np.bool_], foreign: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Gives both kinds the same weight, however many there are of each."""
    near = ~answerable & ~foreign
    share = FOREIGN_SHARE if near.any() else 1.0
    weights = np.zeros(len(answerable))
    for some, part in ((answerable, 1.0), (near, 1.0 - share if foreign.any() else 1.0), (~answerable & foreign, share)):
        weights[some] = part / max(1, some.sum())
    return weights * (len(weights) / float(weights.sum()))


def regress(
    rows: NDArray[np.float64],
    truth: NDArray[np.float64],
    *,
    weights: NDArray[np.float64] | None = None,
    usual: NDArray[np.float64] | None = None,
    ridge: float = RIDGE,
) -> tuple[NDArray[np.float64], float]:
    """The coefficients and the intercept. Without weights, both kinds weigh the same, however many there are of each. `usual`:
    the coefficients that the ridge draws towards; zero by default."""
    design = np.hstack([rows, np.ones((len(rows), 1))])
    share = truth.mean()
    weight = np.where(truth == 1, 0.5 / share, 0.5 / (1 - share)) if weights is None else weights
    penalty = ridge * np.diag([*np.ones(rows.shape[1]), 1e-6])
    start = np.append(np.zeros(rows.shape[1]) if usual is None else usual, 0.0)
    solution = start
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ solution, -30, 30)))
        gradient = design.T @ (weight * (chance - truth)) + penalty @ (solution - start)
        curvature = (design * (weight * chance * (1 - chance))[:, None]).T @ design + penalty
        solution = solution - np.linalg.solve(curvature, gradient)
    return solution[:-1], float(solution[-1])


def best_threshold(yes: NDArray[np.float64], no: NDArray[np.float64]) -> tuple[float, float]:
    """The threshold at which wrong refusals and wrong answers together are fewest. Of equally good ones, the middle."""
    edges = np.unique(np.concatenate([yes, no]))
    places = np.concatenate([[edges[0] - 1], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 1]])
    kept = 1 - np.searchsorted(np.sort(yes), places) / len(yes)
    refused = np.searchsorted(np.sort(no), places) / len(no)
    accuracy = (kept + refused) / 2
    best = np.flatnonzero(np.isclose(accuracy, accuracy.max()))
    return float(places[best[len(best) // 2]]), float(accuracy.max())


def area(yes: NDArray[np.float64], no: NDArray[np.float64]) -> float:
    """The area under the ROC curve: the probability that an answerable question scores above an unanswerable one."""
    below = np.searchsorted(np.sort(no), yes, side="left")
    upto = np.searchsorted(np.sort(no), yes, side="right")
    return float(((below + upto) / 2).sum() / (len(yes) * len(no)))
