from __future__ import annotations

import math

import pytest

from bench.ranking import Quality, quality, rank_of
from bench.retrieval import BM25, DENSE, OURS, ahead, rows_for


def test_a_rank_is_that_of_the_first_result_of_the_lesson() -> None:
    order = ["a", "a", "b", "a", "c"]
    assert rank_of("a", order) == 1
    assert rank_of("b", order) == 3
    assert rank_of("c", order) == 5
    assert rank_of("d", order) is None


def test_quality_of_known_ranks() -> None:
    found = quality([1, 3, 10, 11, None])
    assert found.recall_at_1 == pytest.approx(1 / 5)
    assert found.recall_at_5 == pytest.approx(2 / 5)
    assert found.recall_at_10 == pytest.approx(3 / 5)
    assert found.mrr_at_10 == pytest.approx((1 + 1 / 3 + 1 / 10) / 5)
    assert found.ndcg_at_10 == pytest.approx((1 + 1 / 2 + 1 / math.log2(11)) / 5)


def test_ours_must_be_ahead_in_every_figure() -> None:
    better, worse, perfect = quality([1, 1, 2]), quality([1, 7, None]), quality([1, 1, 1])
    assert ahead({OURS: better, BM25: worse, DENSE: worse}) is True
    assert ahead({OURS: better, BM25: worse, DENSE: better}) is False
    assert ahead({OURS: worse, BM25: better, DENSE: worse}) is False
    assert ahead({OURS: perfect, BM25: perfect, DENSE: worse}) is True


def test_rows_name_the_method_and_judge_ours_alone() -> None:
    rows = rows_for("toy", {OURS: [1, 1], BM25: [2, 2], DENSE: [None, 20]})
    assert [row[2] for row in rows] == [BM25, DENSE, OURS]
    assert rows[0][3:8] == ("0.000", "1.000", "1.000", "0.500", "0.631")
    assert rows[1][3:8] == ("0.000",) * 5
    assert [row[-1] for row in rows] == ["", "", "met"]


def test_figures_come_in_the_order_of_the_columns() -> None:
    each = Quality(recall_at_1=0.1, recall_at_5=0.2, recall_at_10=0.3, mrr_at_10=0.4, ndcg_at_10=0.5)
    assert each.figures() == (0.1, 0.2, 0.3, 0.4, 0.5)
