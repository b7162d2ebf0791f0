"""How good an order is, when one lesson is right. Pure: ranks in, figures out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DEPTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means over all questions."""

    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr_at_10: float
    ndcg_at_10: float

    def figures(self) -> tuple[float, ...]:
        return self.recall_at_1, self.recall_at_5, self.recall_at_10, self.mrr_at_10, self.ndcg_at_10


def rank_of(gold: str, order: Iterable[str]) -> int | None:
    """Where the first result of the gold lesson stands, from 1. None when there is none."""
    for rank, lesson in enumerate(order, start=1):
        if lesson == gold:
            return rank
    return None


def quality(ranks: Sequence[int | None]) -> Quality:
    found = [rank for rank in ranks if rank is not None and rank <= DEPTH]
    total = len(ranks)
    return Quality(
        recall_at_1=sum(rank <= 1 for rank in found) / total,
        recall_at_5=sum(rank <= 5 for rank in found) / total,
        recall_at_10=len(found) / total,
        mrr_at_10=sum(1 / rank for rank in found) / total,
        ndcg_at_10=sum(1 / math.log2(1 + rank) for rank in found) / total,
    )
