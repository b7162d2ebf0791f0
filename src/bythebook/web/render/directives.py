"""MyST directives and roles on the page: the text of a box, formulas, figures with captions, and code without its options and the
braces around its name."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from bythebook.books.blocks import (
    CONTAINERS,
    FIGURES,
    FORMULAS,
    LONGEST_OPTIONS,
    NO_TEXT,
    closes,
    opened,
    options_end,
    title_of,
)
from bythebook.books.inline import ROLE, role_text
from bythebook.web.render.book_links import BookLinks
from bythebook.web.render.components import close_box, open_box
from bythebook.web.render.labels import REFERENCE_ROLES
from bythebook.web.render.quotes import SIGNS

PICTURES = frozenset({"figure", "image"})
CODE = frozenset({"code", "code-block", "code-cell", "sourcecode"})
"""Directives that name their language behind the braces; in others it stands between them."""
TAB = re.compile(r"[ \t]*:(?:begin|end)_tab:(?:`[^`]*`)?[ \t]*$")
"""D2L's tabs: the text between two such lines is for one of several libraries."""
INCLUDED = re.compile(r"[ \t]*\{\*[ \t]*(?:\.\./)*([^\s*]+)[^\n]*\*\}[ \t]*$")
"""FastAPI's extension of MkDocs: a file that the site shows here. The book has only its name."""
SPACED = (" ,", " .", " ;", " :", " )")
TICKS = re.compile(r"`+")


def read_directives(parser: MarkdownIt) -> None:
    """A plugin for markdown-it."""
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("component", "directive", _block, interrupts)
    parser.block.ruler.before("directive", "furniture", _furniture, interrupts)
    parser.inline.ruler.before("backticks", "role", _inline)


def _furniture(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A line that is not shown, or that names a file which the site shows in its place."""
    line = _line(state, first)
    included = INCLUDED.match(line)
    if not included and not NO_TEXT.match(line) and not TAB.match(line):
        return False
    if not silent:
        state.line = first + 1
        if included:
            label = state.push("label", "", 0)
            label.content, label.info = included[1], "file"
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    ends: set[int] = state.env.setdefault("directive_ends", set())
    if first in ends:
        state.line = first + 1
        if not silent:
            close_box(state)
        return True
    directive = opened(SIGNS.sub("", _line(state, first)))
    if directive is None:
        return False
    if silent:
        return True
    fence, name, argument = directive
    raw = _inside(state, first, last, fence)
    known = name in CONTAINERS | FIGURES | FORMULAS | CODE
    options = options_end([SIGNS.sub("", line) for line in raw[:LONGEST_OPTIONS]], 0) if known else 0
    if name in CONTAINERS:
        state.line = first + 1 + options
        ends.add(first + 1 + len(raw))
        open_box(state, title_of(argument) or name)
        return True
    state.line = min(first + len(raw) + 2, last)
    signs = "".join(sign for line in raw[:options] for sign in SIGNS.findall(line))
    if name in FORMULAS:
        state.push("math_block", "math", 0).content = "\n".join([argument, signs, *raw[options:]])
    elif name in FIGURES:
        _push_figure(state, name, argument, signs + " ".join(raw[options:]))
    else:
        token = state.push("fence", "code", 0)
        token.info = argument.partition(" ")[0] if name in CODE else name
        token.content = signs + state.getLines(first + 1 + options, first + 1 + len(raw), state.sCount[first], keepLastLF=True)
    return True


def _inside(state: StateBlock, first: int, last: int, fence: str) -> list[str]:
    """The lines up to the directive's end, or up to the last one where the chunk was cut inside it."""
    lines: list[str] = []
    for number in range(first + 1, last if fence not in state.env else first + 1):
        line = _line(state, number)
        if closes(SIGNS.sub("", line), fence):
            return lines
        lines.append(line)
    state.env[fence] = "none left"
    return lines


def _push_figure(state: StateBlock, name: str, path: str, caption: str) -> None:
    """A picture with its caption. What other directives take from another file is not shown."""
    if name not in PICTURES:
        return
    for content in (f"![]({path})", caption if name == "figure" else ""):
        if content.strip():
            state.push("paragraph_open", "p", 1)
            token = state.push("inline", "", 0)
            token.content, token.children = content, []
            state.push("paragraph_close", "p", -1)


def _inline(state: StateInline, silent: bool) -> bool:
    """A role and the text in backticks after it."""
    mark = ROLE.match(state.src, state.pos)
    ticks = TICKS.match(state.src, mark.end()) if mark else None
    if not mark or not ticks or (mark[2] and state.pos and state.src[state.pos - 1].isalnum()):
        return False
    close = state.src.find(ticks[0], ticks.end(), state.posMax)
    if close < 0:
        return False
    name, said = mark[1] or mark[2], state.src[ticks.end() : close]
    if not silent and not _push_reference(state, name, said):
        kind = "math_inline" if name in FORMULAS else "text"
        shown = said if kind == "math_inline" else role_text(name, said)
        after = state.src[close + len(ticks[0]) :][:1]
        if not shown and state.pending.endswith(" ") and f" {after}" in SPACED:
            state.pending = state.pending.rstrip(" ")  # the text before the comma is not shown
        state.push(kind, "", 0).content = shown
    state.pos = close + len(ticks[0])
    return True


def _push_reference(state: StateInline, name: str, label: str) -> bool:
    """A link with the words of its target, where the book has this label."""
    links: BookLinks | None = state.env.get("links")
    if name not in REFERENCE_ROLES or links is None or (place := links.labelled(label)) is None:
        return False
    words, address = place
    state.push("link_open", "a", 1).meta = {"inside": address}
    state.push("text", "", 0).content = words
    state.push("link_close", "a", -1)
    return True
