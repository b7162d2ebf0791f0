"""What retrieval says about a question as a whole, in a few numbers that mean the same for every embedder once fitted.

Two sets: `Glance` costs nothing beyond the search itself; `Signals` looks into the chunks and their sentences as well."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from bythebook.grounding.confidence import POOL
from bythebook.retrieval.demands import Alikes, alikes, holds

FIELD = 20
"""Candidates beyond the pool that the best is measured against."""
TOLD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    top_cosine: float
    cosine_margin: float
    agreement: float
    closeness: float
    """How much of the question stands close together in the best hit."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self))

    @property
    def vector(self) -> tuple[float, ...]:
        return astuple(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """All from 0 to 1, and the more the likelier the book answers. The first is told, not fitted."""

    top_cosine: float
    """Of the nearest chunk."""
    known_share: float
    """Share of the question's words, by rarity, that the book has at all."""
    sentence_cosine: float
    """Of the nearest sentence of the pool."""
    cosine_margin: float
    """How far the nearest chunk stands out of the field."""
    agreement: float
    """How much of the pool both retrievals would have chosen."""
    rare_coverage: float
    """Share of the question's words in the best chunk of the pool, the rarest weighing most."""
    names_found: float
    """1 where all names of the question stand together around one of the best sentences; 0 where one is missing that the
    book does not have at all."""
    same_sense: float
    """0 where the question negates and none of the best sentences does."""
    kind_found: float
    """0 where a number or a date is asked for and the best sentences hold none."""
    said_already: float
    """How little the question adds to one of the best sentences: one that answers it says most of it already."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the fitted ones."""
        return tuple(field.name for field in fields(self))[TOLD:]

    @property
    def vector(self) -> tuple[float, ...]:
        return astuple(self)[TOLD:]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSignals(Signals):
    """The signals, and what the ranking says of the pool's statements. Its scores have no bounds; above zero a statement rather
    answers than not."""

    rank_best: float
    rank_margin: float
    """How far the best stands above the next."""
    rank_total: float
    """Of all statements together: the logarithm of the sum of their odds."""
    rank_near: float
    """How many stand close to the best."""


CLOSE = 1.5


def with_ranking(signals: Signals, scores: Sequence[float]) -> RankedSignals:
    """`scores` of the ranking for the statements of the pool, at least one."""
    down = sorted(scores, reverse=True)
    return RankedSignals(
        **{field.name: getattr(signals, field.name) for field in fields(signals)},
        rank_best=down[0],
        rank_margin=down[0] - down[min(1, len(down) - 1)],
        rank_total=down[0] + math.log(sum(math.exp(score - down[0]) for score in down)),
        rank_near=float(sum(score > down[0] - CLOSE for score in down)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """A candidate as both retrievals see it."""

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
    """`rarity`: IDF of each stem of the question, `most_rare` for stems the book does not have. `pool`: the stems of each
    chunk of the pool. `cosines` of the sentences read in it. `lacking`: the names of the question that do not stand around
    each of the best sentences. `contrary`: the question negates and none of those does. `kind_found`: they hold a number,
    where one is asked for."""
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
