"""Which texts have the shape of answer that a question asks for, and which statements answer nothing."""

from __future__ import annotations

import pytest

from bythebook.books.statements import statements
from bythebook.retrieval.answer_shapes import gives, says_nothing


@pytest.mark.parametrize(
    ("question", "text", "given"),
    [
        ("How many lamps are there?", "There are two lamps.", True),
        ("How many lamps are there?", "There are lamps.", False),
        ("What is a usual value for gamma?", "Rewards are discounted by gamma.", False),
        ("In which year was it lit?", "Tower 2 was lit.", False),
        ("In which year was it lit?", "It was lit in 1874.", True),
        ("Why is it lit?", "There are lamps.", True),  # no number is asked for
    ],
)
def test_a_number_is_there_where_one_is_asked_for(question: str, text: str, given: bool) -> None:
    assert gives(question, [text], "en") is given
    assert gives(question, [text], "fr")


@pytest.mark.parametrize(
    ("sentence", "points"),
    [
        ("See [Logging](logs.md) for more information.", True),
        ("(See Permanent changes: The par() function, for more details on the par() function.)", True),
        ("(See the permanent changes, for more details on the function.)", True),
        ("For more details, please refer to the manual of the robot.", True),
        ("See the wheel turn? It is the left one.", False),
        ("Seeing is believing for a camera.", False),
        ("The camera sees the wheel; see the manual for its angle.", False),
    ],
)
def test_a_sentence_that_only_names_a_place_says_nothing(sentence: str, points: bool) -> None:
    first = statements("", sentence)[0]
    assert (says_nothing(first, sentence) == 1.0) is points
