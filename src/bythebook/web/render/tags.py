"""HTML that authors write among their Markdown, read for what it shows: pictures, links, code, tables, videos. Each becomes
tokens of Markdown's own kinds; no tag or attribute of the book's goes on. A tag with a handler stays text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from bythebook.books.jsx import NEVER_ENDS, tag_end
from bythebook.web.render.components import HANDLER
from bythebook.web.render.quotes import CLOSE, OPEN, SIGNS

NAMED = re.compile(
    r"<(/?)(a|caption|code|iframe|img|li|lite-youtube|ol|source|table|tbody|td|tfoot|th|thead|tr|ul|video)(?=[\s/>])",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"""(?<![\w:-])([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'`{}<>=]+))""")
TABLE_LINE = re.compile(rf"[{OPEN}{CLOSE}]?<table(?=[\s/>])", re.IGNORECASE)
TABLE_TAG = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|th|td|caption)(?=[\s/>])([^<>]{0,500})>", re.IGNORECASE)
PRE_LINE = re.compile(rf"[{OPEN}{CLOSE}]?<pre(?:\s[^<>]{{0,500}})?>", re.IGNORECASE)
ANY_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
END_OF = {name: re.compile(f"</{name}>", re.IGNORECASE) for name in ("a", "code", "pre", "table")} | {"!--": re.compile("-->")}
CLOSING = re.compile(rf"(?:</[a-z]+>|[\s{OPEN}{CLOSE}])*")
MOST_SPANNED = 100
VIDEOS = frozenset({"iframe", "lite-youtube", "video"})
INTERRUPTS: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}


def read_tags(parser: MarkdownIt) -> None:
    """A plugin for markdown-it."""
    parser.block.ruler.before("fence", "html_table", _table, INTERRUPTS)
    parser.block.ruler.before("fence", "html_pre", _preformatted, INTERRUPTS)
    parser.inline.ruler.before("autolink", "html_tag", _inline)
    parser.core.ruler.push("html_links", _end_links)


def attributes(tag: str) -> dict[str, str]:
    """A tag's attributes that are plain text: not those in braces."""
    found = ATTRIBUTE.findall(SIGNS.sub("", tag[:5000]))
    return {name.lower(): unescape(first or second or third) for name, first, second, third in found}


def _inline(state: StateInline, silent: bool) -> bool:
    """A tag among words, or a comment."""
    if state.src.startswith("<!--", state.pos):
        return _skip_comment(state)
    named = NAMED.match(state.src, state.pos)
    stop = _end_of_tag(state) if named else 0
    if not named or stop <= 0 or HANDLER.search(state.src, state.pos, stop):
        return False
    name, closes, tag = named[2].lower(), bool(named[1]), state.src[state.pos : stop]
    if name == "code" and not closes:
        return _code(state, stop, silent)
    if not silent:
        _show(state, name, closes, tag, stop)
    state.pos = stop
    return True


def _end_of_tag(state: StateInline) -> int:
    stop = tag_end(state.src, state.pos, state.posMax, braces="tag_never_ends" not in state.env)
    if stop == NEVER_ENDS:
        state.env["tag_never_ends"] = True
    return stop


def _show(state: StateInline, name: str, closes: bool, tag: str, stop: int) -> None:
    if name == "a":
        _link(state, closes, attributes(tag).get("href", ""), stop)
    elif name == "img":
        _picture(state, attributes(tag))
    elif name in VIDEOS and not closes:
        _video(state, attributes(tag))
    elif name in ("tr", "li") and not closes:  # a table or a list within a line, such as in a cell
        state.push("hardbreak", "br", 0)
    elif name in ("td", "th") and not closes and not _begins_line(state):
        state.push("text", "", 0).content = " · "


def _begins_line(state: StateInline) -> bool:
    return not state.pending.strip() and (not state.tokens or state.tokens[-1].type == "hardbreak")


def _picture(state: StateInline, given: dict[str, str]) -> None:
    words = given.get("alt", "").strip()
    token = state.push("image", "img", 0)
    token.attrs = {"src": given.get("src", ""), "alt": ""}
    token.children = [Token("text", "", 0, content=words)] if words else []
    token.content = words


def _video(state: StateInline, given: dict[str, str]) -> None:
    """A video is not played here; a link leads to it."""
    address = given.get("src", "")
    if video := given.get("videoid"):
        address = f"https://www.youtube.com/watch?v={video}"
    if not address:
        return
    parts = urlsplit(address) if address.startswith("https://") else None
    words = given.get("title") or (parts.netloc if parts else posixpath.basename(address))
    if parts:
        state.push("link_open", "a", 1).attrs = {"href": address}
    state.push("text", "", 0).content = f"▷ {words}"
    if parts:
        state.push("link_close", "a", -1)


def _link(state: StateInline, closes: bool, address: str, stop: int) -> None:
    """A link that ends in the same paragraph. What is only a place to be led to is dropped."""
    opened = state.env.get("html_link") is state
    if closes and opened:
        state.env["html_link"] = None
        state.push("link_close", "a", -1)
    elif address and not closes and not opened and _end_ahead(state, "a", stop):
        state.env["html_link"] = state
        state.push("link_open", "a", 1).attrs = {"href": address}


def _end_links(state: StateCore) -> None:
    """A link whose end turned out to stand inside of code ends with its paragraph."""
    for token in state.tokens:
        if token.type == "inline" and token.children:
            open_links = sum({"link_open": 1, "link_close": -1}.get(child.type, 0) for child in token.children)
            token.children += [Token("link_close", "a", -1) for _ in range(open_links)]


def _code(state: StateInline, stop: int, silent: bool) -> bool:
    end = _end_ahead(state, "code", stop)
    if end and not silent:
        words = unescape(ANY_TAG.sub("", state.src[stop : end.start()]))
        state.push("code_inline", "code", 0).content = words
    state.pos = end.end() if end else state.pos
    return bool(end)


def _skip_comment(state: StateInline) -> bool:
    end = _end_ahead(state, "!--", state.pos + 4)
    state.pos = end.end() if end else state.pos
    return bool(end)


def _end_ahead(state: StateInline, name: str, start: int) -> re.Match[str] | None:
    """The next end of such a tag in these words. That there is none is found out once."""
    missing: set[tuple[str, str, int]] = state.env.setdefault("never_closed", set())
    if (name, state.src, state.posMax) in missing:
        return None
    if not (end := END_OF[name].search(state.src, start, state.posMax)):
        missing.add((name, state.src, state.posMax))
    return end


@dataclass(slots=True, kw_only=True)
class _Cell:
    kind: str
    spans: dict[str, str | int | float]
    text: str = ""


def _table(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Whole lines from `<table>` to its end."""
    found = _lines_to(state, line, end_line, TABLE_LINE, "table")
    if not found:
        return False
    last, source = found
    rows = list(_rows(source))
    if not rows or HANDLER.search(source):
        return False
    if not silent:
        state.line = last + 1
        _push_table(state, rows, [line, last + 1])
    return True


def _push_table(state: StateBlock, rows: list[list[_Cell]], lines: list[int]) -> None:
    state.push("table_open", "table", 1).map = lines
    state.push("tbody_open", "tbody", 1)
    for row in rows:
        state.push("tr_open", "tr", 1)
        for cell in row:
            state.push(f"{cell.kind}_open", cell.kind, 1).attrs = cell.spans
            inline = state.push("inline", "", 0)
            inline.content, inline.children, inline.map = " ".join(cell.text.split()), [], lines
            state.push(f"{cell.kind}_close", cell.kind, -1)
        state.push("tr_close", "tr", -1)
    state.push("tbody_close", "tbody", -1)
    state.push("table_close", "table", -1)


def _rows(source: str) -> Iterator[list[_Cell]]:
    """The cells of each row. Signs of a quote that stand between cells go to the cell they belong to."""
    row: list[_Cell] = []
    cell: _Cell | None = None
    last: _Cell | None = None
    opened, at = "", 0
    for tag in TABLE_TAG.finditer(source):
        between = source[at : tag.start()]
        at = tag.end()
        if cell:
            cell.text += between
        else:
            opened = OPEN if OPEN in between else opened
            if last and CLOSE in between:
                last.text += CLOSE
        closes, name = bool(tag[1]), tag[2].lower()
        if name in ("td", "th"):
            cell = None if closes else _Cell(kind=name, spans=_spans(tag[3]), text=opened)
            if cell:
                opened, last = "", cell
                row.append(cell)
        elif name == "tr" and row:
            yield row
            row, cell = [], None
    if row:
        yield row
    if last and CLOSE in source[at:]:
        last.text += CLOSE


def _spans(given: str) -> dict[str, str | int | float]:
    said = attributes(given)
    return {
        name: int(said[name])
        for name in ("colspan", "rowspan")
        if said.get(name, "").isdecimal() and 1 < int(said[name][:6]) <= MOST_SPANNED
    }


def _preformatted(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """Whole lines from `<pre>` to its end: code without a language."""
    found = _lines_to(state, line, end_line, PRE_LINE, "pre")
    if not found or HANDLER.search(found[1]):
        return False
    last, source = found
    if not silent:
        state.line = last + 1
        opening = PRE_LINE.match(source)
        token = state.push("fence", "code", 0)
        token.content = unescape(ANY_TAG.sub("", source[opening.end() if opening else 0 :])).strip("\n") + "\n"
        token.map = [line, last + 1]
    return True


def _lines_to(state: StateBlock, line: int, end_line: int, first: re.Pattern[str], name: str) -> tuple[int, str] | None:
    """The last line of what begins here and its source, if nothing but closing tags stands behind its end. An end that is not
    there is searched for once."""
    start, limit = state.bMarks[line] + state.tShift[line], state.eMarks[end_line - 1]
    if not first.match(state.src, start, limit) or state.is_code_block(line):
        return None
    missing: dict[tuple[str, str], int] = state.env.setdefault("tags_not_closed", {})
    if start < missing.get((name, state.src), 0):
        return None
    found = END_OF[name].search(state.src, start, limit)
    last = next(number for number in range(line, end_line) if found.end() <= state.eMarks[number]) if found else line
    if not found or not CLOSING.fullmatch(state.src, found.end(), state.eMarks[last]):
        missing[name, state.src] = found.end() if found else limit
        return None
    indent = state.tShift[line]
    lines = [state.src[state.bMarks[at] + min(state.tShift[at], indent) : state.eMarks[at]] for at in range(line, last + 1)]
    return last, _without_comments("\n".join(lines))


def _without_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])
