"""Numbers as quantities: the same however written, and another where anything in them differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.citations import Checker, Supported, Unsupported
from bythebook.grounding.quantities import equal, quantities, reciprocal
from bythebook.retrieval.evidence import Evidence
from tests.support.checker_cases import Draft
from tests.support.made_chunks import chunk


def pairs(text: str) -> list[tuple[str, str]]:
    return [one.pair for one in quantities(text)]


def is_released(source: str, said: str, basis: str = "") -> bool:
    checker = Checker([Evidence(label=1, passages=(chunk(source),), score=0.8, relevance=0.8)], "en")
    return not isinstance(checker.weigh(Draft(text=said, labels=(1,), basis=basis)), Unsupported)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.50 m", [("0.5", "m")]),
        ("half a metre", [("0.5", "m")]),
        ("100.0 Newtons", [("100", "N")]),
        ("three thousand kilograms", [("3000", "kg")]),
        ("two hundred and fifty hours", [("250", "h")]),
        ("twenty-five rows", [("25", "")]),
        ("two and three", [("2", ""), ("3", "")]),
        ("1.5 billion weights", [("1500000000", "")]),
        ("20M weights", [("20000000", "")]),
        ("in the 1970s", [("1970s", "")]),
        ("Python 3.10", [("3.10", "")]),
        ("version 0.99.0", [("0.99.0", "")]),
        ("−4 °C", [("-4", "°C")]),
    ],
)
def test_a_number_is_known_by_its_value_and_unit(text: str, found: list[tuple[str, str]]) -> None:
    assert pairs(text) == found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.5 m", "50 centimetres", True),
        ("500 ms", "half a second", True),
        ("2 hours", "120 minutes", True),
        ("2 hours", "120 seconds", False),
        ("1 GB", "1,000 MB", True),
        ("3 kg", "3 g", False),
    ],
)
def test_quantities_convert(one: str, other: str, same: bool) -> None:
    assert equal(pairs(one)[0], pairs(other)[0]) == same


def test_a_rate_and_its_period() -> None:
    assert reciprocal(("30", "Hz"), ("0.033", "s"))
    assert not reciprocal(("30", "Hz"), ("0.05", "s"))


MOTOR = """\
The motor lifts three kilograms with a force of 100 N. At least two people carry it. A reading costs $0.04 per minute of use.
The loop runs at 50 Hz, and its period is what remains for one cycle. The arm is 0.5 m long.
"""


@pytest.mark.parametrize(
    "said",
    [
        "The motor lifts 3 kg.",
        "The motor's force is 100.0 newtons.",
        "The arm is half a metre long.",
        "The arm is 50 cm long.",
        "Two or more people carry it.",
        "One cycle of the loop has a period of 0.02 s.",
        "A minute of use costs $0.04.",
        "Two things are told of the motor: it lifts three kilograms, and its force is 100 N.",
    ],
)
def test_no_true_number_falls(said: str) -> None:
    assert is_released(MOTOR, said)


@pytest.mark.parametrize(
    "said",
    [
        "The motor lifts three thousand kilograms.",
        "The motor lifts three hundred kilograms.",
        "The motor lifts three million kilograms.",
        "The motor lifts a dozen kilograms.",
        "The motor lifts three grams.",
        "The motor's force is 1,000 N.",
        "At most two people carry it.",
        "A reading costs $0.04 per hour of use.",
        "One cycle of the loop has a period of 0.05 s.",
        "The arm is 5 m long.",
        "The arm is half a kilometre long.",
    ],
)
def test_no_wrong_number_passes(said: str) -> None:
    assert not is_released(MOTOR, said)


def test_a_number_beside_the_quoted_words_is_anothers() -> None:
    source = "The small pump moves 12 litres. The large pump moves 40 litres.\n"
    assert is_released(source, "The large pump moves 40 litres a day.", "The large pump moves 40 litres.")
    assert not is_released(source, "The large pump moves 12 litres a day.", "The large pump moves 40 litres.")


def test_a_unit_without_a_number_is_held_too() -> None:
    source = "The clock counts the seconds since the start.\n"
    assert is_released(source, "The clock tells how many seconds have passed since the start.")
    assert not is_released(source, "The clock tells how many milliseconds have passed since the start.")


@given(st.integers(1, 999_999))
def test_every_whole_number_is_read_as_itself(number: int) -> None:
    assert [one.value for one in quantities(f"It has {number:,} parts.")] == [str(number)]


def test_the_readers_own_number_may_be_repeated_where_meaning_is_judged() -> None:
    held = [Evidence(label=1, passages=(chunk("Plan for around 200 rules.\n"),), score=0.8, relevance=0.8)]
    said = Draft(text="Thirty rules are too few: plan for around 200 rules.", labels=(1,))
    assert not isinstance(Checker(held, "en", "Are 30 rules enough?").weigh(said), Unsupported)
    assert isinstance(Checker(held, "en").weigh(said), Unsupported)
    assert not isinstance(Checker(held, "en", "Are 30 rules enough?").check(said), Supported)
