"""What a reader would ask to be told a sentence, and the sentences that answer nothing by themselves."""

from __future__ import annotations

import pytest

from bythebook.evaluation.sentence_questions import LONGEST, asked_by_sentence

NAMES = {"Cookie", "Python"}


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("To declare cookies, you need to use Cookie.", "How do I declare cookies?"),
        ("In order to clean your lens, wipe it with linen.", "How do I clean my lens?"),
        ("If you want to share your data, put it into an archive.", "How do I share my data?"),
        ("But you can make your code citeable by assigning it a DOI.", "How do I make my code citeable?"),
        ("You can use the encoder to convert the input data.", "What can I use to convert the input data?"),
        ("A stopped container can be restarted by its name.", "How can a stopped container be restarted?"),
        ("PUT is used to receive data that should replace the existing data.", "What is PUT used for?"),
        ("The tool path is curved in task space, because forward kinematics is nonlinear.",
         "Why is the tool path curved in task space?"),
        ("This interaction to establish the connection is normally called the handshake.", "What is the handshake?"),
        ("If the actuator is saturated, the error persists.", "What happens if the actuator is saturated?"),
        ("If you declared a response_model, it still filters what you return.", "What happens if I declare a response_model?"),
        ("response_model receives the same type as a field.", "What does response_model receive?"),
        ("max_age - Sets a maximum time for browsers.", "What does max_age do?"),
    ],
)  # fmt: skip
def test_a_sentence_that_answers_by_itself_is_asked_for(sentence: str, question: str) -> None:
    assert asked_by_sentence(sentence, NAMES) == question


@pytest.mark.parametrize(
    "sentence",
    [
        "To do that, import the class.",
        "To open it, press the button.",  # which "it" is said before
        "To install the pump, do the following:",
        "You can read more about lenses by following the link.",
        "You can use it with a router.",
        "The function is used to read a file.",  # "the function" is named before
        "They can be trimmed with scissors.",
        "If you are new to this, begin with the first lesson.",
        "If your data is sensitive, you should encrypt it.",  # that is advice, and not what happens
        "If so, the lamp smokes at night.",
        "The keeper holds a lamp.",
        "Der Wärter putzt die Linse, um das Licht zu sehen.",
        f"To add {'x ' * LONGEST}, y is used.",
        "",
    ],
)
def test_a_sentence_that_needs_others_is_not_asked_for(sentence: str) -> None:
    assert asked_by_sentence(sentence, NAMES) is None


@pytest.mark.parametrize("unit", ["a_", "a.", "x ", "aB", "it is called ", "use to add ", "if a, "])
def test_no_sentence_takes_long(unit: str) -> None:
    """A pattern that tries every division of such a text would not end."""
    asked_by_sentence((unit * LONGEST)[:LONGEST], NAMES)
