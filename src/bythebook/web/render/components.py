"""Markup that books put between their Markdown: admonitions, imports, components, comments. The page drops the markup and keeps
the words. Only known markup is dropped; any other tag is shown as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from bythebook.books.jsx import ESM_LINE, NEVER_ENDS, tag_end
from bythebook.books.markdown import ALERT, TITLE
from bythebook.web.render.quotes import SIGNS

COLONS = re.compile(r":{3,}[ \t]*\{?([\w-]*)\}?[ \t]*(?:\[(.*)\]|(.*))$")
SLASHES = re.compile(r"/{3,}[ \t]*(?:([\w-]+)[ \t]*(?:\|[ \t]*(.*))?)?$")
"""PyMdown's blocks: `/// note | Title`."""
KEPT = re.compile(r"</?(?:sub|sup|kbd)>|</?(abbr|dfn)(?=[\s/>])")
"""Tags that mean something to a reader. They keep no attribute except what an abbreviation or a term stands for."""
FURNITURE = re.compile(
    r"</?(?:[A-Z][\w.]*|abbr|b|br|center|details|dfn|div|em|figcaption|figure|i|kbd|p|section|small|span|strong|sub|summary|sup|u)(?=[\s/>])"
    r"|</?>"
)
HANDLER = re.compile(r"\bon\w+\s*=|javascript:", re.IGNORECASE)
COMMENTS = {"<!--": "-->", "{/*": "*/}"}


def read_components(parser: MarkdownIt) -> None:
    """A plugin for markdown-it."""
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "component", _block, interrupts)
    parser.block.ruler.after("component", "box", _box, interrupts)
    parser.inline.ruler.before("autolink", "component", _inline)
    parser.add_render_rule("kept_tag", lambda self, tokens, at, options, env: tokens[at].markup)
    parser.core.ruler.push("alert", _name_alerts)
    parser.core.ruler.push("box_ends", _end_boxes)
    parser.add_render_rule("label", lambda self, tokens, at, options, env: _label(tokens[at]))
    parser.add_render_rule("box", lambda self, tokens, at, options, env: tokens[at].markup)


def _label(token: Token) -> str:
    words = escape(token.content)
    return f'<p class="label">{f"<code>{words}</code>" if token.info == "file" else words}</p>\n'


def open_box(state: StateBlock, label: str) -> None:
    """Begins a box, with its name, around what an author has set apart."""
    state.env.setdefault("boxes", []).append(state.level)
    state.push("box", "", 0).markup = '<div class="note">\n'
    state.push("label", "", 0).content = label


def close_box(state: StateBlock) -> None:
    """The box that was opened last at this depth ends; one inside a list or a quotation has ended with that."""
    boxes: list[int] = state.env.get("boxes", [])
    while boxes and boxes[-1] > state.level:
        boxes.pop()
    if boxes and boxes[-1] == state.level:
        boxes.pop()
        state.push("box", "", 0).markup = "</div>\n"


def _end_boxes(state: StateCore) -> None:
    """Ends the boxes that are still open: a chunk may be cut inside a box."""
    for level in state.env.pop("boxes", []):
        if level == 0:
            state.tokens.append(Token("box", "", 0, markup="</div>\n"))


def _block(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Whole lines of markup."""
    start, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    first = state.src[start:end]
    after, label = line, ""
    if mark := next((mark for mark in COMMENTS if first.startswith(mark)), ""):
        after = _after_comment(state, line, end_line, mark)
    elif FURNITURE.match(first):
        stop = _tag_end(state, start, state.eMarks[end_line - 1])
        if stop > 0 and not HANDLER.search(state.src, start, stop):
            title = TITLE.search(state.src, start, stop)
            after, label = _line_after(state, line, end_line, stop), ((title[1] or title[2] or "") if title else "")
    elif ESM_LINE.match(first) and (line == 0 or state.isEmpty(line - 1)):
        after = next((number for number in range(line, end_line) if state.isEmpty(number)), end_line)
    if after == line:
        return False
    if not silent:
        state.line = after
        if label:
            state.push("label", "", 0).content = label
    return True


def _box(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """A line that opens what an author has set apart, or closes it."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    match = COLONS.match(text) or SLASHES.match(text)
    if not match:
        return False
    if not silent:
        state.line = line + 1
        name = next((words.strip() for words in (*match.groups()[1:], match[1]) if words and words.strip()), "")
        if name:
            open_box(state, name)
        else:
            close_box(state)
    return True


def _tag_end(state: StateBlock | StateInline, start: int, limit: int) -> int:
    """Finds the end of a tag. Where a tag never ends, the text is searched once: after that, attributes may no longer contain
    nested braces."""
    stop = tag_end(state.src, start, limit, braces="tag_never_ends" not in state.env)
    if stop == NEVER_ENDS:
        state.env["tag_never_ends"] = True
    return stop


def _after_comment(state: StateBlock, line: int, end_line: int, mark: str) -> int:
    """The line after a comment; `line` itself where it never ends or has text behind it. An end that was not found is not
    searched for again."""
    start, limit, close = state.bMarks[line] + state.tShift[line], state.eMarks[end_line - 1], COMMENTS[mark]
    shown: dict[tuple[str, str], int] = state.env.setdefault("shown_comments", {})
    if start < shown.get((mark, state.src), 0):
        return line
    found = state.src.find(close, start + len(mark), limit)
    after = line if found < 0 else _line_after(state, line, end_line, found + len(close))
    if after == line:
        shown[mark, state.src] = limit if found < 0 else found
    return after


def _line_after(state: StateBlock, line: int, end_line: int, offset: int) -> int:
    """The line after the one that ends at `offset`; `line` itself where more text follows."""
    for number in range(line, end_line):
        if offset <= state.eMarks[number]:
            return number + 1 if not state.src[offset : state.eMarks[number]].strip() else line
    return end_line


def _inline(state: StateInline, silent: bool) -> bool:
    """A tag among words."""
    if not FURNITURE.match(state.src, state.pos):
        return False
    stop = _tag_end(state, state.pos, state.posMax)
    if stop <= 0 or HANDLER.search(state.src, state.pos, stop):
        return False
    kept = KEPT.match(state.src, state.pos)
    if not silent and kept:  # not nested by the parser: a book may leave one open
        state.push("kept_tag", "", 0).markup = _term(state.src[state.pos : stop]) if kept[1] else kept[0]
    elif not silent and state.src.startswith("<br", state.pos):
        state.push("hardbreak", "br", 0)
    state.pos = stop
    return True


def _term(tag: str) -> str:
    """An abbreviation or a term, with what it stands for."""
    if tag.startswith("</"):
        return "</abbr>"
    title = TITLE.search(SIGNS.sub("", tag))
    said = (title[1] or title[2] or "") if title else ""
    return f'<abbr title="{escape(said)}">' if said else "<abbr>"


def _name_alerts(state: StateCore) -> None:
    """GitHub's `> [!NOTE]` gives a quotation a name, which is shown."""
    tokens = state.tokens
    for at in range(len(tokens) - 2, 1, -1):
        words = tokens[at].children or []
        if tokens[at].type != "inline" or tokens[at - 2].type != "blockquote_open" or not words or words[0].type != "text":
            continue
        if match := ALERT.match(words[0].content):
            words[0].content = words[0].content[match.end() :]
            if not words[0].content and len(words) > 1 and words[1].type == "softbreak":
                del words[:2]
            tokens[at - 2].attrs = {"class": "note"}
            tokens.insert(at - 1, Token("label", "", 0, content=match[1].lower()))


def admonition(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """MkDocs' `!!! note`: a box with its title; the author's classes are ignored."""
    kind = tokens[at].type
    if "title" in kind:
        return '<p class="label">' if kind.endswith("open") else "</p>\n"
    return '<div class="note">\n' if kind.endswith("open") else "</div>\n"


def _footnote_number(token: Token) -> str:
    return str(int(token.meta["id"]) + 1)


Rule = Callable[[RendererHTML, Sequence[Token], int, Any, Any], str]
FOOTNOTES: Mapping[str, Rule] = {
    "footnote_ref": lambda self, tokens, at, options, env: f'<sup class="footnote">{_footnote_number(tokens[at])}</sup>',
    "footnote_block_open": lambda self, tokens, at, options, env: '<hr>\n<ol class="footnotes">\n',
    "footnote_block_close": lambda self, tokens, at, options, env: "</ol>\n",
    "footnote_open": lambda self, tokens, at, options, env: "<li>",
    "footnote_close": lambda self, tokens, at, options, env: "</li>\n",
    "footnote_anchor": lambda self, tokens, at, options, env: "",
}
"""Without links, which would change the page's own address."""
