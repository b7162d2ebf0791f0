"""The second one, the last one, the latter: what they are after an answer that names several things."""

from __future__ import annotations

import pytest

from bythebook.drafting.draft import Exchange
from bythebook.followups.enumerations import with_item
from bythebook.followups.rules import standalone


@pytest.mark.parametrize(
    ("question", "answer", "made"),
    [
        ("How long is the second one lit?", "There are two lamps: the great lamp and the harbour lamp.", "harbour lamp"),
        ("What is the last one for?", "Oil, wicks, chimneys and matches. [1]", "matches"),
        ("Is the latter cheaper?", "Yes, for example with rape oil or with paraffin.", "paraffin"),
        (
            "How long does the third step take?",
            "First trim the wick, second fill the tank, third light the lamp.",
            "light the lamp",
        ),
        (
            "Why the first one?",
            "It has three parts. [1]\n- **Lens**: bends the light. [1]\n- Lamp - makes it. [1]\n- Hood [1]",
            "Lens",
        ),
    ],
)
def test_the_thing_stands_in_its_place(question: str, answer: str, made: str) -> None:
    assert made in with_item(question, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the fifth one?", "A lens and a lamp."),
        ("What is the second one?", "The lamp is lit at dusk."),
        ("Is the first keeper of the tower known?", "A lens and a lamp."),
        ("Where is the lens?", "A lens and a lamp."),
    ],
)
def test_what_the_answer_does_not_tell_is_left_as_it_is(question: str, answer: str) -> None:
    assert with_item(question, answer) == question


def test_the_subject_of_the_thread_stays_with_it() -> None:
    history = [
        Exchange(question="Which lamps does the tower of Hollow Point have?", answer="The great lamp and the harbour lamp.")
    ]
    made = standalone("How far is the second one seen?", history, "en")
    assert made.startswith("How far is harbour lamp seen (")
    assert "Hollow Point" in made
