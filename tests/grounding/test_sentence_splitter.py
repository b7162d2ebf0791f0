"""Sentences of a stream, and the markers on them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.markers import split_markers
from bythebook.grounding.sentence_splitter import SentenceSplitter, kind_of

ANSWER = """\
A node is one program, e.g. a driver. [1] It runs at 3.5 Hz [2]. "Stop. Now." Then go![3][4] Use `a.b. C` now.

Steps:

- First item. It has two sentences [1]
- Second item
  goes on [2]
1. Third

```python
x = a[1]. B

y = 2
```
[1]

| a | b |
|---|---|
| 1 | 2 [3] |

$$
x = 1.5. Y
$$
[2]
See Fig. 2.1 and rclpy.spin. Dr. Who agrees.
[5]
The end has no stop [1, 2]"""
PIECES = [
    "A node is one program, e.g. a driver. [1]",
    "It runs at 3.5 Hz [2].",
    '"Stop. Now."',
    "Then go![3][4]",
    "Use `a.b. C` now.",
    "Steps:",
    "- First item. It has two sentences [1]",
    "- Second item\n  goes on [2]",
    "1. Third",
    "```python\nx = a[1]. B\n\ny = 2\n```\n[1]",
    "| a | b |\n|---|---|\n| 1 | 2 [3] |",
    "$$\nx = 1.5. Y\n$$\n[2]",
    "See Fig. 2.1 and rclpy.spin.",
    "Dr. Who agrees.\n[5]",
    "The end has no stop [1, 2]",
]
SCRAPS = st.lists(
    st.sampled_from(
        [
            "A node", " runs", ". ", ".", "!", "? ", "\n", "\n\n", "- ", "1. ", "```", "`", '"', "“", "”", "[1]",
            " [2, 3]", "【4】", "[So", "urce: x]", "$$", "|", "e.g.", " Fig. 2", "...", "。", "# ", "It", " is", "3.5",
            "(", ")", "[", "]", "\r\n", " ", "«", "»", "[1](u)",
        ]
    ),
    max_size=40,
).map("".join)  # fmt: skip


def split(*chunks: str) -> list[str]:
    splitter = SentenceSplitter()
    return [sentence for chunk in chunks for sentence in splitter.feed(chunk)] + splitter.flush()


def test_sentences_items_and_blocks_come_whole_with_their_markers() -> None:
    assert split(ANSWER) == PIECES


@given(cuts=st.lists(st.integers(0, len(ANSWER)), max_size=60))
def test_any_cutting_of_the_stream_gives_the_same_sentences(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(ANSWER)]
    assert split(*(ANSWER[start:end] for start, end in pairwise(edges))) == PIECES


@given(text=SCRAPS, size=st.integers(1, 7))
def test_any_text_in_any_cutting_gives_the_same_sentences(text: str, size: int) -> None:
    whole = split(text)
    assert split(*(text[at : at + size] for at in range(0, len(text), size))) == whole
    assert split(*text) == whole


@given(text=SCRAPS)
def test_nothing_is_lost_and_nothing_is_added(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())


def test_a_half_sentence_is_never_released() -> None:
    splitter = SentenceSplitter()
    assert splitter.feed("The stop cuts the power. It is") == ["The stop cuts the power."]
    assert splitter.feed(" never triggered by software alone") == []
    assert splitter.feed(".") == []
    assert splitter.feed(" [1] ") == []
    assert splitter.feed("Then") == ["It is never triggered by software alone. [1]"]
    assert splitter.flush() == ["Then"]
    assert splitter.flush() == []


@pytest.mark.parametrize(
    "text",
    [
        "It takes 3.5 s, i.e. long.",
        "Use e.g. Gazebo here.",
        "See Fig. 2 there.",
        "Call node.spin. then wait",
        "He said “Stop. Go.” and left.",
        "Run `ls. Now` again.",
        "J. Smith wrote it.",
    ],
)
def test_one_sentence_stays_one(text: str) -> None:
    assert split(text) == [text]


@pytest.mark.parametrize(
    ("text", "shown", "labels"),
    [
        ("It ends [1].", "It ends.", (1,)),
        ("It ends. [1]", "It ends.", (1,)),
        ("It ends.[1][2]", "It ends.", (1, 2)),
        ("It ends [1, 2; 4].", "It ends.", (1, 2, 4)),
        ("It ends [1-3].", "It ends.", (1, 2, 3)),
        ("It ends [1] [1].", "It ends.", (1,)),
        ("It [1] goes [2] on.", "It goes on.", (1, 2)),
        ("It ends【1】.", "It ends.", (1,)),
        ("It ends 【2†source】.", "It ends.", (2,)),
        ("It ends [^3].", "It ends.", (3,)),
        ("It ends [label: 3].", "It ends.", (3,)),
        ("It ends [result 3].", "It ends.", (3,)),
        ("It ends [Source: 2].", "It ends.", (2,)),
        ("It ends [1](https://x.example/a).", "It ends.", (1,)),
        ("It ends. [Source: https://x.example/a | Chapter: 2 | Section: B | Score: 0.81]", "It ends.", ()),
        ("It ends (from Chapter 2: Installation).", "It ends.", ()),
        ("It ends (1).", "It ends.", (1,)),
        ("It follows from equation (1).", "It follows from equation (1).", ()),
        ("No rotation is (0, 0, 0, 1).", "No rotation is (0, 0, 0, 1).", ()),
        ("Read `a[1]` first [2].", "Read `a[1]` first.", (2,)),
        ("Use float32[8] here [1].", "Use float32[8] here.", (1,)),
        ("```\na[1]\n```\n[3]", "```\na[1]\n```", (3,)),
        ("It is $x[1]$ [2].", "It is $x[1]$.", (2,)),
        ("It ends [0].", "It ends.", ()),
        ("An [aside] stays.", "An [aside] stays.", ()),
        ("[1]", "", (1,)),
        ("", "", ()),
    ],
)
def test_markers_are_taken_off(text: str, shown: str, labels: tuple[int, ...]) -> None:
    assert split_markers(text) == (shown, labels)


@given(st.text(max_size=200))
def test_no_text_breaks_the_marker_parser(text: str) -> None:
    shown, labels = split_markers(text)
    assert all(label > 0 for label in labels)
    assert len(shown) <= len(text)


def test_milliseconds_end_a_sentence() -> None:
    assert split("It takes 100 ms. It stops.") == ["It takes 100 ms.", "It stops."]


def test_a_piece_tells_its_kind() -> None:
    kinds = [kind_of(piece) for piece in PIECES]
    assert kinds == ["sentence"] * 6 + ["item"] * 3 + ["code", "table", "maths"] + ["sentence"] * 3


@given(piece=st.integers(1, 60))
def test_an_image_is_not_cut_behind_its_first_mark(piece: int) -> None:
    text = "See it. ![Three boxes](../img/graph.svg) Stop![1] It runs."
    splitter = SentenceSplitter()
    found = [one for at in range(0, len(text), piece) for one in splitter.feed(text[at : at + piece])] + splitter.flush()
    assert [one.strip() for one in found] == ["See it.", "![Three boxes](../img/graph.svg) Stop![1]", "It runs."]
