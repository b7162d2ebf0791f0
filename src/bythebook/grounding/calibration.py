"""The map from retrieval's signals to `relevance`, fitted per book, so that 0.3, 0.6, 0.75 and 0.85 mean the same for every
embedder: 0.3 is what a question that the book does not answer typically gets, 0.6 is where answering and refusing are
equally wrong, 0.75 is reached by three quarters of the questions it answers, 0.85 by half of them.

A logistic regression with a ridge, by Newton's method: deterministic, no dependency, a coefficient for each signal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.errors import Mismatch
from bythebook.grounding.regression import area, best_threshold, regress
from bythebook.grounding.signals import Glance, Signals

METHOD = "ridge logistic regression on seven retrieval signals, anchored"
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
        """Raises where the fit is of another kind than this program makes: its weights would be put on other signals."""
        if stored["method"] != METHOD:
            raise Mismatch(
                "The book was calibrated by another version of this program. Calibrate it again: bythebook ingest FOLDER"
            )
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
    coefficients, intercept = regress(standard, truth)
    logits = standard @ coefficients + intercept
    yes, no = np.sort(logits[truth == 1]), np.sort(logits[truth == 0])
    threshold, accuracy = best_threshold(yes, no)
    above = sorted(probe.top_above_mean for probe in probes if probe.answerable)
    sources = {source: sum(probe.source == source for probe in probes) for source in sorted({probe.source for probe in probes})}
    return Calibration(
        method=METHOD,
        names=probes[0].signals.names,
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


def _anchors(yes: NDArray[np.float64], no: NDArray[np.float64], threshold: float) -> tuple[tuple[float, float], ...]:
    """Ascending in both, whatever the data; the decision's own anchor stays where it is."""
    lower = min(float(np.quantile(no, 0.5)), threshold - LEAST_GAP)
    lowest = min(float(no.min()), lower - LEAST_GAP)
    upper = [threshold]
    for level in (0.25, 0.5, 0.95):
        upper.append(max(float(np.quantile(yes, level)), upper[-1] + LEAST_GAP))
    return tuple(zip((lowest, lower, *upper), (0.0, 0.3, 0.6, 0.75, 0.85, 0.98), strict=True))
