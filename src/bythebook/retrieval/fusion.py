"""One order out of two retrievals. Pure: scores in, order out."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.index.vectors import Candidate

DENSE_WEIGHT = 0.6


def fuse(candidates: Sequence[Candidate], *, dense_weight: float = DENSE_WEIGHT) -> list[tuple[Candidate, float]]:
    """Scores, not ranks: each side stretched to 0-1 over the candidates, then weighted. Best first, ties by id."""
    dense = _stretched([candidate.cosine for candidate in candidates])
    lexical = _stretched([candidate.lexical for candidate in candidates], floor=0.0)
    fused = [
        (candidate, dense_weight * one + (1 - dense_weight) * other)
        for candidate, one, other in zip(candidates, dense, lexical, strict=True)
    ]
    return sorted(fused, key=lambda pair: (-pair[1], pair[0].id))


def _stretched(scores: Sequence[float], *, floor: float | None = None) -> list[float]:
    if not scores:
        return []
    low, high = min(scores) if floor is None else floor, max(scores)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]
