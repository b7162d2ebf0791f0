"""What retrieval says about a question as a whole, in a few numbers that mean the same for every embedder once fitted.

Two sets: `Glance` costs nothing beyond the search itself; `Signals` looks into the chunks and their sentences as well."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass

POOL = 5
FIELD = 20
"""Candidates beyond the pool that the best is measured against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    top_cosine: float
    cosine_margin: float
    agreement: float
    closeness: float
    """How much of the question stands close together in the best hit."""

    @property
    def vector(self) -> tuple[float, ...]:
        return astuple(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    top_cosine: float
    """Of the nearest chunk."""
    cosine_margin: float
    """How far the nearest stands out of the field."""
    lexical_share: float
    """The best BM25 score as a share of what a chunk holding every word would get."""
    best_coverage: float
    """Share of the question's words, by rarity, in the best chunk of the pool."""
    pool_coverage: float
    """The same over the whole pool."""
    known_share: float
    """The same over the whole book."""
    agreement: float
    """How much of the pool both retrievals would have chosen."""
    sentence_cosine: float
    """Of the nearest sentence of the pool."""
    sentences_cosine: float
    """Mean of the three nearest."""
    sentence_coverage: float
    """Share of the question's words, by rarity, in the best sentence."""

    @property
    def vector(self) -> tuple[float, ...]:
        return astuple(self)


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
    full_weight: float,
    candidates: Sequence[Scores],
    pool: Sequence[Collection[str]],
    sentences: Sequence[tuple[float, float]],
) -> Signals:
    """`rarity`: IDF of each stem of the question, `most_rare` for stems the book does not have. `full_weight`: the
    weight a term has in a text that is made of it. `pool`: the stems of each chunk of the pool. `sentences`: cosine and
    coverage of the sentences read in it."""
    total = sum(rarity.values()) or 1.0
    top, margin = _nearest(candidates)
    nearest = sorted((cosine for cosine, _ in sentences), reverse=True)[:3] or [0.0]
    everywhere = frozenset().union(*pool) if pool else frozenset()
    return Signals(
        top_cosine=top,
        cosine_margin=margin,
        lexical_share=min(1.0, max((one.lexical for one in candidates), default=0.0) / (total * full_weight)),
        best_coverage=max((_share(rarity, stems, total) for stems in pool), default=0.0),
        pool_coverage=_share(rarity, everywhere, total),
        known_share=sum(idf for idf in rarity.values() if idf < most_rare) / total,
        agreement=_agreement(candidates),
        sentence_cosine=nearest[0],
        sentences_cosine=sum(nearest) / len(nearest),
        sentence_coverage=max((coverage for _, coverage in sentences), default=0.0),
    )


def _nearest(candidates: Sequence[Scores]) -> tuple[float, float]:
    cosines = sorted((candidate.cosine for candidate in candidates), reverse=True) or [0.0]
    field = cosines[POOL:FIELD] or cosines[-1:]
    return cosines[0], cosines[0] - sum(field) / len(field)


def _share(rarity: Mapping[str, float], stems: Collection[str], total: float) -> float:
    return sum(idf for stem, idf in rarity.items() if stem in stems) / total


def _agreement(candidates: Sequence[Scores]) -> float:
    order = range(len(candidates))
    dense = sorted(order, key=lambda place: -candidates[place].cosine)[:POOL]
    lexical = sorted(order, key=lambda place: -candidates[place].lexical)[:POOL]
    return len(set(dense) & set(lexical)) / POOL
