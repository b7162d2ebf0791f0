"""The words that the page's JavaScript shows, read from its source: what each language must have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

LITERAL = re.compile(
    r"//[^\n]*|/\*.*?\*/|(?<![\w)\]])/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
    r'|(?P<tag>say)?`(?P<template>(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}]*\}|`(?:[^`\\]|\\.)*`)*\})*)`|"(?P<quoted>(?:[^"\\\n]|\\.)*)"',
    re.DOTALL,
)
VALUE = re.compile(r"\$\{(?:[^{}`]|\{[^{}]*\}|`(?:[^`\\]|\\.)*`)*\}")
COUNTED = re.compile(r'plural\([^;]*?, "([a-z ]+)"\)', re.DOTALL)
COUNT = re.compile(r"plural\([^;]*, $")
PEOPLE = re.compile(r"[A-Z“ ].*[a-z]|[a-z]+(?: [a-z’]+)+$", re.DOTALL)
"""How words for people look: they begin with a capital, or are several."""
CLASSES = re.compile(r'(?:class: |class: `|className: |classList\.\w+\()"?$')
NOT_SHOWN = frozenset({
    "AbortError", "ArrowDown", "ArrowLeft", "ArrowRight", "ArrowUp", "By the Book", "Content-Type", "DOMContentLoaded", "Enter",
    "Escape", "Retry-After", "Tab", "The reader has gone on.", "X-Reader", " finished", "bythebook demo", "light dark",
})  # fmt: skip
"""Names of keys, headers and errors, a class, a command, a style, and the program's own name."""
DRAWING = re.compile(r"M\d")
ALONE = re.compile(r'word\("([a-z]+)"\)')
IN_HTML = re.compile(r'data-view="\w+"[^>]*>([^<]+)<|class="skip"[^>]*>([^<]+)<|aria-label="([^"]+)"')


def sources() -> dict[str, str]:
    folder = files("bythebook.web").joinpath("page")
    return {one.name: one.read_text("utf-8") for one in folder.iterdir() if one.name.endswith(".js")}


def shown_words() -> Iterator[tuple[str, str]]:
    """The file and the words, values in them as {}."""
    for name, source in sources().items():
        yield from ((name, text) for text in _shown(source))
    html = files("bythebook.web").joinpath("page", "index.html").read_text("utf-8")
    yield from (("index.html", next(filter(None, found))) for found in IN_HTML.findall(html))


def _shown(source: str) -> Iterator[str]:
    for match in LITERAL.finditer(source):
        if match["tag"]:
            yield VALUE.sub("{}", match["template"])
        for value in VALUE.findall(match["template"] or ""):
            yield from _shown(value[2:-1])
        text = match["quoted"]
        if text and PEOPLE.match(text) and text not in NOT_SHOWN and not DRAWING.match(text):
            before = source[max(0, match.start() - 80) : match.start()]
            if not CLASSES.search(before) and not COUNT.search(before):
                yield text
    yield from ALONE.findall(source)
    for one in COUNTED.findall(source):
        yield from (f"{{}} {one}", f"{{}} {one}s")


def loose_templates() -> Iterator[tuple[str, str]]:
    """Templates with words of ours that no language can replace: two words, or one with a capital, outside of an address."""
    for name, source in sources().items():
        for match in LITERAL.finditer(source):
            if match["template"] and not match["tag"]:
                text = VALUE.sub("{}", match["template"])
                if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}|\{\} [a-z]{2,}|^[A-Z][a-z]+ \{", text):
                    yield name, text
