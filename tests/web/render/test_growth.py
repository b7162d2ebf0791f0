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
    "tables that never end": lambda count: "<table>\n<tr><td>\n" * count,
    "tables that all end at one place, with words behind it": lambda count: (
        "<table>\n<tr><td>a</td></tr>\n" * count + "</table> b\n"
    ),
    "cells of one table": lambda count: f"<table>\n{'<tr><td>a</td></tr>' * count}\n</table>\n",
    "cells that never end": lambda count: "<table>\n" + '<td "' * count + "\n</table>\n",
    "code that never ends": lambda count: "a " + "<code>b " * count,
    "links that never end": lambda count: "a " + "<a href=b>b " * count,
    "ends of links": lambda count: "<a href=b>" + "</a>b " * count,
    "comments among words": lambda count: "a " + "<!-- b " * count,
    "comments in a table": lambda count: f"<table>\n<tr><td>a{'<!-- b -->' * count}</td></tr>\n</table>\n",
    "an attribute that never ends": lambda count: "a <img " + "a" * count * 10 + ">",
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
