"""Cuts a chunk's text into what can be quoted: sentences, list items, table rows and tables, code, display maths.

Every statement is a stretch of the text as the author wrote it. Marks of containers, tags, imports and comments belong to none;
titles and captions are recognised, but count as headings: they name what is said and say nothing themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Literal

from bythebook.books.blocks import BLOCK, INCLUDE, NO_TEXT, OPTION, Block, Page, read_page
from bythebook.books.inline import with_plain_formulas
from bythebook.books.markdown import ALERT, BANGS, COLONS, FOOTNOTE, is_comment, readable, sentences

BOLD = re.compile(r"\*{2,3}")
CODE = re.compile(r"`[^`]*`")
StatementKind = Literal["sentence", "item", "row", "table", "code", "maths", "heading"]

LONGEST_ITEM = 320
"""A list item of up to this many characters is quoted whole, a longer one by its sentences."""
CACHED = 1024
QUOTE_MARK = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
ITEM_MARK = re.compile(r"[ \t]*(?:>[ \t]?)*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)(?:\[[ xX]\][ \t]+)?")
TAGS_ONLY = re.compile(r"[ \t]*+(?:</?[A-Za-z][^<>]*+>[ \t]*+)++$")
NAME_ONLY = re.compile(
    r"(?:\[?!\[[^\]]*+\](?:\([^()]*+\)|\[[^\]]*+\])[ \t]*+(?:\{[^{}]*+\})?+(?:\]\([^()]*+\))?+\s*+)++"
    r"|(\*\*|__)(?:(?!\1)[^\n])*?[^\s.!?\u2026]\1"
)
"""Pictures, and bold lines without a full stop, which are headings without a heading's mark."""
PICTURES = re.compile(r"[ \t]*(?:\[?!\[[^\]]*+\](?:\([^()]*+\)|\[[^\]]*+\])(?:\{[^{}]*+\})?+(?:\]\([^()]*+\))?+[ \t]*+)++$")
"""A line of a paragraph that holds nothing but pictures."""
UNBROKEN = re.compile(
    r"""(`+)(?:(?!\1).)+?\1 | \$[^$\n]{1,300}\$ | \*\*[^*\n]{1,200}\*\* | <[^<>]{1,400}>
    | !?\[[^\[\]]{0,1000}\]\([^()\n]{0,20000}\) | \{[^{}\n]{1,300}\}""",
    re.VERBOSE | re.DOTALL,
)
"""Marks that open and close within a sentence: a full stop between them does not end it."""
BARE_ROW = re.compile(r"[ \t>]*(?:\|[^\n]*\||<tr\b[^\n]*</tr>)[ \t]*$")
"""A row whose table's head is in another chunk, or whose table is cut by blank lines."""
BETWEEN_ROWS = re.compile(r"[\s|:-]+")
DEFINED = re.compile(r":?(?:^|\n)[ \t]*:[ \t]+")
LABEL = re.compile(r"(\*\*|__|\*|_)(?:(?!\1).){1,80}[.!?:]\1|(\*\*|__|\*|_)(?:(?!\2).){1,80}\2[.:]")
"""A run-in heading in bold or italics. It is read together with what it introduces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Characters [start, end) of a chunk's text. `block` numbers the paragraph, list or table it belongs to, in order;
    `readable` is what a person reads. A row's `readable` names its columns."""

    start: int
    end: int
    kind: StatementKind
    readable: str
    block: int


@lru_cache(maxsize=CACHED)
def statements(preface: str, text: str) -> tuple[Statement, ...]:
    """Returns the statements in the order of the text. They do not overlap, except that a table holds its rows and comes
    before them."""
    source = f"{preface}\n{text}" if preface else text
    shift = len(source) - len(text)
    page = read_page(source, body_start=0, mdx=True)
    found = _StatementCutter(page=page, numbers=count()).cut(page.blocks)
    return tuple(_within(found, shift))


def _within(found: Iterator[Statement], shift: int) -> Iterator[Statement]:
    """The statements with positions from the beginning of the text; those in the preface alone are left out."""
    for one in found:
        if one.end > shift and one.readable:
            yield replace(one, start=max(0, one.start - shift), end=one.end - shift)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatementCutter:
    page: Page
    numbers: count[int]

    def cut(self, blocks: Sequence[Block]) -> Iterator[Statement]:
        for block in blocks:
            yield from self._block(block, next(self.numbers), None)

    def _block(self, block: Block, number: int, item: Block | None) -> Iterator[Statement]:
        if block.kind in ("list", "item", "quote"):
            for index, child in enumerate(block.children):
                inside = block if block.kind == "item" else item
                own = number if index == 0 or block.kind != "quote" else next(self.numbers)
                yield from self._block(child, own, inside)
            return
        start, end = self._span(block)
        if block.kind == "paragraph":
            yield from self._paragraph(start, end, number, item, block)
        elif block.kind == "table":
            yield from self._table(block, number)
        elif block.kind == "fence":
            yield from self._fence(start, end, number, fenced=block.fenced)
        else:
            yield from self._one(start, end, "heading", number)

    def _span(self, block: Block) -> tuple[int, int]:
        return self.page.line_starts[block.first], self.page.line_starts[block.end]

    def _one(self, start: int, end: int, kind: StatementKind, number: int) -> Iterator[Statement]:
        source = self.page.source
        start = _skip(QUOTE_MARK, source, start, end)
        if kind == "item":
            while (after := _skip(ITEM_MARK, source, start, end)) > start:
                start = after
        start = _skip(FOOTNOTE, source, start, end)
        raw = source[start:end]
        start, end = start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())
        words = _words(raw)
        if words and start < end:
            yield Statement(start=start, end=end, kind=kind, readable=words, block=number)

    def _fence(self, start: int, end: int, number: int, *, fenced: bool) -> Iterator[Statement]:
        raw = self.page.source[start:end]
        begin, close = start + len(raw) - len(raw.lstrip(" \t>\r\n")), start + len(raw.rstrip())
        shown = readable(raw)
        missing = all(INCLUDE.fullmatch(line) for line in shown.splitlines() if line.strip())
        if not missing and begin < close:
            kind: StatementKind = "code" if fenced else "maths"
            yield Statement(start=begin, end=close, kind=kind, readable=shown, block=number)

    def _paragraph(self, start: int, end: int, number: int, item: Block | None, block: Block) -> Iterator[Statement]:
        kind: StatementKind = "item" if item is not None and block.first == item.first else "sentence"
        for begin, close, title in self._runs(start, end):
            rows = [] if title else self._bare_rows(begin, close, number)
            if rows:
                yield from rows
            elif title or NAME_ONLY.fullmatch(self.page.source[begin:close].strip(" \t\r\n>")):
                yield from self._one(begin, close, "heading", number)
            elif kind == "item" and close - begin <= LONGEST_ITEM:
                yield from self._one(begin, close, kind, number)
            else:
                for first, last in _sentences(self.page.source[begin:close]):
                    yield from self._one(begin + first, begin + last, kind, number)

    def _bare_rows(self, start: int, end: int, number: int) -> list[Statement]:
        """Rows without a head, each as an item with its cells; none where some line is not a row."""
        found = []
        for line in self.page.source[start:end].splitlines(keepends=True):
            if line.strip():
                if not BARE_ROW.match(line):
                    return []
                bare = line[_skip(QUOTE_MARK, line, 0, len(line)) :].rstrip()
                said = cells(bare) if bare.startswith("|") else _words(bare).split(" | ")
                begin = start + line.index(bare)
                words = "" if BETWEEN_ROWS.fullmatch(bare) else _row((), said)
                found.append(
                    Statement(
                        start=begin,
                        end=begin + len(bare),
                        kind="item" if len(said) > 1 else "heading",
                        readable=words,
                        block=number,
                    )
                )
            start += len(line)
        return found

    def _runs(self, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        """Stretches of lines: text, and between them lines that open, close or title a container (True)."""
        begin = at = start
        in_directive = False
        for line in self.page.source[start:end].splitlines(keepends=True):
            in_directive = _is_mark(line) or (in_directive and OPTION.match(line.rstrip()) is not None)
            in_directive = in_directive or (at == begin and is_comment(line, ""))
            if in_directive:
                if begin < at:
                    yield begin, at, False
                yield at, at + len(line), True
                begin = at + len(line)
            at += len(line)
        if begin < end:
            yield begin, end, False

    def _table(self, block: Block, number: int) -> Iterator[Statement]:
        source, starts = self.page.source, self.page.line_starts
        lines = [source[starts[line] : starts[line + 1]] for line in range(block.first, block.end)]
        start, end = self._span(block)
        begin = _skip(QUOTE_MARK, source, start, end)
        close = start + len(source[start:end].rstrip())
        shown = readable("".join(lines))
        yield Statement(start=begin, end=close, kind="table", readable=shown, block=number)
        names = cells(lines[0])
        for line in range(block.first + 2, block.end):
            words = _row(names, cells(lines[line - block.first]))
            first = _skip(QUOTE_MARK, source, starts[line], starts[line + 1])
            last = starts[line] + len(lines[line - block.first].rstrip())
            if words and first < last:
                yield Statement(start=first, end=last, kind="row", readable=words, block=number)


def _is_mark(line: str) -> bool:
    bare = line[_skip(QUOTE_MARK, line, 0, len(line)) :].rstrip()
    return any(mark.match(bare) for mark in (COLONS, BANGS, ALERT, TAGS_ONLY, BLOCK, NO_TEXT, PICTURES))


def _skip(mark: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = mark.match(text, start, end)
    return match.end() if match else start


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Returns sentences that do not split a mark; a run-in heading stays with the sentence after it."""
    kept = [match.span() for match in UNBROKEN.finditer(text)]
    begin: int | None = None
    spans = sentences(text)
    for index, (start, end) in enumerate(spans):
        begin = start if begin is None else begin
        follows = index + 1 < len(spans)
        bare = text[begin:end].lstrip(" \t>")
        if follows and (any(first < end < last for first, last in kept) or LABEL.fullmatch(bare)):
            continue
        yield begin, end
        begin = None


def _words(markdown: str) -> str:
    """On one line, without markup. A definition follows its term after a colon."""
    shown = readable(with_plain_formulas(_without_lone_mark(markdown)))
    return " ".join(DEFINED.sub(": ", shown).removeprefix(": ").split())


def _without_lone_mark(markdown: str) -> str:
    """Bold type may begin in one sentence and end in another: a mark without its partner is removed."""
    if "**" not in markdown:
        return markdown
    marks = list(BOLD.finditer(CODE.sub(lambda code: " " * len(code.group()), markdown)))
    if len(marks) % 2 == 0:
        return markdown
    opens = marks[-1].end() < len(markdown) and not markdown[marks[-1].end()].isspace()
    lone = marks[-1] if opens else marks[0]
    return markdown[: lone.start()] + markdown[lone.end() :]


def cells(line: str) -> list[str]:
    bare = line.strip().lstrip("> \t").strip("|")
    return [_words(cell) for cell in re.split(r"(?<!\\)\|", bare)]


def _row(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as a sentence, whose first cell is what the row is about: "Digital shadow: to the model automatic; to the robot by
    hand"."""
    said = [
        f"{names[index]}: {cell}" if index < len(names) and names[index] else cell
        for index, cell in enumerate(cells)
        if index and cell
    ]
    head = cells[0] if cells else ""
    return f"{head} ({'; '.join(said)})" if head and said else head or "; ".join(said)
