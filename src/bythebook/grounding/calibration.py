"""The map from retrieval's signals to `relevance`, fitted per book, so that 0.3, 0.6, 0.75 and 0.85 mean the same for every
embedder: 0.3 is what a question that the book does not answer typically gets, 0.6 is where answering and refusing are
equally wrong, 0.75 is reached by three quarters of the questions it answers, 0.85 by half of them.

A logistic regression with a ridge, by Newton's method: deterministic, no dependency, a coefficient for each signal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.grounding.signals import Glance, Signals

METHOD = "ridge logistic regression on retrieval signals, anchored"
RIDGE = 2.0
STEPS = 40
TOP_ABOVE_MEAN = 0.15
"""How far the best result of a typical pool stands above the pool's mean."""
LEAST_GAP = 1e-3
FOREIGN_SOURCE = "other subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A fit, with all that is needed to show it. `anchors` are (logit, relevance), ascending in both."""

    method: str
    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    anchors: tuple[tuple[float, float], ...]
    spread: float
    subject: float
    """The cosine below which a question is about something else."""
    answerable: int
    unanswerable: int
    auc: float
    balanced_accuracy: float
    sources: Mapping[str, int]

    def logit(self, signals: Signals | Glance) -> float:
        standard = (np.array(signals.vector) - self.means) / self.scales
        return float(standard @ np.array(self.coefficients) + self.intercept)

    def relevance(self, signals: Signals | Glance) -> float:
        """Of the question as a whole."""
        logits, levels = zip(*self.anchors, strict=True)
        return float(np.interp(self.logit(signals), logits, levels))

    def of_result(self, relevance: float, above_mean: float) -> float:
        """Of one result: the question's relevance, more where the result's score stands above the pool's mean."""
        return float(np.clip(relevance + self.spread * above_mean, 0.0, 1.0))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Calibration:
        sequences = ("names", "means", "scales", "coefficients")
        anchors = tuple((float(logit), float(level)) for logit, level in stored["anchors"])
        return cls(**{**stored, **{name: tuple(stored[name]) for name in sequences}, "anchors": anchors})


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question with a known answer to whether the book answers it, and what retrieval said."""

    signals: Signals | Glance
    answerable: bool
    source: str
    top_above_mean: float
    """How far the best result's score stood above the pool's mean."""


def fit(probes: Sequence[Probe]) -> Calibration:
    """Both kinds weigh the same, however many there are of each."""
    rows = np.array([probe.signals.vector for probe in probes], dtype=np.float64)
    truth = np.array([probe.answerable for probe in probes], dtype=np.float64)
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales = np.where(scales > 1e-9, scales, 1.0)
    standard = (rows - means) / scales
    coefficients, intercept = _regress(standard, truth)
    logits = standard @ coefficients + intercept
    yes, no = np.sort(logits[truth == 1]), np.sort(logits[truth == 0])
    threshold, accuracy = best_threshold(yes, no)
    above = sorted(probe.top_above_mean for probe in probes if probe.answerable)
    sources = {source: sum(probe.source == source for probe in probes) for source in sorted({probe.source for probe in probes})}
    return Calibration(
        method=METHOD,
        names=tuple(field.name for field in fields(probes[0].signals)),
        means=tuple(means.tolist()),
        scales=tuple(scales.tolist()),
        coefficients=tuple(coefficients.tolist()),
        intercept=float(intercept),
        anchors=_anchors(yes, no, threshold),
        spread=TOP_ABOVE_MEAN / max(above[len(above) // 2], 1e-6),
        subject=_subject(probes),
        answerable=len(yes),
        unanswerable=len(no),
        auc=area(yes, no),
        balanced_accuracy=accuracy,
        sources=sources,
    )


def _subject(probes: Sequence[Probe]) -> float:
    """The nearest chunk's cosine tells other subjects from this one, whether the book answers or not."""
    foreign = np.array([probe.signals.top_cosine for probe in probes if probe.source == FOREIGN_SOURCE])
    near = np.array([probe.signals.top_cosine for probe in probes if probe.source != FOREIGN_SOURCE])
    return best_threshold(near, foreign)[0] if len(foreign) and len(near) else 0.0


def _regress(rows: NDArray[np.float64], truth: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    design = np.hstack([rows, np.ones((len(rows), 1))])
    share = truth.mean()
    weight = np.where(truth == 1, 0.5 / share, 0.5 / (1 - share))
    penalty = RIDGE * np.diag([*np.ones(rows.shape[1]), 1e-6])
    solution = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ solution, -30, 30)))
        gradient = design.T @ (weight * (chance - truth)) + penalty @ solution
        curvature = (design * (weight * chance * (1 - chance))[:, None]).T @ design + penalty
        solution = solution - np.linalg.solve(curvature, gradient)
    return solution[:-1], float(solution[-1])


def best_threshold(yes: NDArray[np.float64], no: NDArray[np.float64]) -> tuple[float, float]:
    """Where refusing what is answerable and answering what is not are, together, least often wrong. Of equally good
    places, the middle."""
    edges = np.unique(np.concatenate([yes, no]))
    places = np.concatenate([[edges[0] - 1], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 1]])
    kept = 1 - np.searchsorted(np.sort(yes), places) / len(yes)
    refused = np.searchsorted(np.sort(no), places) / len(no)
    accuracy = (kept + refused) / 2
    best = np.flatnonzero(np.isclose(accuracy, accuracy.max()))
    return float(places[best[len(best) // 2]]), float(accuracy.max())


def area(yes: NDArray[np.float64], no: NDArray[np.float64]) -> float:
    """Under the ROC curve: the chance that an answerable question scores above an unanswerable one."""
    below = np.searchsorted(np.sort(no), yes, side="left")
    upto = np.searchsorted(np.sort(no), yes, side="right")
    return float(((below + upto) / 2).sum() / (len(yes) * len(no)))


def _anchors(yes: NDArray[np.float64], no: NDArray[np.float64], threshold: float) -> tuple[tuple[float, float], ...]:
    """Ascending in both, whatever the data; the decision's own anchor stays where it is."""
    lower = min(float(np.quantile(no, 0.5)), threshold - LEAST_GAP)
    lowest = min(float(no.min()), lower - LEAST_GAP)
    upper = [threshold]
    for level in (0.25, 0.5, 0.95):
        upper.append(max(float(np.quantile(yes, level)), upper[-1] + LEAST_GAP))
    return tuple(zip((lowest, lower, *upper), (0.0, 0.3, 0.6, 0.75, 0.85, 0.98), strict=True))
