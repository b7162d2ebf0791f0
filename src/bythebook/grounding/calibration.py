"""The map from the signals of retrieval to `relevance`. It is fitted per book, so that 0.3, 0.6, 0.75 and 0.85 mean the same
for every embedder: a question that the book does not answer typically gets 0.3; at 0.6 answering and refusing are equally
wrong; three quarters of the questions that the book answers reach 0.75, and half of them 0.85.

Signals are what retrieval says about a question as a whole, in a few numbers. There are two sets: `Glance` costs nothing beyond
the search itself; `Signals` also looks into the chunks and their sentences. Each signal gets a coefficient by a ridge logistic
regression, which is deterministic and needs no library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.errors import Mismatch
from bythebook.grounding.verdict import POOL
from bythebook.grounding.weights import USUAL, SignalWeights, area, best_threshold, fitted, fitted_by_text
from bythebook.retrieval.question_words import Alikes, alikes, holds

FIELD = 20
"""The nearest chunk is compared with the candidates after the pool, up to this rank."""
TOLD = 1

METHOD = "ridge logistic regression on nine retrieval signals, anchored"
FIT_VERSION = 1
"""Raise it when signals or anchors change: weights of another version would be applied to other signals."""
TOP_ABOVE_MEAN = 0.15
"""How far the best result of a typical pool is above the pool's mean."""
LEAST_GAP = 1e-3
FOREIGN_SOURCE = "other subject"
AUTHOR_SOURCE = "author"
AUTHOR_FOREIGN_SOURCE = "author, other subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The signals that a search gives without reading any chunk closely. All from 0 to 1."""

    top_cosine: float
    cosine_margin: float
    agreement: float
    closeness: float
    """How much of the question is close together in the best hit."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self))

    @property
    def vector(self) -> tuple[float, ...]:
        return astuple(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What reading the best chunks closely says about a question: numbers from 0 to 1; the higher, the likelier the book
    answers. The first is only shown; the fit does not use it."""

    top_cosine: float
    """The cosine of the nearest chunk."""
    known_share: float
    """The share of the question's words, by rarity, that the book has at all."""
    sentence_cosine: float
    """The cosine of the nearest sentence in the pool."""
    cosine_margin: float
    """How far the nearest chunk is ahead of the others."""
    agreement: float
    """How much of the pool both retrievals would have chosen."""
    rare_coverage: float
    """The share of the question's words that the best chunk of the pool has; rare words weigh more."""
    names_found: float
    """1 where all names of the question are around one of the best sentences; 0 where a name is missing that the whole book
    lacks."""
    same_sense: float
    """0 where the question negates and none of the best sentences does."""
    kind_found: float
    """0 where a number or a date is asked for and the best sentences hold none."""
    said_already: float
    """How little the question adds to one of the best sentences: a sentence that answers a question says most of it already. 0
    where the ranking's fit decides, which does not use this."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the signals that are fitted."""
        return tuple(field.name for field in fields(self))[TOLD:]

    @property
    def vector(self) -> tuple[float, ...]:
        return astuple(self)[TOLD:]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSignals(Signals):
    """The signals with the ranking's scores of the pool's statements. The scores have no bounds; a statement above zero rather
    answers than not."""

    rank_best: float
    rank_margin: float
    """How far the best score is above the next."""
    rank_total: float
    """All scores together: the logarithm of the sum of their odds."""
    rank_near: float
    """How many scores are close to the best."""
    read_best: float
    """The reader's own best score. Below it: the reader's score of the statement that is ranked first, of all statements
    together, and how far the best is above the next."""
    read_first: float
    read_total: float
    read_margin: float


CLOSE = 1.5


def with_ranking(signals: Signals, scores: Sequence[tuple[float, float]]) -> RankedSignals:
    return RankedSignals(**{field.name: getattr(signals, field.name) for field in fields(signals)}, **ranking_signals(scores))


def ranking_signals(scores: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The signals from the scores of the pool's statements. Each pair in `scores`, of which there is at least one, is the
    ranking's and the reader's score of a statement."""
    first, *_ = down = sorted(scores, key=lambda score: -score[0])
    ranked, read = [score for score, _ in down], sorted((score for _, score in down), reverse=True)
    return {
        "rank_best": ranked[0],
        "rank_margin": ranked[0] - ranked[min(1, len(down) - 1)],
        "rank_total": ranked[0] + math.log(sum(math.exp(score - ranked[0]) for score in ranked)),
        "rank_near": float(sum(score > ranked[0] - CLOSE for score in ranked)),
        "read_best": read[0],
        "read_first": first[1],
        "read_total": math.log1p(sum(math.exp(score) for score in read)),
        "read_margin": read[0] - read[min(1, len(down) - 1)],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """A candidate's scores in both searches."""

    cosine: float
    lexical: float


def glance(candidates: Sequence[Scores], closeness: float) -> Glance:
    top, margin = _nearest(candidates)
    return Glance(top_cosine=top, cosine_margin=margin, agreement=_agreement(candidates), closeness=closeness)


def measure(
    rarity: Mapping[str, float],
    *,
    most_rare: float,
    candidates: Sequence[Scores],
    pool: Sequence[Collection[str]],
    cosines: Sequence[float],
    lacking: Sequence[Collection[str]] = (),
    contrary: bool = False,
    kind_found: bool = True,
    said_already: float = 0.0,
) -> Signals:
    """Measures the signals. `rarity`: the IDF of each stem of the question; `most_rare`: that of a stem which the book lacks.
    `pool`: the stems of each chunk of the pool. `cosines`: those of the sentences read in it. `lacking`: for each of the best
    sentences, the names of the question that are not around it. `contrary`: the question negates and none of these sentences
    does. `kind_found`: they hold a number, if one is asked for."""
    total = sum(rarity.values()) or 1.0
    squared = {stem: idf * idf for stem, idf in rarity.items()}
    unknown = [stem for stem, idf in rarity.items() if idf >= most_rare]
    everything = frozenset().union(*pool)
    others = alikes(unknown, everything)
    top, margin = _nearest(candidates)
    missing = min((sum(rarity.get(name, most_rare) for name in names) for names in lacking), default=0.0)
    strange = sum(rarity[stem] for stem in unknown if not holds(everything, stem, others))
    return Signals(
        top_cosine=top,
        known_share=1.0 - strange / total,
        sentence_cosine=max(cosines, default=0.0),
        cosine_margin=margin,
        agreement=_agreement(candidates),
        rare_coverage=max((_share(squared, stems, others) for stems in pool), default=0.0),
        names_found=1.0 - min(1.0, missing / most_rare),
        same_sense=0.0 if contrary else 1.0,
        kind_found=1.0 if kind_found else 0.0,
        said_already=said_already,
    )


def _nearest(candidates: Sequence[Scores]) -> tuple[float, float]:
    cosines = sorted((candidate.cosine for candidate in candidates), reverse=True) or [0.0]
    field = cosines[POOL:FIELD] or cosines[-1:]
    return cosines[0], cosines[0] - sum(field) / len(field)


def _share(weights: Mapping[str, float], stems: Collection[str], others: Alikes) -> float:
    return sum(weight for stem, weight in weights.items() if holds(stems, stem, others)) / (sum(weights.values()) or 1.0)


def _agreement(candidates: Sequence[Scores]) -> float:
    order = range(len(candidates))
    dense = sorted(order, key=lambda place: -candidates[place].cosine)[:POOL]
    lexical = sorted(order, key=lambda place: -candidates[place].lexical)[:POOL]
    return len(set(dense) & set(lexical)) / POOL


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
        """The relevance of the question as a whole."""
        logits, levels = zip(*self.anchors, strict=True)
        return float(np.interp(self.logit(signals), logits, levels))

    def of_result(self, relevance: float, above_mean: float) -> float:
        """The relevance of one result: that of the question, higher where the result's score is above the pool's mean."""
        return float(np.clip(relevance + self.spread * above_mean, 0.0, 1.0))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Calibration:
        sequences = ("names", "means", "scales", "coefficients")
        anchors = tuple((float(logit), float(level)) for logit, level in stored["anchors"])
        return cls(**{**stored, **{name: tuple(stored[name]) for name in sequences}, "anchors": anchors})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The fits of one book, as the manifest stores them: `close` for questions that are answered, `quick` for searches.
    `outdated`: the book has changed since."""

    close: Calibration
    quick: Calibration
    outdated: bool = False

    def to_dict(self) -> dict[str, Any]:
        stored = {"version": FIT_VERSION, "close": self.close.to_dict(), "quick": self.quick.to_dict()}
        return {**stored, "outdated": True} if self.outdated else stored

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> Fit | None:
        """Reads a stored fit. Raises where this program makes fits of another version."""
        if stored is None:
            return None
        if _version(stored) != FIT_VERSION:
            raise Mismatch(
                "The book was calibrated by another version of this program. Calibrate it again: bythebook ingest FOLDER"
            )
        close, quick = (Calibration.from_dict(stored[name]) for name in ("close", "quick"))
        return cls(close=close, quick=quick, outdated=bool(stored.get("outdated")))

    @classmethod
    def read_current(cls, stored: Mapping[str, Any] | None) -> Fit | None:
        """Reads a stored fit; None where it is of another version, because a new fit is then made."""
        return cls.read(stored) if stored and _version(stored) == FIT_VERSION else None


def _version(stored: Mapping[str, Any]) -> int:
    """The version of a stored fit: the first fits had no number, but named their method."""
    return int(stored.get("version", 1 if stored["close"]["method"] == METHOD else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question of which it is known whether the book answers it, and what retrieval measured for it."""

    signals: Signals | Glance
    answerable: bool
    source: str
    top_above_mean: float
    """How far the best result's score stood above the pool's mean."""


def fit(probes: Sequence[Probe]) -> Calibration:
    rows = np.array([probe.signals.vector for probe in probes], dtype=np.float64)
    truth = np.array([probe.answerable for probe in probes])
    weighing = _weighing(probes, rows, truth)
    logits = weighing.score(rows)
    yes, no = np.sort(logits[truth]), np.sort(logits[~truth])
    above = sorted(probe.top_above_mean for probe in probes if probe.answerable)
    sources = {source: sum(probe.source == source for probe in probes) for source in sorted({probe.source for probe in probes})}
    return Calibration(
        method=METHOD,
        names=probes[0].signals.names,
        means=tuple(weighing.means.tolist()),
        scales=tuple(weighing.scales.tolist()),
        coefficients=tuple(weighing.coefficients.tolist()),
        intercept=float(weighing.intercept),
        anchors=_anchors(yes, no, 0.0),
        spread=TOP_ABOVE_MEAN / max(above[len(above) // 2], 1e-6),
        subject=_subject(probes),
        answerable=len(yes),
        unanswerable=len(no),
        auc=area(yes, no),
        balanced_accuracy=float(((yes >= 0).mean() + (no < 0).mean()) / 2),
        sources=sources,
    )


def _weighing(probes: Sequence[Probe], rows: NDArray[np.float64], truth: NDArray[np.bool_]) -> SignalWeights:
    foreign = np.array([probe.source == FOREIGN_SOURCE for probe in probes])
    asked = (FOREIGN_SOURCE, AUTHOR_SOURCE, AUTHOR_FOREIGN_SOURCE)
    made = np.array([probe.source not in asked for probe in probes])
    names = probes[0].signals.names
    if made.any() and USUAL.keys() >= set(names):
        return fitted_by_text(rows, truth, foreign, made, names)
    return fitted(rows, truth, foreign)


def _subject(probes: Sequence[Probe]) -> float:
    """The cosine of the nearest chunk below which a question is about another subject, whether the book answers or not."""
    others = (FOREIGN_SOURCE, AUTHOR_FOREIGN_SOURCE)
    foreign = np.array([probe.signals.top_cosine for probe in probes if probe.source in others])
    near = np.array([probe.signals.top_cosine for probe in probes if probe.source not in others])
    return best_threshold(near, foreign)[0] if len(foreign) and len(near) else 0.0


def _anchors(yes: NDArray[np.float64], no: NDArray[np.float64], threshold: float) -> tuple[tuple[float, float], ...]:
    """The anchors, ascending in logit and relevance whatever the data; the anchor of the decision is not moved."""
    lower = min(float(np.quantile(no, 0.5)), threshold - LEAST_GAP)
    lowest = min(float(no.min()), lower - LEAST_GAP)
    upper = [threshold]
    for level in (0.25, 0.5, 0.95):
        upper.append(max(float(np.quantile(yes, level)), upper[-1] + LEAST_GAP))
    return tuple(zip((lowest, lower, *upper), (0.0, 0.3, 0.6, 0.75, 0.85, 0.98), strict=True))
