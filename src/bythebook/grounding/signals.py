"""What retrieval says about a question as a whole, in ten numbers that mean the same for every embedder once fitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

POOL = 5
FIELD = 20
"""Candidates beyond the pool that the best is measured against."""


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


NAMES = tuple(field.name for field in fields(Signals))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """A candidate as both retrievals see it."""

    cosine: float
    lexical: float


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
    cosines = sorted((candidate.cosine for candidate in candidates), reverse=True)
    field = cosines[POOL:FIELD] or cosines[-1:] or [0.0]
    nearest = sorted((cosine for cosine, _ in sentences), reverse=True)[:3] or [0.0]
    everywhere = frozenset().union(*pool) if pool else frozenset()
    return Signals(
        top_cosine=cosines[0] if cosines else 0.0,
        cosine_margin=(cosines[0] if cosines else 0.0) - sum(field) / len(field),
        lexical_share=min(1.0, max((one.lexical for one in candidates), default=0.0) / (total * full_weight)),
        best_coverage=max((_share(rarity, stems, total) for stems in pool), default=0.0),
        pool_coverage=_share(rarity, everywhere, total),
        known_share=sum(idf for idf in rarity.values() if idf < most_rare) / total,
        agreement=_agreement(candidates),
        sentence_cosine=nearest[0],
        sentences_cosine=sum(nearest) / len(nearest),
        sentence_coverage=max((coverage for _, coverage in sentences), default=0.0),
    )


def _share(rarity: Mapping[str, float], stems: Collection[str], total: float) -> float:
    return sum(idf for stem, idf in rarity.items() if stem in stems) / total


def _agreement(candidates: Sequence[Scores]) -> float:
    order = range(len(candidates))
    dense = sorted(order, key=lambda place: -candidates[place].cosine)[:POOL]
    lexical = sorted(order, key=lambda place: -candidates[place].lexical)[:POOL]
    return len(set(dense) & set(lexical)) / POOL
