"""Telling two kinds of rows apart, checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bythebook.grounding.weights import area, best_threshold, regress


def test_a_column_that_parts_the_rows_gets_the_weight_and_one_that_does_not_gets_none() -> None:
    rows = np.array([[1.0, 1.0], [2.0, -1.0], [-1.0, 1.0], [-2.0, -1.0]] * 5)
    coefficients, intercept = regress(rows, np.array([1.0, 1.0, 0.0, 0.0] * 5))
    assert coefficients[0] > 0.3
    assert abs(coefficients[1]) < 0.1
    assert abs(intercept) < 0.1


def test_both_kinds_weigh_the_same() -> None:
    rows, truth = np.array([[1.0]] * 10 + [[-1.0]] * 90), np.array([1.0] * 10 + [0.0] * 90)
    assert regress(rows, truth)[1] == pytest.approx(0.0, abs=1e-6)


def test_area_and_threshold_by_hand() -> None:
    yes, no = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])
    assert area(yes, no) == pytest.approx(5.5 / 6)  # a tie is half a win
    assert area(no, no) == 0.5
    assert best_threshold(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == (1.5, 1.0)
    place, accuracy = best_threshold(np.array([0.0]), np.array([1.0]))
    assert accuracy == 0.5
    assert not math.isnan(place)
