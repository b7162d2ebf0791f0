"""A thread as Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bythebook.answering.answer import Answer, Sentence
from bythebook.answering.markdown import harmless
from bythebook.threads.export import to_markdown
from bythebook.threads.model import StoredTurn, Thread
from tests.support.made_turns import NOON, answer, citation, refusal

THREAD = Thread(
    thread_id="550e8400-e29b-41d4-a716-446655440000",
    book_id="light",
    key_id=None,
    title="What is a wick?",
    created_at=NOON,
    updated_at=NOON,
    archived_at=None,
    topic_summary=None,
    metadata={},
    turn_count=2,
)
EXPECTED = """\
# What is a wick?

Book: light · 2026-03-01

## How often is the wick trimmed?

The keeper trims the wick every four hours. [1]

Only lightly.

> The keeper trims the wick every four hours. [1]

---
**Sources:**
[1] https://light.example/wicks#trimming (score: 0.75)

## What is a bank?

Not in this book.

- Wicks and oil: https://light.example/wicks
"""


def test_each_answer_with_the_words_it_rests_on() -> None:
    def turn(number: int, ended: Answer) -> StoredTurn:
        return StoredTurn(thread_id=THREAD.thread_id, number=number, answer=ended, trace=None, created_at=NOON)

    asked = answer("How often\nis the wick trimmed?", disclaimer="Only lightly.")
    assert to_markdown(THREAD, [turn(1, asked), turn(2, refusal())]) == EXPECTED


PIECES = [
    "<script>",
    "</b>",
    "<a href=x>",
    "<!--",
    "<?x",
    "<j:x>",
    "[x](javascript:1)",
    "[x](<javascript:1>)",
    "[x]",
    "[x]: javascript:1",
]
PIECES += ["`", "``", "```", "~~~", "\\", "|", "> ", "- ", "    ", "\n", "\n\n", "](", "words", "[1] "]
PIECES += ["\n```\n", "\n  ```\n", "\n   ~~~~\n", "\n- ```\n", "\n> ```\n", "\n````\n", "\r\n", "\r", "\t"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_tag_or_script_of_a_book_or_a_reader_is_taken_along(written: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).parse(harmless(written))
    everything = [*tokens, *(child for token in tokens for child in token.children or [])]
    assert [token.content for token in everything if token.type in {"html_inline", "html_block"}] == []
    assert [token.attrs["href"] for token in everything if token.type == "link_open"] == []


def test_every_number_in_the_text_has_its_source_below() -> None:
    sentences = tuple(
        Sentence(text=f"It says {label}.", kind="sentence", citations=(citation(label, chunk_id=f"c{label}"),))
        for label in range(1, 8)
    )
    turn = StoredTurn(thread_id=THREAD.thread_id, number=1, answer=answer(sentences=sentences), trace=None, created_at=NOON)
    written = to_markdown(THREAD, [turn])
    assert [int(label) for label in re.findall(r"^\[(\d)\] https", written, re.MULTILINE)] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "written",
    [
        "```\ncode\n  ```\n<script>alert(1)</script>",
        "  ```\ncode\n```\n<script>alert(1)</script>",
        "```\ncode\n`````\n<script>alert(1)</script>",
        "- ```\n  code\n  ```\n\n<script>alert(1)</script>",
    ],
)
def test_a_script_after_a_fence_that_is_indented_or_longer_is_not_taken_along(written: str) -> None:
    assert "<script>" not in harmless(written)


def test_what_is_code_and_what_leads_into_the_web_stays() -> None:
    written = "Of `vector<int>`, see [there](https://light.example/x): a <b is less.\n\n```cpp\nvector<int> a;\n```"
    assert harmless(written) == written.replace("a <b", "a &lt;b")
