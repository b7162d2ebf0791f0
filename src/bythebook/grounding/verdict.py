"""Answer or refuse, and why. The documents' three thresholds stay three; a refusal is a result, never an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bythebook.grounding.confidence import ConfidenceMetrics

RefusalReason = Literal["nothing_found", "off_topic", "not_in_book", "outside_filters", "unsupported"]

DEFAULT_SCORE_THRESHOLD = 0.3
MIN_CHUNKS_FOR_ANSWER = 1
CLEARLY_BETTER = 0.1
"""How much more relevant the book must be beyond the filters than within them to send the reader there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerable:
    """The book has it. At `low` the answer carries a disclaimer."""

    confidence: ConfidenceMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswerable:
    """The book, as far as this reader looks into it, does not have it."""

    reason: RefusalReason
    confidence: ConfidenceMetrics
    detail: str


Verdict = Answerable | Unanswerable


def decide(
    confidence: ConfidenceMetrics,
    *,
    score_threshold: float,
    shown: int,
    similarity_threshold: float,
    beyond: ConfidenceMetrics | None = None,
    best_is_beyond: bool = False,
) -> Verdict:
    """`shown` is how many results pass `similarity_threshold`. `beyond` is the confidence without the reader's filters,
    where there are any, and `best_is_beyond` whether the best result of all lies outside them."""
    verdict = _within(confidence, score_threshold=score_threshold, shown=shown, similarity_threshold=similarity_threshold)
    if beyond is None or not beyond.should_answer or not best_is_beyond:
        return verdict
    gain = beyond.average_similarity - confidence.average_similarity
    if isinstance(verdict, Unanswerable) or gain >= CLEARLY_BETTER:
        return Unanswerable(
            reason="outside_filters",
            confidence=confidence,
            detail=f"within the filters {confidence.average_similarity:.2f}, without them {beyond.average_similarity:.2f}",
        )
    return verdict


def _within(confidence: ConfidenceMetrics, *, score_threshold: float, shown: int, similarity_threshold: float) -> Verdict:
    if confidence.num_chunks < MIN_CHUNKS_FOR_ANSWER:
        detail = "No content retrieved from knowledge base"
        return Unanswerable(reason="nothing_found", confidence=confidence, detail=detail)
    if confidence.max_similarity < score_threshold:
        detail = (
            f"All retrieved content has low relevance (max score: {confidence.max_similarity:.2f} < threshold: {score_threshold})"
        )
        return Unanswerable(reason="off_topic", confidence=confidence, detail=detail)
    if not confidence.should_answer:
        detail = f"average relevance {confidence.average_similarity:.2f} of {confidence.num_chunks} results is insufficient"
        return Unanswerable(reason="not_in_book", confidence=confidence, detail=detail)
    if shown < MIN_CHUNKS_FOR_ANSWER:
        detail = f"no result reaches the similarity threshold of {similarity_threshold}"
        return Unanswerable(reason="nothing_found", confidence=confidence, detail=detail)
    return Answerable(confidence=confidence)
