"""What retrieval says about a question, number by number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.calibration import FIELD, Glance, Scores, Signals, glance, measure
from bythebook.grounding.verdict import POOL


def made(**given: object) -> Signals:
    asked: dict[str, object] = {"most_rare": 5.0, "candidates": (), "pool": (), "cosines": (), **given}
    return measure({"wick": 3.0, "keeper": 1.0}, **asked)  # type: ignore[arg-type]


def test_nothing_found_gives_nothing() -> None:
    signals = made()
    assert set(signals.vector) == {0.0, 1.0}
    assert signals.known_share == signals.names_found == signals.same_sense == 1.0  # nothing was asked that is not there


def test_the_rarest_words_count_most() -> None:
    assert made(pool=[{"wick"}, {"keeper", "oil"}]).rare_coverage == 0.9
    assert made(pool=[{"keeper", "oil"}]).rare_coverage == 0.1
    assert made(pool=[{"wick", "keeper"}]).rare_coverage == 1.0


def test_words_the_book_does_not_have_are_unknown() -> None:
    signals = measure({"wick": 3.0, "zebra": 5.0}, most_rare=5.0, candidates=(), pool=[{"wick"}], cosines=())
    assert signals.known_share == 3 / 8
    assert signals.rare_coverage == 9 / 34


def test_an_unknown_word_cut_short_is_known() -> None:
    signals = measure({"wick": 3.0, "light": 5.0}, most_rare=5.0, candidates=(), pool=[{"wick", "lighthous"}], cosines=())
    assert (signals.known_share, signals.rare_coverage) == (1.0, 1.0)


def test_a_number_that_is_asked_for_and_not_there() -> None:
    assert (made(kind_found=False).kind_found, made().kind_found) == (0.0, 1.0)


def test_a_missing_name_counts_by_its_rarity_where_fewest_are_missing() -> None:
    assert made(lacking=[{"wick", "keeper"}, {"keeper"}]).names_found == pytest.approx(0.8)
    assert made(lacking=[{"wick"}, ()]).names_found == 1.0
    assert made(lacking=[{"sros2"}]).names_found == 0.0  # the book does not have it at all
    assert made(lacking=[{"wick", "keeper", "sros2"}]).names_found == 0.0


def test_a_question_that_negates_and_a_book_that_does_not() -> None:
    assert (made(contrary=True).same_sense, made().same_sense) == (0.0, 1.0)


def test_what_is_fitted_has_a_name_each() -> None:
    signals = made()
    assert len(signals.names) == len(signals.vector)
    assert "top_cosine" not in signals.names


def test_the_margin_is_measured_against_the_field_behind_the_pool() -> None:
    cosines = [0.9, 0.5, 0.5, 0.5, 0.5] + [0.2] * (FIELD - POOL) + [0.0] * 10
    signals = made(candidates=[Scores(cosine=cosine, lexical=0.0) for cosine in cosines])
    assert signals.top_cosine == 0.9
    assert math.isclose(signals.cosine_margin, 0.7)
    few = made(candidates=[Scores(cosine=0.9, lexical=0.0), Scores(cosine=0.4, lexical=0.0)])
    assert math.isclose(few.cosine_margin, 0.5)


def test_agreement_is_the_share_of_the_pool_that_both_retrievals_chose() -> None:
    same = [Scores(cosine=1 - place / 10, lexical=10.0 - place) for place in range(8)]
    assert made(candidates=same).agreement == 1.0
    against = [Scores(cosine=place, lexical=-place) for place in range(10)]
    assert made(candidates=against).agreement == 0.0


def test_the_nearest_sentence() -> None:
    assert made(cosines=[0.2, 0.8, 0.5]).sentence_cosine == 0.8


def test_a_glance_has_what_needs_no_reading() -> None:
    candidates = [Scores(cosine=0.6, lexical=1.0), Scores(cosine=0.4, lexical=0.5)]
    seen = glance(candidates, 0.7)
    assert isinstance(seen, Glance)
    assert seen.vector == pytest.approx((0.6, 0.2, 0.4, 0.7))
    full = made(candidates=candidates)
    assert (full.top_cosine, full.cosine_margin, full.agreement) == seen.vector[:3]


@given(
    st.lists(st.builds(Scores, cosine=st.floats(0, 1), lexical=st.floats(0, 50)), max_size=30),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 5)),
)
def test_every_signal_stays_between_zero_and_one(candidates: list[Scores], rarity: dict[str, float]) -> None:
    signals = measure(
        rarity,
        most_rare=5.0,
        candidates=candidates,
        pool=[{"a", "b"}, {"c"}],
        cosines=[0.3],
        lacking=[{"a"}, {"x"}],
    )
    assert all(-1e-9 <= value <= 1 + 1e-9 for value in signals.vector)
