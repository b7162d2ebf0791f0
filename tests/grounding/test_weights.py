"""Weights from questions that were asked, and from a book's text alone."""

from __future__ import annotations

import numpy as np
import pytest

from bythebook.grounding.calibration import Signals
from bythebook.grounding.weights import LEAST_SCALES, PASSING, USUAL, fitted, fitted_by_text

NAMES = tuple(USUAL)
DRAW = np.random.default_rng(3)
ANSWERABLE = np.array([True] * 30 + [False] * 30)
NOWHERE = np.zeros(60, dtype=bool)


def rows(*, apart: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    made = DRAW.normal(0.5, 0.1, (60, len(NAMES)))
    made[:30, NAMES.index(apart)] += 0.3
    return made


def test_every_signal_has_its_usual_weight_and_least_scale() -> None:
    told = Signals(**dict.fromkeys(("top_cosine", *USUAL), 0.5))
    assert told.names == NAMES == tuple(LEAST_SCALES)
    assert min(USUAL.values()) >= 0.0


def test_what_parts_the_questions_weighs_most() -> None:
    weighing = fitted(rows(apart="agreement"), ANSWERABLE, NOWHERE)
    assert NAMES[int(np.argmax(weighing.coefficients))] == "agreement"


def test_a_books_text_adds_to_the_usual_weights() -> None:
    """The names of a question never fail to be found where the question was made from the page."""
    given = rows(apart="rare_coverage")
    given[:, NAMES.index("names_found")] = 1.0
    weighing = fitted_by_text(given, ANSWERABLE, NOWHERE, ~NOWHERE, NAMES)
    weights = dict(zip(NAMES, weighing.coefficients, strict=True))
    assert weights["names_found"] == pytest.approx(USUAL["names_found"])
    assert weights["rare_coverage"] > USUAL["rare_coverage"]
    assert weighing.scales[NAMES.index("names_found")] == LEAST_SCALES["names_found"]


def test_other_subjects_weigh_little_beside_near_ones() -> None:
    """Twenty times as many easy questions move the place where answers begin hardly at all."""
    given = rows(apart="rare_coverage")
    foreign = np.array([False] * 45 + [True] * 15)
    many = np.vstack([given, *[given[45:]] * 19])
    once = fitted(given, ANSWERABLE, foreign)
    often = fitted(many, np.append(ANSWERABLE, [False] * 285), np.append(foreign, [True] * 285))
    assert (once.score(given) > 0).mean() == pytest.approx((often.score(given) > 0).mean(), abs=0.1)


def test_made_questions_that_stand_far_above_the_held_out_ones_draw_the_line_up_to_them() -> None:
    """Between the two lies what is near the subject and missing: the middle would answer all of it."""
    chance = np.random.default_rng(5)
    spread = np.array([LEAST_SCALES[name] for name in NAMES])
    answered = 0.9 + spread * chance.normal(size=(50, len(NAMES))) / 10
    given = np.vstack([answered, answered - 5 * spread, np.zeros((20, len(NAMES)))])
    truth = np.arange(len(given)) < 50
    foreign = np.arange(len(given)) >= 100
    weighing = fitted_by_text(given, truth, foreign, ~foreign, NAMES)
    assert (weighing.score(answered) >= 0).mean() == pytest.approx(PASSING, abs=0.02)
    assert (weighing.score(given[~truth]) < 0).all()
