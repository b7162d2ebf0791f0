"""The words of a question: its names, their weight, and what may replace a word that the book does not have."""

from __future__ import annotations

import pytest

from bythebook.index.lexical import words
from bythebook.retrieval.question_words import alikes, holds, lacking, names, negates, weighed


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How do I simulate a GPS receiver in Gazebo?", {"gps", "gazebo"}),
        ("How do I encrypt topics with SROS2?", {"sros2"}),
        ("What does rclpySpin do?", {"rclpyspin"}),
        ("Who landed in Brest in 1944?", {"brest", "1944"}),
        ("What is a node?", set()),
        ("Which chair is it? Chairs come in threes.", set()),
        ("Does a 640x480 camera at 30 fps in 3D need 20 ms?", set()),
        ("WHAT IS A NODE", {"node"}),
        ("Is it OK to drive?", set()),
    ],
)
def test_the_names_of_a_question(question: str, wanted: set[str]) -> None:
    assert names(question, "en", known=()) >= wanted
    if not wanted:
        assert not names(question, "en", known=())


def test_an_acronym_the_book_knows_is_not_insisted_on() -> None:
    asked = "When does the LLM call the PDDL planner of Lyon?"
    assert names(asked, "en", known={"llm", "lyon"}) == {"pddl", "lyon"}


def test_where_every_noun_has_a_capital_none_is_a_name() -> None:
    assert names("Wie findet der Roboter die Karte von SROS2?", "de", known=()) == {"sros2"}


def test_a_name_is_there_also_when_it_is_misspelt() -> None:
    assert lacking({"bismark", "sros2", "paris"}, {"bismarck", "ros2", "pari"}) == {"sros2"}
    assert not lacking((), {"anything"})


@pytest.mark.parametrize("text", ["It does not move.", "Why can\u2019t I?", "The run failed.", "without a map"])
def test_a_text_that_negates(text: str) -> None:
    assert negates(text, "en")
    assert not negates(text, "fr")


def test_a_text_that_does_not_negate() -> None:
    assert not negates("A notable node knows.", "en")


@pytest.mark.parametrize(
    ("question", "known", "weighing"),
    [
        ("flip left-right", {"flip", "left", "right"}, {"flip", "left", "right"}),  # no more than its parts
        ("on Wi-Fi", {"wifi", "wi", "fi"}, {"wifi"}),  # a word of its own
        ("use LoRA", {"use", "lora", "lo", "ra"}, {"use", "lora"}),
        ("use LoRA", {"use"}, {"use", "lora", "lo", "ra"}),
    ],
)
def test_each_word_is_weighed_once(question: str, known: set[str], weighing: set[str]) -> None:
    found = words(question, "en")
    rarity = {stem: 1.0 if stem in known else 6.0 for _, _, stem in found}
    assert weighed(found, rarity, most=6.0, question=question).keys() == weighing


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
