"""What models put around an answer, taken off however the stream was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.drafting.openai_agents.sentence_stream import marked_at_its_end
from bythebook.drafting.openai_agents.unwrapper import DECIDED, Unwrapper

ANSWER = "A node is one process [1]."
CALL = '{"name": "search", "arguments": {"query": "timer"}}'


def unwrapped(text: str, piece: int = 5) -> tuple[str, str | None]:
    unwrapper = Unwrapper()
    pieces = [unwrapper.feed(text[start : start + piece]) for start in range(0, len(text), piece)]
    return "".join([*pieces, unwrapper.flush()]), unwrapper.call


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ANSWER, ANSWER),
        ("", ""),
        ("No.", "No."),
        ("<think>Hm. <b>Nodes</b>?</think>" + ANSWER, ANSWER),
        ("<THINK>\nHm.\n</THINK>\n<reasoning>Well.</reasoning>\n" + ANSWER, ANSWER),
        ("<think>Hm, and it never ends", ""),
        ("<node> is the tag that starts one [1].", "<node> is the tag that starts one [1]."),
        (f"Answer: {ANSWER}", ANSWER),
        (f"**Final Answer**: {ANSWER}", ANSWER),
        ("Answers to a service call come at once [1].", "Answers to a service call come at once [1]."),
        (f'{{"answer": "{ANSWER}"}}', ANSWER),
        (f'{{\n "response": "{ANSWER}\n"\n}}', f"{ANSWER}\n"),
        ('{"speed": 3} is what the message holds [1].', '{"speed": 3} is what the message holds [1].'),
        ('{"speed": 3}', '{"speed": 3}'),
        (f"```\n{ANSWER}\n```", ANSWER),
        (f"```text\n{ANSWER[:-5]}.\n```", f"{ANSWER[:-5]}."),
        ("```\nros2 node list\n``` [1]", "```\nros2 node list\n``` [1]"),
        ("```\nros2 node list\n```", "```\nros2 node list\n```"),
        ("```xml\n<joint/>\n```\nThat is a joint [1].", "```xml\n<joint/>\n```\nThat is a joint [1]."),
        ("`ros2 node list` shows them all [1].", "`ros2 node list` shows them all [1]."),
    ],
)
def test_only_what_is_around_it_goes(text: str, answer: str) -> None:
    assert unwrapped(text) == (answer, None)


@pytest.mark.parametrize("text", [CALL, f"```json\n{CALL}\n```", f"<tool_call>{CALL}</tool_call>", f"<tool_call>\n{CALL}"])
def test_a_call_that_is_written_out_is_no_answer(text: str) -> None:
    assert unwrapped(text) == ("", '{"query": "timer"}')


def test_an_answer_that_is_not_wrapped_does_not_wait_for_its_end() -> None:
    unwrapper = Unwrapper()
    begun = "`ros2 node list` shows all nodes"
    assert unwrapper.feed(begun[: DECIDED - 1]) == ""
    assert unwrapper.feed(begun[DECIDED - 1 :]) == begun
    assert unwrapper.feed(" <think>") == " <think>"


@given(st.text(alphabet='<>/think`{}"answer: \n~[1]', max_size=60), st.integers(min_value=1, max_value=60))
def test_how_the_stream_was_cut_does_not_matter(text: str, piece: int) -> None:
    assert unwrapped(text, piece) == unwrapped(text, max(1, len(text)))


@pytest.mark.parametrize(
    ("sentence", "moved"),
    [
        ("According to [1], a node is a process.", "A node is a process. [1]"),
        ("As stated in the results [1][2], nodes talk.", "Nodes talk. [1][2]"),
        ("Based on [1] and [3], nodes talk.", "Nodes talk. [1][3]"),
        ("According to the keeper, nodes talk [1].", "According to the keeper, nodes talk [1]."),
    ],
)
def test_markers_that_a_sentence_begins_with_go_to_its_end(sentence: str, moved: str) -> None:
    assert marked_at_its_end(sentence) == moved
