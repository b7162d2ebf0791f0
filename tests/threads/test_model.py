"""Documents B's and C's rules for a message, and a thread's small rules."""

from __future__ import annotations

import pytest

from bythebook.errors import InvalidInput
from bythebook.threads.model import Message, read_thread_id, title_of
from tests.support.made_turns import NOON


def test_a_question_is_not_empty() -> None:
    with pytest.raises(InvalidInput, match="must not be empty"):
        Message(role="user", content=" \n", timestamp=NOON)
    assert Message(role="assistant", content="", timestamp=NOON).content == ""


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_only_an_assistant_calls_a_tool(role: str) -> None:
    with pytest.raises(InvalidInput, match="Only an assistant's message calls a tool"):
        Message(role=role, content="x", timestamp=NOON, tool_calls=({"id": "1"},))  # type: ignore[arg-type]


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_only_a_tool_answers_a_call(role: str) -> None:
    with pytest.raises(InvalidInput, match="Only a tool's message answers a call"):
        Message(role=role, content="x", timestamp=NOON, tool_call_id="1")  # type: ignore[arg-type]


def test_an_id_is_kept_in_small_letters() -> None:
    assert read_thread_id("550E8400-E29B-41D4-A716-446655440000") == "550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize(
    "thread_id",
    [
        "550e8400e29b41d4a716446655440000",
        "{550e8400-e29b-41d4-a716-446655440000}",
        "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-c716-446655440000",
        "550e8400-e29b-41d4-a716-446655440000\n",
        "٥50e8400-e29b-41d4-a716-446655440000",
        "../threads",
    ],
)
def test_no_other_form_is_taken(thread_id: str) -> None:
    with pytest.raises(InvalidInput, match="UUID of version 4"):
        read_thread_id(thread_id)


def test_a_long_question_makes_a_short_title() -> None:
    assert title_of("What\n is  a wick? ") == "What is a wick?"
    assert title_of("w" * 500) == "w" * 119 + "…"
