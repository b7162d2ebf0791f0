"""Decides whether to answer: document E's ConfidenceMetrics, rule for rule, on relevance or (with the literal scale) on cosines;
then answer or refuse, and why. The documents' three thresholds stay three; a refusal is a result, never an error."""

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
    """Document E's ConfidenceMetrics: how sure the five best results make an answer."""

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
    """Document E's metrics. `similarities`: those of the pool, on the scale in use. `embeddings`: those of the same chunks.
    `all_there_is`: the book, or what the filters leave of it, has no more chunks than these."""
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
    """The level of an answer that a model drafted: that of the search, one higher where a judge of meaning removed nothing, one
    lower where more of the draft was removed than kept, but never lower than `low`."""
    levels: tuple[ConfidenceLevel, ...] = ("low", "medium", "high")
    place = levels.index(metrics.confidence_level) if metrics.confidence_level in levels else 0
    place += (judged and not removed) - (removed > kept)
    level = levels[min(max(0, place), len(levels) - 1)]
    return replace(metrics, confidence_level=level, should_answer=True)


def confidence_level(average: float, count: int, *, all_there_is: bool = False) -> ConfidenceLevel:
    """Document E's level. Where there is only one chunk, a second one cannot be required: it may answer alone, with the
    disclaimer of `low`."""
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


RefusalReason = Literal["nothing_found", "off_topic", "not_in_book", "outside_filters", "unsupported"]

DEFAULT_SCORE_THRESHOLD = 0.3
MIN_CHUNKS_FOR_ANSWER = 1
BETTER_BEYOND = 0.02
"""A reader is told to look beyond the filters if the book is this much more relevant there and its best result is there. A
larger margin would never be reached at the top of the scale, where relevances are close together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerable:
    """The book has the answer. At `low`, and below it where the gate is off, the answer gets a disclaimer."""

    confidence: ConfidenceMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswerable:
    """The book, as far as this reader may look into it, does not have the answer."""

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
    gate: bool = True,
    on_subject: bool = True,
    beyond: ConfidenceMetrics | None = None,
    best_is_beyond: bool = False,
) -> Verdict:
    """Decides whether to answer. `shown`: how many results pass `similarity_threshold`. `gate`: whether the confidence decides,
    too. `on_subject`: whether the question is near what the book is about. `beyond`: the confidence without the reader's
    filters, if there are any. `best_is_beyond`: whether the best result of all lies outside them."""
    verdict = _within(confidence, score_threshold, shown, similarity_threshold, on_subject, gate)
    if beyond is None or not best_is_beyond or not (beyond.should_answer if gate else beyond.max_similarity >= score_threshold):
        return verdict
    gain = beyond.average_similarity - confidence.average_similarity
    if isinstance(verdict, Unanswerable) or (gate and gain >= BETTER_BEYOND):
        within, without = confidence.average_similarity, beyond.average_similarity
        return _refuse("outside_filters", confidence, f"within the filters {within:.2f}, without them {without:.2f}")
    return verdict


def left_to_model(verdict: Verdict, *, score_threshold: float, shown: int) -> Verdict:
    """Whether the model decides if passages on the subject answer. A threshold that somebody set still holds, and if no result
    reaches the similarity threshold there is nothing to show the model."""
    if not isinstance(verdict, Unanswerable) or verdict.reason != "not_in_book" or not shown:
        return verdict
    asked_for = score_threshold > DEFAULT_SCORE_THRESHOLD and verdict.confidence.max_similarity < score_threshold
    return verdict if asked_for else Answerable(confidence=verdict.confidence)


def _within(
    confidence: ConfidenceMetrics, score_threshold: float, shown: int, similarity_threshold: float, on_subject: bool, gate: bool
) -> Verdict:
    missing: RefusalReason = "not_in_book" if on_subject else "off_topic"
    if confidence.num_chunks < MIN_CHUNKS_FOR_ANSWER:
        return _refuse("nothing_found", confidence, "No content retrieved from knowledge base")
    if confidence.max_similarity < score_threshold:
        best = f"max score: {confidence.max_similarity:.2f} < threshold: {score_threshold}"
        return _refuse(missing, confidence, f"All retrieved content has low relevance ({best})")
    if gate and not confidence.should_answer:
        average = f"average relevance {confidence.average_similarity:.2f} of {confidence.num_chunks} results"
        return _refuse(missing, confidence, f"{average} is insufficient")
    if shown < MIN_CHUNKS_FOR_ANSWER:
        return _refuse("nothing_found", confidence, f"no result reaches the similarity threshold of {similarity_threshold}")
    return Answerable(confidence=confidence)


def _refuse(reason: RefusalReason, confidence: ConfidenceMetrics, detail: str) -> Unanswerable:
    return Unanswerable(reason=reason, confidence=confidence, detail=detail)
