"""The block structure of a lesson: which lines are headings, paragraphs, fences, tables, lists. Knows nothing of sizes.

markdown-it-py parses blocks only (no inline text), with three rules added for what books put between Markdown: JSX tags and ESM
lines that span lines (MDX), comments, and display maths. Every rule consumes lines once, so the parse stays linear.

Directives of MyST, Sphinx and D2L, and blocks of MkDocs, are recognised by the lines that open and close them: their text is kept
and their markup dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from bythebook.books.jsx import ESM_LINE, NEVER_ENDS, tag_end

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

Kind = Literal["heading", "paragraph", "fence", "table", "list", "item", "quote", "html"]
KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "fence",
    "math_block": "fence",
    "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "paragraph",
}
LEAVES = frozenset({"heading", "paragraph", "fence", "table", "html"})
NEWLINE = re.compile(r"\r\n?|\n")
LONGEST_TAG_LINES = 400
LONGEST_OPTIONS = 40
WITH_TEXT = """admonition attention aside card caution corollary danger definition deprecated details dropdown epigraph error
    example exercise glossary grid grid-item grid-item-card hint important lemma margin note prf:definition prf:example prf:lemma
    prf:proof prf:theorem proof proposition remark seealso sidebar solution tab-item tab-set theorem tip todo topic versionadded
    versionchanged warning"""
CONTAINERS = frozenset(WITH_TEXT.split())
"""Directives that hold text of the book."""
WITH_CAPTION = "figure image iframe include literalinclude toctree bibliography contents tableofcontents index raw video"
FIGURES = frozenset(WITH_CAPTION.split())
"""Directives whose text, where there is one, is a caption."""
FORMULAS = frozenset({"math"})
"""Directives that hold a formula; GitHub writes the same without braces."""
OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(?:\{([A-Za-z][\w:-]*)\}[ \t]*(.*)|(math)[ \t]*)$")
COLON_FORMULA = re.compile(r"[ \t]*(:{3,})[ \t]*\{(math)\}[ \t]*(.*)$")
OPTION = re.compile(r"[ \t]*:[A-Za-z][\w-]*:(?:[ \t].*)?$")
PATH = re.compile(r"[\w.:/~@-]+\.\w{1,5}|[\w.-]*/[\w./-]*|https?://\S+|\d+(?: \d+)*")
BLOCK = re.compile(r"[ \t]*/{3,}[ \t]*(?:$|[A-Za-z][\w-]*[ \t]*(?:\|[ \t]*(.*))?$)")
"""MkDocs' `/// note | Title` and the `///` that ends it."""
NO_TEXT = re.compile(
    r"[ \t]*(?:\([\w.:-]+\)=|-+8<-+.*|\{!.*!\}|<<<[ \t].*|\[TOC\]|\[\[_?toc_?\]\]|\+{3}|-->"
    r"|:(?:eqlabel|label|width|height):`[^`]*`|:(?:align|alt|class|figclass|height|name|scale|target|width):[ \t].*)[ \t]*$",
    re.IGNORECASE,
)
"""Lines that name a place, include a file, or stand for a list of headings."""
INCLUDE = re.compile(r"\s*(?:-+8<-+.*|\{!.*!\}|\{\{ *#(?:include|rustdoc_include|playground|playpen) .*\}\})\s*")
"""A line of code that includes a file which was not there when the lesson was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading as written. `section` is false for one inside a list or quote: it has an anchor, but opens no section."""

    level: int
    content: str
    line: int
    section: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines [first, end) of the source, counted from 0. `heading` is the heading's index in the page's list."""

    kind: Kind
    first: int
    end: int
    children: tuple[Block, ...] = ()
    heading: int | None = None
    fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A lesson's source with its lines, headings and top-level blocks. Blocks cover every line of the body that is not blank."""

    source: str
    line_starts: Sequence[int]
    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]

    def line_of(self, offset: int) -> int:
        """Returns the line of an offset, counted from 0."""
        return bisect_right(self.line_starts, offset) - 1

    def text(self, first: int, end: int) -> str:
        return self.source[self.line_starts[first] : self.line_starts[end]]


def read_page(source: str, *, body_start: int, mdx: bool = False) -> Page:
    """Parses the body of `source`. With `mdx`, indentation does not make code, and Markdown continues inside tags."""
    line_starts = [0, *(match.end() for match in NEWLINE.finditer(source)), len(source)]
    first_line = bisect_right(line_starts, body_start) - 1 if body_start < len(source) else len(line_starts) - 1
    tokens = _parser(mdx).parse(source[body_start:]) if first_line < len(line_starts) - 1 else []
    headings: list[Heading] = []
    blocks = _blocks(iter(tokens), headings, first_line, depth=0)
    page = Page(source=source, line_starts=line_starts, headings=tuple(headings), blocks=())
    covered = tuple(_fill(page, blocks, first_line, len(line_starts) - 1))
    return Page(source=source, line_starts=line_starts, headings=tuple(headings), blocks=covered)


def _blocks(tokens: Iterator[Token], headings: list[Heading], offset: int, *, depth: int) -> list[Block]:
    """Reads tokens up to the end of the container they are in."""
    blocks: list[Block] = []
    for token in tokens:
        if token.nesting == -1:
            break
        kind = KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        first, end = token.map[0] + offset, token.map[1] + offset
        if kind == "heading":
            content = next(tokens).content
            next(tokens)
            headings.append(Heading(level=int(token.tag[1]), content=content, line=first + 1, section=depth == 0))
            blocks.append(Block(kind=kind, first=first, end=end, heading=len(headings) - 1))
        elif kind in LEAVES:
            if token.nesting == 1:
                _skip(tokens)
            blocks.append(Block(kind=kind, first=first, end=end, fenced=token.type == "fence"))
        else:
            children = _blocks(tokens, headings, offset, depth=depth + 1)
            blocks.append(Block(kind=kind, first=first, end=end, children=tuple(children)))
    return blocks


def _skip(tokens: Iterator[Token]) -> None:
    depth = 1
    for token in tokens:
        depth += token.nesting
        if depth == 0:
            return


def _fill(page: Page, blocks: Sequence[Block], first: int, end: int) -> Iterator[Block]:
    """Returns the blocks, and a paragraph for each stretch of lines between them that the parser skipped."""
    for block in blocks:
        yield from _gap(page, first, block.first)
        yield block
        first = max(first, block.end)
    yield from _gap(page, first, end)


def _gap(page: Page, first: int, end: int) -> Iterator[Block]:
    if first < end and page.text(first, end).strip():
        yield Block(kind="paragraph", first=first, end=end)


@cache
def _parser(mdx: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # a search that a server answers parses nothing

    parser = MarkdownIt("commonmark").enable("table").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    interrupts: RuleOptionsType = {"alt": ["paragraph", "blockquote", "list"]}
    parser.block.ruler.before("fence", "math_block", _math_block, interrupts)
    parser.block.ruler.before("fence", "directive", _directive, interrupts)
    if mdx:
        parser.disable(["code", "html_block"])
        parser.block.ruler.before("fence", "comment", _comment, interrupts)
        parser.block.ruler.before("fence", "jsx_tag", _jsx_tag, interrupts)
        parser.block.ruler.before("fence", "esm", _esm)
    return parser


def _take(state: StateBlock, kind: str, first: int, end: int) -> bool:
    state.line = end
    token = state.push(kind, "", 0)
    token.map = [first, end]
    return True


def _start(state: StateBlock, line: int) -> int:
    return state.bMarks[line] + state.tShift[line]


def _math_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.is_code_block(first) or not state.src.startswith("$$", _start(state, first)):
        return False
    begin = _start(state, first) + 2
    for line in range(first, last):
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            break
        if state.src[begin if line == first else state.bMarks[line] : state.eMarks[line]].rstrip().endswith("$$"):
            return True if silent else _take(state, "math_block", first, line + 1)
        if state.env.get("maths_open"):
            break
    # One search to the end of the page is enough to know that no closing mark is left for those that follow.
    state.env["maths_open"] = True
    return False


def _directive(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """The line that opens a directive with its options, and later the one that ends it. The content of a container is parsed as
    Markdown; a figure and a formula are taken whole."""
    ends: dict[int, int] = state.env.setdefault("directive_ends", {})
    if first in ends:
        return True if silent else _take(state, "html_block", first, first + 1)
    directive = opened(state.src[_start(state, first) : state.eMarks[first]])
    if directive is None or directive[1] not in CONTAINERS | FIGURES | FORMULAS or directive[0] in state.env:
        return False
    lines: list[str] = []
    end = None
    for number in range(first + 1, last):
        line = state.src[state.bMarks[number] : state.eMarks[number]]
        if closes(line, directive[0]):
            end = number
            break
        lines.append(line)
    if end is None:
        state.env[directive[0]] = "none left"
        return False
    if silent:
        return True
    if directive[1] not in CONTAINERS:
        return _take(state, "html_block" if directive[1] in FIGURES else "math_block", first, end + 1)
    ends[end] = first
    return _take(state, "html_block", first, first + 1 + options_end(lines, 0))


def _comment(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    begin = _start(state, first)
    close = next((end for mark, end in (("<!--", "-->"), ("{/*", "*/}")) if state.src.startswith(mark, begin)), None)
    if close is None or close in state.env:
        return False
    at = state.src.find(close, begin)
    if at < 0 or at > state.eMarks[last - 1]:
        state.env[close] = "none left"
        return False
    end = bisect_right(state.bMarks, at, first, last)
    return True if silent else _take(state, "html_block", first, end)


def _jsx_tag(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Lines that hold nothing but tags, and tags that span lines. What they enclose is parsed as Markdown."""
    limit = state.eMarks[min(last, first + LONGEST_TAG_LINES) - 1]
    at = _start(state, first)
    if not state.src.startswith("<", at, state.eMarks[first]):
        return False
    line = first
    while state.src.startswith("<", at, state.eMarks[line]):
        end = tag_end(state.src, at, limit, braces="tag_never_ends" not in state.env)
        if end == NEVER_ENDS:
            state.env["tag_never_ends"] = True
        if end < 0:
            break
        line = bisect_right(state.bMarks, end - 1, line, last) - 1
        at = end
        while at < state.eMarks[line] and state.src[at] in " \t":
            at += 1
    if line == first and at < state.eMarks[first]:
        return False
    return True if silent else _take(state, "html_block", first, line + 1)


def _esm(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.level or state.tShift[first] or not ESM_LINE.match(state.src, state.bMarks[first], state.eMarks[first]):
        return False
    line = first + 1
    while line < last and not state.isEmpty(line):
        line += 1
    return True if silent else _take(state, "html_block", first, line)


def opened(line: str) -> tuple[str, str, str] | None:
    """The fence, the name and the argument of a directive that opens on this line."""
    if match := COLON_FORMULA.match(line):
        return match[1], match[2], match[3].strip()
    match = OPENING.match(line)
    return (match[1], match[2] or match[4], (match[3] or "").strip()) if match else None


def closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t>")
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def options_end(lines: Sequence[str], first: int) -> int:
    """Where the text of a directive begins, after its options: `:name: value`, or YAML between lines of hyphens."""
    at = first
    if at < len(lines) and lines[at].strip() == "---":
        inside = range(at + 1, min(len(lines), at + LONGEST_OPTIONS))
        return next((number + 1 for number in inside if lines[number].strip() == "---"), first)
    while at < len(lines) and OPTION.match(lines[at]):
        at += 1
    return at


def title_of(argument: str) -> str:
    """An admonition's title; a figure's path is not one."""
    return "" if PATH.fullmatch(argument) else argument


def block_title(line: str) -> str | None:
    """The title on a line that opens or ends one of MkDocs' blocks; None where the line does neither."""
    match = BLOCK.match(line)
    return None if match is None else (match[1] or "").strip()
