"""Where a JSX or HTML tag ends, and which lines are ESM. A tag may span lines and hold braces, quotes and other tags."""

from __future__ import annotations

import re

TAG_START = re.compile(r"</?[A-Za-z][\w.:-]*(?=[\s/>{])|</?>")
ESM_LINE = re.compile(
    r"""import\s+(?:[\w$*{][^\n]*?\sfrom\s+)?["'][^"'\n]+["'];?\s*$ | import\s+(?:\w+\s*,\s*)?\{[^\n}]*$ | import\s+\*\s+as\s
    | export\s+(?:default\b|const\s|let\s|var\s|function\b|class\s|async\s|type\s|interface\s|\{|\*\s+from\b)""",
    re.VERBOSE,
)
NO_TAG = -1
NEVER_ENDS = -2
DEEPEST_BRACES = 50
LONGEST_TAG = 100_000
"""No tag that an author writes is longer. Where every line begins a tag and all end at the same place, each is searched only this
far."""
_STOP = re.compile(r"""["'`{}<>]""")


def tag_end(text: str, start: int, limit: int, *, braces: bool = True) -> int:  # noqa: C901  a scanner: one branch a sign
    """Returns the offset after the tag that begins at `start`, NO_TAG if none does, or NEVER_ENDS if it runs past `limit`.

    Without `braces` an attribute in braces may not hold further ones: for text in which one was found never to end.
    """
    opening = TAG_START.match(text, start, limit)
    if not opening:
        return NO_TAG
    limit = min(limit, start + LONGEST_TAG)
    if opening[0].endswith(">"):
        return opening.end()
    at, depth = opening.end(), 0
    while match := _STOP.search(text, at, limit):
        at, mark = match.end(), match[0]
        if mark == "{":
            depth += 1
            if depth > (DEEPEST_BRACES if braces else 1):
                return NO_TAG
        elif mark == "}":
            depth -= 1
        elif mark == ">" and depth <= 0:
            return at
        elif mark == "<" and depth <= 0:
            return NO_TAG
        elif mark in "\"'`" and not (depth and mark == "'" and text[match.start() - 1].isalnum()):
            at = text.find(mark, at, limit) + 1
            if at == 0:
                return NEVER_ENDS
    return NEVER_ENDS
