"""The layout of a PDF's pages: which lines are headings, paragraphs, list items, code, formulas, footnotes, and which are running
heads and feet.

Headings come from the outline, and the styles of those found there show which other lines are headings. A table stays as its
lines, because half a table would be worse.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from statistics import median
from typing import Literal

from bythebook.books.formats.pypdfium2.document import BULLETS, OutlineEntry
from bythebook.books.formats.pypdfium2.furniture import Style, without_furniture
from bythebook.books.formats.pypdfium2.lines import PdfLine

BlockKind = Literal["heading", "paragraph", "item", "code", "maths", "note"]
LONGEST_HEADING = 160
NUMBERING = re.compile(
    r"^\W*(?:(?:chapter|part|appendix|section|lecture|unit)\b)?\W*(?:[\divxlc]+|[a-h])?(?:\.\d+)*[.:)]?\s+", re.IGNORECASE
)
BULLET = re.compile(rf"^([{BULLETS}–—-])\s+(?=\S)")
NUMBER = re.compile(r"^(\d{1,3})[.)]\s+(?=\S)")
ONES = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
NUMBER_ALONE = re.compile(
    rf"(?=.)(?:chapter|part|appendix|section|lecture|unit|lesson)?\s*(?:\d+|[ivxl]+|[a-z]|(?:(?:twenty|thirty|forty)-?)?(?:{ONES})?)?",
    re.IGNORECASE,
)
NOTE_MARK = re.compile(r"(?:\d{1,3}|[*†‡§])\s*\D")
NOTE_MARK_ALONE = re.compile(r"\d{1,3}|[*†‡§]")
TERM_HANGS = 1.8
"""How far to the left of its explanation a term stands, in heights of a line: more than a paragraph's first line is moved."""
ENDS = (".", "!", "?", ":", ";", "…", "”", '"', ")")


@dataclass(slots=True)
class LayoutBlock:
    """Lines that belong together. `level`: that of a heading, counted from 1."""

    kind: BlockKind
    lines: list[PdfLine]
    level: int = 0
    entry: int | None = None
    """The place of a heading in the outline."""

    @property
    def last(self) -> PdfLine:
        return self.lines[-1]


@dataclass
class Layout:
    """What the lines of a whole document have in common."""

    pages: list[list[PdfLine]]
    outline: Sequence[OutlineEntry]
    labels: Sequence[str]
    body: Style = field(init=False)
    pitch: float = field(init=False)
    margins: dict[int, tuple[float, float]] = field(init=False, default_factory=dict)
    headings: dict[int, tuple[int, int | None]] = field(init=False, default_factory=dict)
    """The level and the outline's entry of each line that belongs to a heading, by the line's identity."""
    numbered: set[Style] = field(init=False, default_factory=set)
    """Styles of headings that are no larger than the text and always have a number: a line in such a style without a number is
    a caption."""
    joined: set[int] = field(init=False, default_factory=set)
    """Lines that continue the heading of the line before."""

    def __post_init__(self) -> None:
        self.body = _body_style(self.pages)
        self.pages = without_furniture(self.pages, self.labels, self.body)
        self.pitch = _pitch(self.pages, self.body)
        self.margins = {at: _margins(lines, self.body) for at, lines in enumerate(self.pages) if lines}
        self._match_outline()
        self._learn_styles()
        self._drop_numbers()

    def blocks(self) -> Iterator[LayoutBlock]:
        """Blocks in reading order. A paragraph continues over the end of a page; the footnotes of that page follow it."""
        open_block: LayoutBlock | None = None
        notes: list[LayoutBlock] = []
        for page in self.pages:
            flow, feet = self._split_notes(page)
            notes += self._note_blocks(feet)
            for line in flow:
                kind, level = self._kind(line)
                if open_block and self._continues(open_block, line, kind):
                    open_block.lines.append(line)
                    continue
                if open_block:
                    yield open_block
                    if notes and open_block.lines[0].page != line.page:
                        yield from notes
                        notes = []
                open_block = LayoutBlock(kind, [line], level, self.headings.get(id(line), (0, None))[1])
        if open_block:
            yield open_block
        yield from notes

    def _kind(self, line: PdfLine) -> tuple[BlockKind, int]:
        if id(line) in self.headings:
            return "heading", self.headings[id(line)][0]
        if line.monospaced:
            return "code", 0
        if line.formula and len(line.text.split()) < 12:
            return "maths", 0
        return ("item" if self._is_item(line) else "paragraph"), 0

    def _is_item(self, line: PdfLine) -> bool:
        left = self.margins[line.page][0]
        return (
            line.bulleted
            or bool(BULLET.match(line.text))
            or (bool(NUMBER.match(line.text)) and line.left > left + 0.4 * line.size)
        )

    def _continues(self, block: LayoutBlock, line: PdfLine, kind: BlockKind) -> bool:
        last = block.last
        gap = last.baseline - line.baseline
        same_page = line.page == last.page and gap > -0.5 * line.size
        if block.kind == "heading" or kind == "heading":
            return kind == "heading" and id(line) in self.joined
        if block.kind == "code" or kind == "code" or "maths" in (block.kind, kind):
            return block.kind == kind and (not same_page or gap < 3.2 * self.pitch) and line.page - last.page < 2
        if kind == "item" or line.columns or last.columns:
            return same_page and gap < 0.3 * line.size and kind != "item"
        if abs(line.size - last.size) > 0.15 * last.size and gap > 0.3 * line.size:
            return False
        if not same_page:
            return self._goes_on_overleaf(block, line)
        if gap > 1.32 * self.pitch * max(1.0, line.size / self.body[1]):
            return False
        return not self._begins_anew(block, line)

    def _goes_on_overleaf(self, block: LayoutBlock, line: PdfLine) -> bool:
        text = block.last.text.rstrip()
        return block.last.hyphen or line.text.lstrip()[:1].islower() or (not text.endswith(ENDS) and self._is_full(block.last))

    def _begins_anew(self, block: LayoutBlock, line: PdfLine) -> bool:
        """Whether a paragraph begins here: after a line that ended early with a full stop, at an indented first line, or below a
        short line that hangs out to the left, which is the term that this explains."""
        first, last = block.lines[0], block.last
        if block.kind == "item":
            # what follows a bullet stands further right than it; one that is drawn is no part of the line
            return line.left < first.left + (-0.4 if first.bulleted else 0.4) * line.size
        ended = last.text.rstrip().endswith(ENDS)
        indented = line.left - last.left > 0.8 * line.size and (
            len(block.lines) > 1 or first.left <= self.margins[line.page][0] + 1
        )
        full = self._is_full(last)
        below = last.baseline - line.baseline > 0.6 * line.size
        explains = len(block.lines) == 1 and below and not last.hyphen and line.left - last.left > TERM_HANGS * line.size
        return (ended and not full) or (indented and ended) or (explains and not full)

    def _is_full(self, line: PdfLine) -> bool:
        left, right = self.margins.get(line.page, (line.left, line.right))
        return line.right > right - 0.18 * (right - left)

    def _split_notes(self, page: Sequence[PdfLine]) -> tuple[list[PdfLine], list[PdfLine]]:
        """Separates footnotes: small type at the foot of a page that begins with a mark."""
        foot = len(page)
        while (
            foot
            and page[foot - 1].size < 0.93 * self.body[1]
            and not page[foot - 1].monospaced
            and id(page[foot - 1]) not in self.headings
        ):
            foot -= 1
        while foot < len(page) and not NOTE_MARK.match(f"{page[foot].text.strip()} ."):
            foot += 1
        return list(page[:foot]), list(page[foot:])

    def _note_blocks(self, lines: Iterable[PdfLine]) -> list[LayoutBlock]:
        notes: list[LayoutBlock] = []
        marked = False
        for line in lines:
            item = BULLET.match(line.text)
            if NOTE_MARK_ALONE.fullmatch(line.text.strip()):
                marked = True  # what follows is its note
            elif notes and not item and not marked and not NOTE_MARK.match(line.text.lstrip()):
                notes[-1].lines.append(line)
            else:
                notes.append(LayoutBlock("item" if item else "note", [line]))
                marked = False
        return notes

    def _match_outline(self) -> None:
        """Finds the lines of each outline entry on its page: those with its title, alone or with the lines that follow."""
        for number, entry in enumerate(self.outline):
            wanted = _key(entry.title)
            for page in (entry.page, entry.page + 1):
                if page < len(self.pages) and wanted and self._match(self.pages[page], wanted, number, entry):
                    break

    def _match(self, lines: Sequence[PdfLine], wanted: str, number: int, entry: OutlineEntry) -> bool:
        found: list[tuple[float, int, int]] = []
        for at, line in enumerate(lines):
            said = ""
            for end in range(at, min(at + 4, len(lines))):
                said += _key(lines[end].text) if end == at else _letters(lines[end].text)
                if said == wanted and id(line) not in self.headings:
                    away = abs((entry.top or lines[0].baseline) - line.baseline)
                    found.append((-round(line.size) + away / 200, at, end))
                if len(said) >= len(wanted):
                    break
        if not found:
            return False
        _, first, last = min(found)
        self._mark(lines[first : last + 1], entry.level + 1, number)
        return True

    def _mark(self, lines: Sequence[PdfLine], level: int, entry: int | None) -> None:
        for line in lines:
            self.headings[id(line)] = level, entry
        self.joined.update(id(line) for line in lines[1:])

    def _learn_styles(self) -> None:
        styles = self._outline_styles() if self.headings else self._size_styles()
        for page in self.pages:
            before: PdfLine | None = None
            for line in page:
                level = styles.get(line.style)
                if level and id(line) not in self.headings:
                    if before and before.style == line.style and id(before) in self.headings and _is_close(before, line):
                        self.headings[id(line)] = self.headings[id(before)]
                        self.joined.add(id(line))
                    elif self._may_head(line):
                        self.headings[id(line)] = level, None
                before = line

    def _drop_numbers(self) -> None:
        """A line with only "Chapter Two" above the heading of that chapter is its number, not another heading."""
        for at, page in enumerate(self.pages):
            self.pages[at] = [
                line
                for line, after in zip_longest(page, page[1:])
                if not (after and NUMBER_ALONE.fullmatch(line.text.strip()) and id(after) in self.headings)
            ]

    def _may_head(self, line: PdfLine) -> bool:
        text = line.text.strip()
        if BULLET.match(text) or line.columns:
            return False
        if line.style in self.numbered and not text[0].isdigit():
            return False
        one_font = line.share(lambda char: char.font == line.style[0]) > 0.85
        return one_font and len(text) <= LONGEST_HEADING and not text.endswith((".", ",", ";")) and any(map(str.isalpha, text))

    def _outline_styles(self) -> dict[Style, int]:
        seen: dict[Style, Counter[int]] = defaultdict(Counter)
        without_number: set[Style] = set()
        for page in self.pages:
            for line in page:
                if id(line) in self.headings:
                    seen[line.style][self.headings[id(line)][0]] += 1
                    if id(line) not in self.joined and not line.text.strip()[0].isdigit():
                        without_number.add(line.style)
        self.numbered = {style for style in seen if style[1] <= 1.12 * self.body[1]} - without_number
        known = {
            style: levels.most_common(1)[0][0]
            for style, levels in seen.items()
            if style != self.body and (style[1] > 1.12 * self.body[1] or (levels.total() > 1 and style[0] != self.body[0]))
        }
        return {**self._smaller_styles(known), **known}

    def _smaller_styles(self, known: Mapping[Style, int]) -> dict[Style, int]:
        """The fonts of known headings in sizes between those and the text: headings of a level that the outline leaves out."""
        fonts = {font for font, _ in known}
        others = {line.style for page in self.pages for line in page if line.style not in known and line.style[0] in fonts}
        return {
            style: max(level for (_, size), level in known.items() if size > style[1]) + 1
            for style in others
            if style[1] > 1.12 * self.body[1] and any(size > style[1] for _, size in known)
        }

    def _size_styles(self) -> dict[Style, int]:
        """Without an outline: lines set larger than the text, and bold lines that stand alone."""
        larger = sorted(
            {line.style[1] for page in self.pages for line in page if line.style[1] > 1.12 * self.body[1]}, reverse=True
        )
        levels = {size: min(at, 5) for at, size in enumerate(larger, start=1)}
        styles = {
            line.style: levels.get(line.style[1], 1)
            for page in self.pages
            for line in page
            if line.style[1] > 1.12 * self.body[1]
        }
        bold = {
            line.style
            for page in self.pages
            for line in page
            if line.bold and line.style[1] >= self.body[1] and line.style != self.body
        }
        return {**{style: min(len(levels), 5) + 1 for style in bold}, **styles}


def _is_close(before: PdfLine, line: PdfLine) -> bool:
    return 0 < before.baseline - line.baseline < 1.7 * line.size


def _body_style(pages: Iterable[Sequence[PdfLine]]) -> Style:
    weights: Counter[Style] = Counter()
    for page in pages:
        for line in page:
            if not line.monospaced:
                weights[line.style] += len(line.text)
    return weights.most_common(1)[0][0] if weights else ("", 10.0)


def _pitch(pages: Iterable[Sequence[PdfLine]], body: Style) -> float:
    gaps: Counter[float] = Counter()
    for page in pages:
        for one, other in pairwise(page):
            gap = one.baseline - other.baseline
            if one.style == other.style == body and 0.7 * body[1] < gap < 2.5 * body[1]:
                gaps[round(gap * 2) / 2] += 1
    return gaps.most_common(1)[0][0] if gaps else 1.2 * body[1]


def _margins(lines: Sequence[PdfLine], body: Style) -> tuple[float, float]:
    own = [line for line in lines if line.style == body] or list(lines)
    lefts = Counter(round(line.left) for line in own)
    often = [left for left, count in lefts.items() if count >= max(2, len(own) // 8)] or [round(median(lefts))]
    return float(min(often)), max(line.right for line in own)


def _key(title: str) -> str:
    """The letters of a heading without its number."""
    return _letters(NUMBERING.sub("", title, count=1)) or _letters(title)


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def lesson_level(outline: Sequence[OutlineEntry], pages: int) -> int | None:
    """The outline's level at which a lesson has a handful of pages: parts are too long, sections too short."""
    if not outline:
        return None
    levels = sorted({entry.level for entry in outline})
    sizes = {level: pages / sum(1 for entry in outline if entry.level <= level) for level in levels}
    fitting = [level for level, size in sizes.items() if 3 <= size <= 40]
    return fitting[0] if fitting else min(sizes, key=lambda level: abs(sizes[level] - 12))
