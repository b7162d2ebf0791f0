"""An answer in JSON or in lines, read as it streams: the same sentences, each with the words it rests on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.drafting.openai_agents.quoted_text import QuotedText
from bythebook.drafting.openai_agents.unwrapper import Unwrapper

SENTENCES = [("A node is a process.", "node {is} one [process]", 1), ("It sends messages.", 'messages "on topics" \\ daily', 2)]
JSON = json.dumps(
    {
        "answered": True,
        "search": "",
        "sentences": [{"quote": quote, "label": label, "text": text} for text, quote, label in SENTENCES],
    }
)
OPENED = json.dumps({"opening": 'A "node" \\ is {one} [thing].', **json.loads(JSON)})
LINES = "".join(f"> {quote}\n{text} [{label}]\n\n" for text, quote, label in SENTENCES)
READ = [(f"{text} [{label}]", quote) for text, quote, label in SENTENCES]


def read(text: str, piece: int = 5) -> tuple[list[tuple[str, str]], Unwrapper]:
    unwrapper, lines = Unwrapper(), QuotedText()
    found = []
    for start in range(0, len(text), piece):
        found += lines.feed(unwrapper.feed(text[start : start + piece]))
    found += [*lines.feed(unwrapper.flush()), *lines.flush()]
    return [(sentence, basis) for sentence, basis, _ in found], unwrapper


@pytest.mark.parametrize(
    "form", [JSON, LINES, f"```json\n{JSON}\n```", f"<think>Well.</think>\n{JSON}", json.dumps(json.loads(JSON), indent=2)]
)
@given(piece=st.integers(1, 400))
def test_both_forms_say_the_same_however_they_are_cut(form: str, piece: int) -> None:
    assert read(form, piece)[0] == READ


def test_a_sentence_of_json_comes_as_soon_as_it_is_complete() -> None:
    unwrapper, lines = Unwrapper(), QuotedText()
    half = JSON.index("}, {") + 1
    assert [sentence for sentence, _, _ in lines.feed(unwrapper.feed(JSON[:half]))] == [READ[0][0]]


@given(piece=st.integers(1, 400))
def test_an_opening_comes_first_and_by_itself_however_it_is_cut(piece: int) -> None:
    assert read(OPENED, piece)[0] == [('A "node" \\ is {one} [thing].', ""), *READ]


def test_an_opening_comes_as_soon_as_its_string_has_ended() -> None:
    unwrapper, lines = Unwrapper(), QuotedText()
    assert [said for said, _, _ in lines.feed(unwrapper.feed('{ "opening" : "A node is a process."'))] == ["A node is a process."]


def test_an_answer_that_is_none_says_so_and_may_ask_for_a_search() -> None:
    found, said = read('{"answered": false, "search": "timer period", "sentences": []}')
    assert (found, said.declined, said.call) == ([], True, '{"query": "timer period"}')
    found, said = read('{"opening": "", "sentences": [], "search": ""}')
    assert (found, said.declined, said.call) == ([], True, None)


@pytest.mark.parametrize(
    "broken",
    [
        '{"answered": true, "sentences": [{"quote": "a", "label": 1, "text": "One."}',
        '{"sentences": [1, null, {"text": 3}, {"text": ""}]}',
        '{"opening": 3, "sentences": [{"quote": "a", "label": 1, "text": "One."}]}',
        '{"opening": "\\\\ud800", "sentences": [{"quote": "a", "label": 1, "text": "One."}]}',
        '{"opening": "One',
    ],
)
def test_json_that_is_cut_or_wrong_gives_what_is_whole_in_it(broken: str) -> None:
    found, said = read(broken)
    assert all(basis in ("a", "") for _, basis in found)
    assert not said.declined


def test_quotes_in_lines_hold_for_the_sentences_after_them_and_not_inside_code() -> None:
    text = "> one\n> two [3]\nFirst said [1]. Second said [1].\n```\n> code\n```\n"
    assert read(text)[0] == [
        ("First said [1].", "one … two"),
        ("Second said [1].", "one … two"),
        ("```\n> code\n```", "one … two"),
    ]
