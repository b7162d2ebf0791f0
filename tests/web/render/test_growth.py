"""A whole lesson is rendered in work that grows with its length and no faster. The work is counted, in steps of the interpreter:
no test depends on how fast the machine is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from bythebook.web.render.html import render_passage

SMALL, LARGE = 100, 400
MOST = 5.5
"""Four times the text may take this many times the work; where each line is held against all others it is sixteen times."""
TEXTS: dict[str, Callable[[int], str]] = {
    "tags that all end at one place, with words behind it": lambda count: "<p {\n" * count + "}" * count + "> more\n",
    "tags that all end in a handler": lambda count: "<p {\n" * count + "}" * count + " onx=1>\n",
    "tags among words that all end in a handler": lambda count: "a " + "<p {" * count + "}" * count + " onx=1> more\n",
    "tags that never end": lambda count: "<p {\n" * count,
    "quotes that never end": lambda count: "<p \"'`\n" * count,
    "comments that never end": lambda count: "<!--\n" * count,
    "comments that all end at one place, with words behind it": lambda count: "<!--\n" * count + "--> more\n",
    "comments of MDX that never end": lambda count: "{/*\n" * count,
    "formulas that never end": lambda count: "$$a\n\n" * count,
    "directives that never end": lambda count: "```{note}\n" * count,
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_work_grows_no_faster_than_the_text(name: str) -> None:
    small, large = (work(TEXTS[name](count)) for count in (SMALL, LARGE))
    assert large < MOST * small, f"{small:,} steps, then {large:,}"


def work(text: str) -> int:
    """How many lines of the program are run."""
    steps = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        steps += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        render_passage(text)
    finally:
        sys.settrace(before)
    return steps
