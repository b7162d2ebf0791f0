"""Document E's ConfidenceMetrics, rule for rule, on relevance or (with the literal scale) on cosines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ConfidenceLevel = Literal["high", "medium", "low", "insufficient"]

POOL = 5
"""Confidence is assessed on this many results, whatever the reader asked to see."""
RULES: tuple[tuple[float, int, ConfidenceLevel], ...] = ((0.85, 5, "high"), (0.75, 3, "medium"), (0.60, 2, "low"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceMetrics:
    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float
    confidence_level: ConfidenceLevel
    should_answer: bool


def assess(
    similarities: Sequence[float], embeddings: Sequence[NDArray[np.float32]], *, all_there_is: bool = False
) -> ConfidenceMetrics:
    """`similarities` of the pool, on the scale in use; `embeddings` of the same chunks. `all_there_is`: the book, or what the
    filters leave of it, has no more chunks than these."""
    lowest, highest = min(similarities, default=0.0), max(similarities, default=0.0)
    average = sum(similarities) / len(similarities) if similarities else 0.0
    average = min(max(average, lowest), highest)  # three times 0.6 is a little less than 1.8 to a computer
    level = confidence_level(average, len(similarities), all_there_is=all_there_is)
    return ConfidenceMetrics(
        average_similarity=average,
        min_similarity=lowest,
        max_similarity=highest,
        num_chunks=len(similarities),
        chunk_diversity=chunk_diversity(embeddings),
        confidence_level=level,
        should_answer=level != "insufficient",
    )


def together(metrics: ConfidenceMetrics, *, kept: int, removed: int, judged: bool = False) -> ConfidenceMetrics:
    """The level of an answer that a model drafted: that of the search, one higher where a judge of meaning had nothing to remove,
    one lower where more of the draft was removed than kept, and never lower than `low`, since something was kept."""
    levels: tuple[ConfidenceLevel, ...] = ("low", "medium", "high")
    place = levels.index(metrics.confidence_level) if metrics.confidence_level in levels else 0
    place += (judged and not removed) - (removed > kept)
    level = levels[min(max(0, place), len(levels) - 1)]
    return replace(metrics, confidence_level=level, should_answer=True)


def confidence_level(average: float, count: int, *, all_there_is: bool = False) -> ConfidenceLevel:
    """A second chunk cannot be asked for where there is none: one alone may then answer, with the disclaimer of `low`."""
    least_chunks = min(chunks for _, chunks, _ in RULES)
    counted = max(count, least_chunks) if all_there_is and count else count
    return next((level for least, chunks, level in RULES if average >= least and counted >= chunks), "insufficient")


def chunk_diversity(embeddings: Sequence[NDArray[np.float32]]) -> float:
    """One minus the mean cosine of all pairs; 0 where there is no pair."""
    if len(embeddings) < 2:
        return 0.0
    rows = np.stack(embeddings).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = (rows @ rows.T)[np.triu_indices(len(rows), k=1)]
    return float(np.clip(1.0 - pairs.mean(), 0.0, 1.0))
