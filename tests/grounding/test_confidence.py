"""Document E's ConfidenceMetrics, to the letter."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bythebook.grounding.verdict import POOL, assess, chunk_diversity, confidence_level

JUST_BELOW = {level: math.nextafter(level, 0) for level in (0.85, 0.75, 0.60)}


def documents_rule(average_similarity: float, num_chunks: int) -> tuple[str, bool]:
    """As document E writes it."""
    if average_similarity >= 0.85 and num_chunks >= 5:
        return "high", True
    if average_similarity >= 0.75 and num_chunks >= 3:
        return "medium", True
    if average_similarity >= 0.60 and num_chunks >= 2:
        return "low", True
    return "insufficient", False


@pytest.mark.parametrize(
    ("average", "count", "level"),
    [
        (0.85, 5, "high"),
        (1.0, 9, "high"),
        (JUST_BELOW[0.85], 5, "medium"),
        (0.85, 4, "medium"),
        (0.75, 3, "medium"),
        (JUST_BELOW[0.75], 3, "low"),
        (0.99, 2, "low"),
        (0.60, 2, "low"),
        (JUST_BELOW[0.60], 2, "insufficient"),
        (JUST_BELOW[0.60], 9, "insufficient"),
        (0.99, 1, "insufficient"),
        (0.0, 0, "insufficient"),
    ],
)
def test_the_table_at_its_boundaries(average: float, count: int, level: str) -> None:
    assert confidence_level(average, count) == level
    assert documents_rule(average, count)[0] == level


@given(st.floats(0, 1), st.integers(0, 12))
def test_the_table_everywhere(average: float, count: int) -> None:
    assert confidence_level(average, count) == documents_rule(average, count)[0]


@given(st.lists(st.floats(0, 1), max_size=9))
def test_metrics_obey_the_documents_rules(similarities: list[float]) -> None:
    metrics = assess(similarities, [])
    assert metrics.num_chunks == len(similarities)
    assert metrics.min_similarity <= metrics.average_similarity <= metrics.max_similarity
    assert metrics.average_similarity == pytest.approx(np.mean(similarities) if similarities else 0.0)
    level, answers = documents_rule(metrics.average_similarity, metrics.num_chunks)
    assert (metrics.confidence_level, metrics.should_answer) == (level, answers)


@pytest.mark.parametrize(
    ("similarity", "count", "level"), [(0.6, 3, "low"), (0.6, 5, "low"), (0.85, 7, "high"), (0.75, 3, "medium")]
)
def test_equal_similarities_average_to_themselves(similarity: float, count: int, level: str) -> None:
    """Added and divided, three times 0.6 would fall below 0.6."""
    metrics = assess([similarity] * count, [])
    assert metrics.average_similarity == metrics.min_similarity == metrics.max_similarity == similarity
    assert metrics.confidence_level == level


def test_the_pool_is_large_enough_for_every_level() -> None:
    assert POOL >= 5


def test_diversity_is_one_minus_the_mean_of_all_pairs() -> None:
    chance = np.random.default_rng(1)
    rows = [chance.random(6).astype(np.float32) for _ in range(4)]

    def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))

    pairs = [cosine(one, other) for one, other in itertools.combinations(rows, 2)]
    assert chunk_diversity(rows) == pytest.approx(1 - sum(pairs) / 6, abs=1e-6)


def test_diversity_at_its_ends() -> None:
    same, across = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    assert chunk_diversity([]) == chunk_diversity([same]) == 0.0
    assert chunk_diversity([same, same, same]) == pytest.approx(0.0)
    assert chunk_diversity([same, across]) == pytest.approx(1.0)
    assert chunk_diversity([same, -same]) == 1.0  # opposites are not more than different


def test_one_chunk_may_answer_where_there_is_no_other_and_says_so_with_low() -> None:
    """A second one cannot be asked for. More than `low` it never is."""
    alone = [np.array([1.0, 0.0], np.float32)]
    assert assess([0.9], alone, all_there_is=True).confidence_level == "low"
    assert assess([0.9], alone).confidence_level == "insufficient"
    assert assess([0.5], alone, all_there_is=True).confidence_level == "insufficient"
    assert assess([], [], all_there_is=True).confidence_level == "insufficient"
    assert assess([0.9, 0.9], alone * 2, all_there_is=True).confidence_level == "low"
