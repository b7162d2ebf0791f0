"""Two orders made one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bythebook.index.vectors import Candidate
from bythebook.retrieval.fusion import fuse

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
