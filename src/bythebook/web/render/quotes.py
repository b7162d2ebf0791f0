"""Marks the quoted words of an answer in a rendered passage.

A quote is a stretch of Markdown, and only the parser knows its place in the HTML. So two characters that no book uses are put
around it before parsing and become `<mark>` afterwards. They count as punctuation, so that emphasis next to them is parsed as
before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from markdown_it.token import Token

OPEN, CLOSE = "\U00010a50", "\U00010a58"
"""Old South Arabian and Kharoshthi punctuation."""
SIGNS = re.compile(f"[{OPEN}{CLOSE}]")
BLOCK_MARK = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]+|\|[ \t]*)?")
FENCE_LINE = re.compile(r"[ \t>]*(?:`{3,}[^`\n]*|~{3,}[^\n]*|\$\$|:{3,}[^\n]*)[ \t]*$")
ROW_END = re.compile(r"[ \t|]*$")


def with_signs(markdown: str, quotes: Iterable[tuple[int, int]]) -> str:
    """`markdown` with these characters around [start, end) of each quote, inside the markup of the block that it begins or
    ends."""
    places: list[tuple[int, str]] = []
    for start, end in _joined(quotes, len(markdown)):
        start, end = _first_word(markdown, start, end), _last_word(markdown, start, end)
        if start < end:
            places += [(start, OPEN), (end, CLOSE)]
    parts, at = [], 0
    for place, sign in places:
        parts += [SIGNS.sub("", markdown[at:place]), sign]
        at = place
    return "".join([*parts, SIGNS.sub("", markdown[at:])])


def mark(tokens: Sequence[Token]) -> None:
    """Turns these characters into marks: around words, and as the class `quoted` on code and formulas."""
    inside = False
    for token in tokens:
        if token.type == "inline":
            token.children, inside = _marked(token.children or [], inside)
        elif token.content:
            if inside or OPEN in token.content:
                token.attrJoin("class", "quoted")
            inside = _after(token.content, inside)
            token.content = SIGNS.sub("", token.content)


def _marked(children: Sequence[Token], inside: bool) -> tuple[list[Token], bool]:
    marked: list[Token] = []
    for child in children:
        child.attrs = {name: SIGNS.sub("", value) if isinstance(value, str) else value for name, value in child.attrs.items()}
        pieces = re.split(f"([{OPEN}{CLOSE}])", child.content)
        if child.type in {"text", "text_special"}:
            for piece in pieces:
                if piece in (OPEN, CLOSE):
                    inside = piece == OPEN
                elif piece:
                    marked += _wrapped(Token("text", "", 0, content=piece), inside)
            continue
        held = child.content != "" and (inside or OPEN in pieces)
        inside = _after(child.content, inside)
        child.content = SIGNS.sub("", child.content)
        marked += _wrapped(child, held)
    return marked, inside


def _wrapped(token: Token, inside: bool) -> list[Token]:
    return [Token("mark_open", "mark", 1), token, Token("mark_close", "mark", -1)] if inside else [token]


def _after(content: str, inside: bool) -> bool:
    """Whether a quote is open after `content`."""
    last = max(content.rfind(OPEN), content.rfind(CLOSE))
    return inside if last < 0 else content[last] == OPEN


def _joined(quotes: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The stretches in order, within the text, overlapping ones joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted((max(start, 0), min(end, length)) for start, end in quotes):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def _first_word(text: str, start: int, end: int) -> int:
    while start < end:
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        if FENCE_LINE.match(text, line_start, line_end):
            start = line_end + 1
            continue
        lead = BLOCK_MARK.match(text, line_start, line_end)
        return max(start, lead.end()) if lead else start
    return start


def _last_word(text: str, start: int, end: int) -> int:
    while start < end:
        end = start + len(text[start:end].rstrip())
        line_start = text.rfind("\n", 0, end) + 1
        if FENCE_LINE.fullmatch(text, line_start, end):
            end = line_start - 1
            continue
        tail = ROW_END.search(text, max(line_start, start), end)
        return tail.start() if tail else end
    return end
