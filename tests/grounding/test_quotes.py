"""The words that a sentence says it rests on, found in the book."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Doubtful, Unsupported
from bythebook.grounding.quotes import find_quote
from bythebook.grounding.support import checked_source
from bythebook.retrieval.evidence import Evidence
from tests.support.checker_cases import TEXTS, Draft, evidence, passage
from tests.support.made_chunks import chunk

SOURCES = [checked_source(passage(label), "en") for label in TEXTS]


def found(quote: str) -> list[str]:
    return [one.source.chunk.text[one.start : one.end] for one in find_quote(quote, SOURCES)]


def test_a_quote_is_found_whatever_its_marks_and_spaces() -> None:
    assert found("A node is a named\nprogram that does one job") == ["A **node** is a named program that does one job"]
    assert found('"The controller runs at 500 Hz."') == ["The controller runs at 500 Hz."]


def test_code_at_either_end_of_a_quote_keeps_its_marks() -> None:
    assert found("rclpy.spin(node) at the end of main") == ["`rclpy.spin(node)` at the end of `main`."]


def test_a_quote_may_leave_out_and_run_over_two_passages() -> None:
    assert found("Nodes find each other … The controller runs at 500 Hz.") == [
        "Nodes find each other",
        "The controller runs at 500 Hz.",
    ]
    across = "Call `rclpy.spin(node)` at the end of `main`. The controller runs at 500 Hz."
    assert found(across) == ["Call `rclpy.spin(node)` at the end of `main`.", "The controller runs at 500 Hz."]


def test_the_nearest_true_span_stands_for_a_quote_with_a_slip() -> None:
    said = "The planner runs at 2 Hz, since a new path is seldom needed."
    assert found(said) == ["The planner runs at 2 Hz, because a new path is seldom needed."]


def test_what_is_not_there_is_not_found() -> None:
    assert found("Robots dream of electric sheep every night") == []
    assert found("") == []
    assert found("Robots need no emergency stop.") == []  # it stands in a paragraph that speaks to a model


def test_a_sentence_whose_quote_is_invented_is_not_released() -> None:
    checker = Checker(evidence(), "en")
    draft = Draft(text="The lidar's view ends somewhere.", labels=(2,), basis="Our lidar is blind beyond the garden fence.")
    weighed = checker.weigh(draft)
    assert isinstance(weighed, Unsupported)
    assert weighed.reason == "rests on words that its sources do not have"


def test_a_quote_under_a_confused_label_is_cited_where_it_stands() -> None:
    draft = Draft(text="A planner is slow: twice a second.", labels=(1,), basis="The planner runs at 2 Hz")
    weighed = Checker(evidence(), "en").weigh(draft)
    assert isinstance(weighed, Doubtful)
    assert [one.label for one in weighed.supported.citations] == [2]


@given(st.data())
def test_every_stretch_of_words_is_found_as_it_stands(data: st.DataObject) -> None:
    words = data.draw(
        st.lists(st.sampled_from(["stone", "lamp", "glass", "oil", "brass", "wick", "salt"]), min_size=4, max_size=30)
    )
    text = " ".join(words) + ".\n"
    first = data.draw(st.integers(0, len(words) - 3))
    last = data.draw(st.integers(first + 2, len(words)))
    source = checked_source(chunk(text), "en")
    (one,) = find_quote(" ".join(words[first:last]), [source])
    assert "".join(text[one.start : one.end].rstrip(".").split()) == "".join(words[first:last])
    assert (
        Evidence(label=1, passages=(source.chunk,), score=1.0, relevance=1.0).text[one.start : one.end]
        == text[one.start : one.end]
    )
