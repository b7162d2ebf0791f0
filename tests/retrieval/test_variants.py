"""What may stand for a word that the book does not have."""

from __future__ import annotations

import pytest

from bythebook.retrieval.variants import alikes, holds

FOUND = frozenset({"gyroscop", "languag", "model", "control", "checker"})


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("model", True),
        ("gyro", True),  # cut short
        ("controll", True),  # misspelt
        ("llm", True),  # written out in the book
        ("rl", False),
        ("checkerboard", False),  # a longer word is another word
        ("mod", False),  # too short to be one that was cut
        ("wick", False),
    ],
)
def test_a_word_is_held_as_it_is_or_as_one_like_it(asked: str, held: bool) -> None:
    assert holds(FOUND, asked, alikes([asked], FOUND)) is held


def test_an_abbreviation_needs_all_its_words() -> None:
    others = alikes(["llm"], FOUND)
    assert not holds({"model"}, "llm", others)
    assert holds({"model", "languag"}, "llm", others)
