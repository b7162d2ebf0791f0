"""Two orders made one, and how close together a question's words stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bythebook.index.vectors import Candidate
from bythebook.retrieval.fusion import WINDOW_CHARACTERS, Closeness, fuse

score = st.floats(-1, 1, width=32)
candidates = st.lists(
    st.builds(Candidate, id=st.uuids().map(str), cosine=score, lexical=st.floats(0, 50, width=32)), unique_by=lambda one: one.id
)


@given(candidates)
def test_the_order_does_not_depend_on_the_order_of_the_candidates(found: list[Candidate]) -> None:
    turned = sorted(found, key=lambda one: one.id, reverse=True)
    assert fuse(found) == fuse(turned)
    assert sorted(one.id for one, _ in fuse(found)) == sorted(one.id for one in found)


@given(candidates)
def test_scores_fall_and_stay_between_0_and_1(found: list[Candidate]) -> None:
    scores = [fused for _, fused in fuse(found)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= one <= 1 + 1e-6 for one in scores)


def test_what_is_better_on_both_sides_comes_first() -> None:
    best = Candidate(id="b", cosine=0.9, lexical=9)
    rest = [Candidate(id="a", cosine=0.8, lexical=3), Candidate(id="c", cosine=0.1, lexical=8)]
    assert fuse([*rest, best])[0][0] == best


def test_ties_are_ordered_by_id() -> None:
    same = [Candidate(id=name, cosine=0.5, lexical=1) for name in "cab"]
    assert [one.id for one, _ in fuse(same)] == ["a", "b", "c"]


def close(question: str, text: str, language: str = "en") -> float:
    return Closeness(question, language).of(text.casefold())


def test_words_that_stand_together_are_closer_than_words_apart() -> None:
    apart = "the hip " + "x " * WINDOW_CHARACTERS + "bends"
    assert close("hip bends", "The HIP bends.") == 1.0
    assert 0 < close("hip bends", apart) < 1
    assert close("hip bends", "nothing of it") == 0.0
    assert close("hip bends", "") == 0.0


def test_the_window_is_as_wide_as_it_says() -> None:
    inside, outside = (f"hip{' ' * (WINDOW_CHARACTERS - 3 + more)}bends" for more in (0, 1))
    assert close("hip bends", inside) == 1.0
    assert close("hip bends", outside) < 1.0


def test_a_word_counts_once_and_where_it_begins() -> None:
    assert close("hip bends", "hip hip hip hip") == close("hip bends", "hip")
    assert close("hip", "the chip ships_hip") == 0.0
    assert close("happy courses", "happiness of a course") == 1.0


def test_longer_words_weigh_more() -> None:
    assert close("leg quadruped", "a quadruped") > 0.5 > close("leg quadruped", "a leg")


def test_scripts_without_spaces_match_anywhere() -> None:
    assert close("机器人", "这是一个机器人手臂", "zh") == 1.0


@given(st.text(max_size=300), st.text(min_size=3, max_size=60))
def test_closeness_is_between_0_and_1(text: str, question: str) -> None:
    assert 0.0 <= close(question, text) <= 1.0 + 1e-9


WORDS = st.lists(st.sampled_from(["knee", "knees", "hip", "toe", "and", "膝"]), min_size=1, max_size=6)


@given(WORDS, st.text("kneship to膝", max_size=300))
def test_closeness_is_never_above_its_bound(asked: list[str], text: str) -> None:
    measure = Closeness(" ".join(asked), "en")
    assert measure.of(text) <= measure.at_most(text) + 1e-9
