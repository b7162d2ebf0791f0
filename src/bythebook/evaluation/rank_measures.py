"""Recall, reciprocal rank and nDCG of one ranking, as trec_eval defines them for lessons that are right or wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bythebook.answering.turn import EVALUATED

RECALL_DEPTHS = (1, 3, 5, 10)


def retrieval_figures(
    gold: Mapping[str, Sequence[str]], found: Mapping[str, Sequence[str]], *, depth: int
) -> dict[str, dict[str, float]]:
    """The figures of each question by name: `gold` has the right lessons, `found` the lesson of each result, best first.
    Figures that need more than `depth` results, the number asked for, are left out."""
    return {id: _figures(frozenset(right), found.get(id, ()), depth) for id, right in gold.items()}


def _figures(right: frozenset[str], found: Sequence[str], depth: int) -> dict[str, float]:
    ranks = [rank for rank, lesson in enumerate(found, start=1) if lesson in right and lesson not in found[: rank - 1]]
    figures = {f"recall_at_{k}": sum(rank <= k for rank in ranks) / len(right) for k in RECALL_DEPTHS if k <= depth}
    if depth >= EVALUATED:
        near = [rank for rank in ranks if rank <= EVALUATED]
        best = range(1, min(len(right), EVALUATED) + 1)
        figures["mrr_at_10"] = 1 / near[0] if near else 0.0
        figures["ndcg_at_10"] = _gain(near) / _gain(best)
    return figures


def _gain(ranks: Sequence[int]) -> float:
    return sum(1 / math.log2(rank + 1) for rank in ranks)
