"""Answer or refuse: document A's gate, document E's levels, and the reason that is given."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.verdict import (
    BETTER_BEYOND,
    DEFAULT_SCORE_THRESHOLD,
    MIN_CHUNKS_FOR_ANSWER,
    Answerable,
    ConfidenceLevel,
    ConfidenceMetrics,
    RefusalReason,
    Unanswerable,
    Verdict,
    assess,
    decide,
    together,
)


def metrics(*similarities: float) -> ConfidenceMetrics:
    return assess(similarities, [])


def verdict(confidence: ConfidenceMetrics, **given: Any) -> Verdict:
    return decide(confidence, **{"score_threshold": 0.3, "shown": 5, "similarity_threshold": 0.0, **given})


def refused(confidence: ConfidenceMetrics, **given: Any) -> Unanswerable:
    decided = verdict(confidence, **given)
    assert isinstance(decided, Unanswerable)
    return decided


GOOD = metrics(0.9, 0.9, 0.9, 0.9, 0.9)
POOR = metrics(0.5, 0.4, 0.4, 0.4, 0.4)


def test_document_as_numbers() -> None:
    assert (DEFAULT_SCORE_THRESHOLD, MIN_CHUNKS_FOR_ANSWER) == (0.3, 1)


def test_nothing_retrieved() -> None:
    decided = refused(metrics())
    assert (decided.reason, decided.detail) == ("nothing_found", "No content retrieved from knowledge base")


def test_the_gate_stands_at_the_threshold() -> None:
    assert isinstance(verdict(GOOD, score_threshold=0.9), Answerable)
    decided = refused(GOOD, score_threshold=math.nextafter(0.9, 1))
    assert decided.reason == "not_in_book"
    below = refused(POOR, score_threshold=0.75)
    assert below.detail == "All retrieved content has low relevance (max score: 0.50 < threshold: 0.75)"


def test_an_insufficient_average_refuses_though_the_best_passes_the_gate() -> None:
    decided = refused(metrics(0.95, 0.2, 0.2, 0.2, 0.2))
    assert decided.reason == "not_in_book"
    assert "insufficient" in decided.detail


def test_one_good_result_alone_is_insufficient() -> None:
    """Document E asks for two."""
    assert refused(metrics(0.99)).reason == "not_in_book"


def test_low_answers() -> None:
    decided = verdict(metrics(0.6, 0.6))
    assert isinstance(decided, Answerable)
    assert decided.confidence.confidence_level == "low"


@pytest.mark.parametrize(
    ("level", "kept", "removed", "judged", "shown"),
    [
        ("medium", 2, 0, False, "medium"),
        ("medium", 2, 0, True, "high"),
        ("medium", 2, 1, True, "medium"),
        ("medium", 1, 2, True, "low"),
        ("high", 2, 0, True, "high"),
        ("low", 1, 2, False, "low"),
        ("insufficient", 1, 0, False, "low"),
        ("insufficient", 1, 0, True, "medium"),
    ],
)
def test_the_level_of_a_models_answer_is_the_searchs_and_the_judges(
    level: ConfidenceLevel, kept: int, removed: int, judged: bool, shown: str
) -> None:
    decided = together(replace(POOR, confidence_level=level), kept=kept, removed=removed, judged=judged)
    assert (decided.confidence_level, decided.should_answer) == (shown, True)


def test_off_the_subject() -> None:
    assert refused(POOR, on_subject=False).reason == "off_topic"
    assert refused(POOR, score_threshold=0.75, on_subject=False).reason == "off_topic"
    assert isinstance(verdict(GOOD, on_subject=False), Answerable)  # what the book answers is its subject


def test_no_result_passes_the_similarity_threshold() -> None:
    decided = refused(GOOD, shown=0, similarity_threshold=0.95)
    assert (decided.reason, "0.95" in decided.detail) == ("nothing_found", True)


@pytest.mark.parametrize("within", [metrics(), POOR])
def test_what_the_filters_hide_is_told(within: ConfidenceMetrics) -> None:
    assert refused(within, beyond=GOOD, best_is_beyond=True).reason == "outside_filters"


def test_the_filters_are_not_blamed_for_what_the_book_does_not_have() -> None:
    assert refused(POOR, beyond=POOR, best_is_beyond=True).reason == "not_in_book"
    assert refused(POOR, beyond=GOOD, best_is_beyond=False).reason == "not_in_book"
    assert refused(metrics(), beyond=POOR, best_is_beyond=True).reason == "nothing_found"


def test_a_reader_is_sent_beyond_the_filters_only_when_it_is_clearly_better_there() -> None:
    within = metrics(*[0.7] * 5)
    assert refused(within, beyond=metrics(*[0.7 + BETTER_BEYOND + 0.01] * 5), best_is_beyond=True).reason == "outside_filters"
    assert isinstance(verdict(within, beyond=metrics(*[0.7 + BETTER_BEYOND - 0.01] * 5), best_is_beyond=True), Answerable)


@given(
    st.lists(st.floats(0, 1), max_size=5),
    st.floats(0, 1),
    st.integers(0, 5),
    st.booleans(),
    st.none() | st.lists(st.floats(0, 1), max_size=5),
    st.booleans(),
)
def test_an_answer_always_passes_all_three_thresholds(
    similarities: list[float], threshold: float, shown: int, on_subject: bool, beyond: list[float] | None, best_is_beyond: bool
) -> None:
    decided = verdict(
        metrics(*similarities),
        score_threshold=threshold,
        shown=shown,
        on_subject=on_subject,
        beyond=None if beyond is None else metrics(*beyond),
        best_is_beyond=best_is_beyond,
    )
    if isinstance(decided, Answerable):
        assert decided.confidence.should_answer
        assert max(similarities) >= threshold
        assert shown >= 1
    else:
        assert decided.reason in get_args(RefusalReason)
        assert decided.detail
