"""Whatever a model or an author writes is read in time that grows with its length and no faster."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from bythebook.books.formats.asciidoc import inline
from bythebook.books.formats.lxml.characters import without_types
from bythebook.drafting.openai_agents.judge_form import read_verdicts
from bythebook.drafting.openai_agents.quoted_text import QuotedText
from bythebook.drafting.openai_agents.unwrapper import Unwrapper
from bythebook.followups.enumerations import with_item
from bythebook.grounding.hard_facts import code_lines, prose
from bythebook.grounding.markers import split_markers
from bythebook.grounding.quantities import quantities
from bythebook.grounding.quotes import find_quote
from bythebook.grounding.support import checked_source
from tests.support.checker_cases import passage

SMALL, LARGE = 1_000, 8_000
SLOWEST = 40.0
"""Eight times the length may take this many times as long: a quadratic reading takes 64 times, a cubic one 512."""
SHORTEST_SECONDS = 0.02
"""Below that a clock on a busy machine says nothing."""
MARKS = ["_", "a_", "[1", "[1,", "[1]", "(1", "(1) ", "a (", " ", "\n", "`", "``a", "```\n", "~~~\n", "$a ", "> a\n", "\u3010"]
WORDS = ["1,", "1.", "two ", "three hundred ", "at least ", "/a", "not ", "word ", "1 yes: "]
JSON = ["{", '{"a":', "[", '"', "\\", "<think>"]
ASCIIDOC = ["link:", "link:a[", "[[", "footnote:[", "((a", "(((", "+a", "<<a,", "**a", "_a "]
TYPES = ["<!DOCTYPE x [", "<!DOCTYPE x ", "] "]
PIECES = [*MARKS, *WORDS, *JSON, *ASCIIDOC, *TYPES]
SOURCE = checked_source(passage(1), "en")


def stream(text: str) -> None:
    unwrapper, lines = Unwrapper(), QuotedText()
    for start in range(0, len(text), 50):
        lines.feed(unwrapper.feed(text[start : start + 50]))
    lines.feed(unwrapper.flush())
    lines.flush()


READERS: dict[str, Callable[[str], object]] = {
    "markers": split_markers,
    "marker at the end": lambda text: split_markers(f"{text}[1]"),
    "quantities": quantities,
    "prose": prose,
    "code": code_lines,
    "verdicts": lambda text: read_verdicts(text, 3),
    "quotes": lambda text: find_quote(text, [SOURCE]),
    "stream": stream,
    "a paragraph of AsciiDoc": inline,
    "the types of a page": without_types,
    "the second one": lambda text: with_item("Why the second one?", text),
}


def seconds(read: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began


@pytest.mark.soak  # it compares times, which a busy machine may distort
@pytest.mark.parametrize("name", READERS)
def test_reading_is_linear(name: str) -> None:
    read = READERS[name]
    for piece in PIECES:
        short, long = piece * (SMALL // len(piece)), piece * (LARGE // len(piece))
        large = seconds(read, long)
        if large > SHORTEST_SECONDS:
            # Again, for something else may have run meanwhile.
            small, large = max(seconds(read, short), seconds(read, short)), min(large, seconds(read, long))
            assert large <= max(SHORTEST_SECONDS, SLOWEST * small), (piece, small, large)
