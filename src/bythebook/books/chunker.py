"""Splits a lesson into pieces that partition it: by headings first, then by units, near the target size and never above the cap.

Pieces are made of units and never cut through one: a unit is a block (paragraph, list item, fence, table, tag) or, where a block
alone is above the cap, a part of one: sentences of a paragraph, lines of a fence, rows of a table; words and at last characters
where even those are too large.

Sizes are in tokens, without a tokenizer: an estimate that errs upwards for prose, code, maths and any script. Weights are whole
tenths of a token, and cutting a text in two never makes the sum smaller, so sizes of parts can be added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, groupby, pairwise

from bythebook.books.blocks import Block, Page, read_page
from bythebook.books.markdown import heading_text, readable, sentences
from bythebook.books.model import Chunk, Span

TARGET = 400
CAP = 512
SMALL = 100
"""Tokens below which a piece hardly stands alone."""
TENTHS = 10
MOST_PASSES = 8
SPACE = re.compile(r"\s+")
WORD = re.compile(r"\S+")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]")
WORD_WEIGHT = 13
"""Document D counts 1.3 tokens a word; no word weighs less."""
NEWLINE_WEIGHT = 6
PLAIN_WORD = 7
"""Letters up to which an English word is one token."""
SCRIPTS = (
    (0x0250, 15),
    (0x0700, 12),
    (0x2000, 20),
    (0x3040, 18),
    (0x3100, 14),
    (0x10000, 27),
)
"""Tenths of tokens a letter takes below each code point. Byte-pair vocabularies are built from English: the further a script is
from it, the more tokens a letter takes."""
EMOJI_WEIGHT = 35

WORDS_TOGETHER = 50 * TENTHS
LONGEST_PREFACE = 112 * TENTHS
"""The room between target and cap. A larger header is not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes of pieces, in tenths of tokens."""

    target: int
    cap: int
    small: int


LIMITS = Limits(target=TARGET * TENTHS, cap=CAP * TENTHS, small=SMALL * TENTHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece becomes a chunk. `headings` are the indexes, in the page's list, of the headings above it, outermost first."""

    span: Span
    preface: str
    headings: tuple[int, ...]
    heading_path: tuple[str, ...]
    parts: tuple[PiecePart, ...]

    @property
    def section_title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecePart:
    """One of the sections that a piece holds, from character `start` of the source on; `headings` as in `Piece`."""

    start: int
    headings: tuple[int, ...]
    heading_path: tuple[str, ...]


def cut(source: str, *, body_start: int, mdx: bool = False) -> list[Piece]:
    """Returns the pieces of the body of `source`, in order. Between and around them there is only white space."""
    return cut_page(read_page(source, body_start=body_start, mdx=mdx))


def cut_page(page: Page) -> list[Piece]:
    parts = sections(page, LIMITS.cap)
    units = [unit for section in parts for unit in section.units]
    texts: dict[int, str] = {}
    return [_piece(page, parts, units[first:end], texts) for first, end in pack(parts, LIMITS)]


def _piece(page: Page, parts: list[HeadedUnits], units: list[Unit], texts: dict[int, str]) -> Piece:
    raw = page.source[units[0].start : units[-1].end]
    start = units[0].start + len(raw) - len(raw.lstrip())
    end = start + len(raw.strip())
    headings = _place(page, parts, units)
    held = [(next(group).start, parts[index].headings) for index, group in groupby(units, key=lambda unit: unit.section)]
    for index in {*headings, *(one for _, path in held for one in path)}:
        texts.setdefault(index, heading_text(page.headings[index].content))
    return Piece(
        span=Span(start=start, end=end, first_line=page.line_of(start) + 1, last_line=page.line_of(end - 1) + 1),
        preface=units[0].preface,
        headings=headings,
        heading_path=tuple(texts[index] for index in headings),
        parts=tuple(
            PiecePart(start=max(start, at), headings=path, heading_path=tuple(texts[index] for index in path))
            for at, path in held
        ),
    )


def _place(page: Page, parts: list[HeadedUnits], units: list[Unit]) -> tuple[int, ...]:
    """Returns the headings above the first text that is more than a heading or a tag, or else above the last of these."""
    sections: list[tuple[int, list[Unit]]] = [
        (index, list(group)) for index, group in groupby(units, key=lambda unit: unit.section)
    ]
    for index, group in sections[:-1]:
        headings = parts[index].headings
        words = readable(page.source[group[0].start : group[-1].end]).strip()
        if words and not (headings and words == heading_text(page.headings[headings[-1]].content)):
            return headings
    return parts[sections[-1][0]].headings


def embedded_text(chunk: Chunk) -> str:
    """Returns the text to embed: the chunk's heading path, then its words. Its neighbours are left out, so that an edit stays
    local."""
    path = " > ".join(part for part in (chunk.page_title, *chunk.heading_path) if part)
    text = readable(f"{chunk.preface}\n{chunk.text}" if chunk.preface else chunk.text)
    # Tokenizers may spend a token on every space of an indentation, and it says nothing that is worth one.
    return SPACE.sub(_one_space, f"{path}\n{text}").strip() or chunk.text


def _one_space(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


def pack(sections: Sequence[HeadedUnits], limits: Limits) -> list[tuple[int, int]]:
    """Returns one range of units for each piece, over the units of all sections in order."""
    packing = _ChunkPacker(sections, limits)
    for _ in range(MOST_PASSES):
        if not packing.join_small():
            break
    return packing.pieces


class _ChunkPacker:
    def __init__(self, sections: Sequence[HeadedUnits], limits: Limits) -> None:
        self.limits = limits
        self.sections = sections
        self.units: list[Unit] = [unit for section in sections for unit in section.units]
        self.sums = [0, *accumulate(unit.weight for unit in self.units)]
        self.pieces: list[tuple[int, int]] = []
        first = 0
        for section in sections:
            self.pieces += self._balanced(first, first + len(section.units))
            first += len(section.units)

    def weight(self, first: int, end: int) -> int:
        """Returns the weight of these units' text, without the white space at its end."""
        return self.sums[end] - self.sums[first] - self.units[end - 1].tail

    def fits(self, first: int, end: int) -> bool:
        return self.weight(first, end) + self.units[first].preface_weight <= self.limits.cap

    def _balanced(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Splits one section into pieces of about the target size, each about as large as the next."""
        while first < end:
            left = self.weight(first, end)
            pieces = max(-(-left // self.limits.cap), round(left / self.limits.target), 1)
            if pieces == 1 and self.fits(first, end):
                yield first, end
                return
            goal = left / pieces
            at = first + 1
            while at < end and self.fits(first, at + 1) and self.weight(first, at) + self.units[at].weight / 2 <= goal:
                at += 1
            yield first, at
            first = at

    def join_small(self) -> bool:
        """Makes one pass from the left over all pieces, and returns whether it changed any."""
        before = self.pieces
        self.pieces = []
        waiting = list(reversed(before))
        while waiting:
            piece = waiting.pop()
            following = waiting[-1] if waiting else None
            preceding = self.pieces[-1] if self.pieces else None
            if self.weight(*piece) >= self.limits.small:
                self.pieces.append(piece)
            elif self._prefers_following(piece, preceding, following):
                self._settle(piece, waiting, after_first=True)
            else:
                self._settle(piece, waiting, after_first=False)
        return self.pieces != before

    def _prefers_following(
        self, piece: tuple[int, int], preceding: tuple[int, int] | None, following: tuple[int, int] | None
    ) -> bool:
        if following is None or preceding is None:
            return preceding is None
        last, after = self.units[piece[1] - 1].section, self.units[following[0]].section
        if self.units[piece[0]].section == self.units[preceding[1] - 1].section:
            return False
        own, other = self.sections[last].headings, self.sections[after].headings
        return other[: len(own)] == own or (bool(own) and other[:-1] == own[:-1])

    def _settle(self, piece: tuple[int, int], waiting: list[tuple[int, int]], *, after_first: bool) -> None:
        """Joins a small piece to a neighbour, or balances the two; a piece that fits neither stays as it is."""
        for after in (after_first, not after_first):
            if after and waiting and self.fits(piece[0], waiting[-1][1]):
                waiting.append((piece[0], waiting.pop()[1]))
                return
            if not after and self.pieces and self.fits(self.pieces[-1][0], piece[1]):
                waiting.append((self.pieces.pop()[0], piece[1]))
                return
        for after in (after_first, not after_first):
            if after and waiting:
                split = self._even(piece[0], waiting[-1][1])
                if split:
                    self.pieces.append((piece[0], split))
                    waiting.append((split, waiting.pop()[1]))
                    return
            if not after and self.pieces:
                split = self._even(self.pieces[-1][0], piece[1])
                if split:
                    self.pieces.append((self.pieces.pop()[0], split))
                    waiting.append((split, piece[1]))
                    return
        self.pieces.append(piece)

    def _even(self, first: int, end: int) -> int | None:
        """Returns where to split these units in two, as evenly as possible, so that neither part is small or above the cap."""
        choices = [
            at
            for at in range(first + 1, end)
            if self.fits(first, at)
            and self.fits(at, end)
            and min(self.weight(first, at), self.weight(at, end)) >= self.limits.small
            and not self.units[at - 1].bare_heading
        ]
        return min(choices, key=lambda at: abs(self.weight(first, at) - self.weight(at, end)), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Characters [start, end), up to where the next unit starts, so that weights add up to the weight of the whole.

    `tail` is what the space at the end weighs: a piece that ends with this unit is stripped of it.
    """

    start: int
    end: int
    weight: int
    tail: int
    section: int
    preface: str = ""
    preface_weight: int = 0
    bare_heading: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadedUnits:
    """A heading and what follows it up to the next; the first may have none. `headings` is the path of them, outermost first."""

    headings: tuple[int, ...]
    units: tuple[Unit, ...]

    @property
    def weight(self) -> int:
        return sum(unit.weight for unit in self.units)


@dataclass(frozen=True, slots=True)
class _Stretch:
    start: int
    preface: str = ""


def sections(page: Page, cap: int) -> list[HeadedUnits]:
    """Returns all sections of the page. Only sections above the cap have their blocks split."""
    found: list[HeadedUnits] = []
    path: list[int] = []
    for blocks, end in _split(page):
        heading = blocks[0].heading
        if heading is not None:
            level = page.headings[heading].level
            path = [index for index in path if page.headings[index].level < level] + [heading]
        units = _units(page, blocks, end, cap, section=len(found))
        found.append(HeadedUnits(headings=tuple(path), units=units))
    return found


def _split(page: Page) -> Iterator[tuple[list[Block], int]]:
    """Yields the blocks of each section, with the character at which the section ends."""
    blocks: list[Block] = []
    for block in page.blocks:
        if block.kind == "heading" and blocks:
            yield blocks, page.line_starts[block.first]
            blocks = []
        blocks.append(block)
    if blocks:
        yield blocks, len(page.source)


def _units(page: Page, blocks: list[Block], end: int, cap: int, *, section: int) -> tuple[Unit, ...]:
    start = page.line_starts[blocks[0].first]
    if _stripped_weight(page.source, start, end) <= cap:
        stretches = [_Stretch(page.line_starts[child.first]) for child in _whole(blocks)]
    else:
        stretches = list(_stretches(page, blocks, end, cap))
    units = _measure(page, stretches, end, section)
    if blocks[0].kind != "heading":
        return tuple(units)
    units[0] = replace(units[0], bare_heading=True)
    if len(units) > 1 and units[0].weight + units[1].weight <= cap and not units[1].preface:
        units[:2] = [replace(units[1], start=units[0].start, weight=units[0].weight + units[1].weight)]
    return tuple(units)


def _measure(page: Page, stretches: list[_Stretch], end: int, section: int) -> list[Unit]:
    units = []
    for index, stretch in enumerate(stretches):
        close = stretches[index + 1].start if index + 1 < len(stretches) else end
        heavy = weight(page.source[stretch.start : close])
        units.append(
            Unit(
                start=stretch.start,
                end=close,
                weight=heavy,
                tail=heavy - _stripped_weight(page.source, stretch.start, close),
                section=section,
                preface=stretch.preface,
                preface_weight=weight(stretch.preface),
            )
        )
    return units


def _stripped_weight(source: str, start: int, end: int) -> int:
    return weight(source[start:end].rstrip())


def _whole(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.kind == "list" and block.children:
            yield replace(block.children[0], first=block.first)
            yield from block.children[1:]
        else:
            yield block


def _stretches(page: Page, blocks: Iterable[Block], end: int, cap: int) -> Iterator[_Stretch]:
    """The offsets at which the units of these blocks start."""
    whole = list(_whole(blocks))
    for index, block in enumerate(whole):
        start = page.line_starts[block.first]
        close = page.line_starts[whole[index + 1].first] if index + 1 < len(whole) else end
        if _stripped_weight(page.source, start, close) <= cap:
            yield _Stretch(start)
        elif block.children:
            first = replace(block.children[0], first=block.first)
            yield from _stretches(page, (first, *block.children[1:]), close, cap)
        elif block.kind == "paragraph" or block.kind == "heading":
            yield from _prose(page.source, start, close, cap)
        else:
            yield from _rows(page, block, close, cap)


def _prose(source: str, start: int, end: int, cap: int, preface: str = "") -> Iterator[_Stretch]:
    """Where to cut prose: between sentences, between groups of words in a sentence above the cap, between characters in a word
    above it."""
    starts = [start, *(start + begin for begin, _ in sentences(source[start:end])[1:]), end]
    for begin, close in pairwise(starts):
        if _stripped_weight(source, begin, close) <= cap:
            yield _Stretch(begin, preface if begin > start else "")
        else:
            yield from (_Stretch(at, preface if at > start else "") for at in _words(source, begin, close, cap))


def _words(source: str, start: int, end: int, cap: int) -> Iterator[int]:
    yield start
    total, last = 0, start
    for match in re.finditer(r"\s*\S+", source[start:end]):
        begin = start + match.start() if match.start() else start
        heavy = weight(match[0])
        if total and total + heavy > WORDS_TOGETHER:
            begin += len(match[0]) - len(match[0].lstrip())
            if begin > last:
                yield begin
                last, total = begin, 0
        total += heavy
        if heavy > cap:
            for at in _characters(source, begin, start + match.end()):
                if at > last:
                    yield at
                    last, total = at, 0


def _characters(source: str, start: int, end: int) -> Iterator[int]:
    """Cuts a word above the cap, which is base64 or a minified script, into pieces of a fixed number of characters."""
    step = WORDS_TOGETHER // 25
    return iter(range(start + step, end, step))


def _rows(page: Page, block: Block, end: int, cap: int) -> Iterator[_Stretch]:
    """Where to cut code, tags and tables: between lines or rows. A fence is cut at its blank lines if that is enough."""
    first = block.first
    preface = _preface(page, block)
    head = 2 if block.kind == "table" else 1
    group = first
    for line in range(first, block.end):
        begins_group = line > first and (block.kind == "table" or not page.text(line - 1, line).strip())
        if line > first + head - 1 and begins_group:
            yield from _group(page, group, line, cap, preface if group > first else "", preface)
            group = line
    yield from _group(page, group, block.end, cap, preface if group > first else "", preface, end)


def _group(page: Page, first: int, last: int, cap: int, opening: str, preface: str, end: int | None = None) -> Iterator[_Stretch]:
    start, close = page.line_starts[first], page.line_starts[last] if end is None else end
    if start >= close:
        return
    if _stripped_weight(page.source, start, close) <= cap:
        yield _Stretch(start, opening)
        return
    for line in range(first, last):
        begin = page.line_starts[line]
        finish = page.line_starts[line + 1] if line + 1 < last else close
        own = opening if line == first else preface
        if _stripped_weight(page.source, begin, finish) <= cap:
            yield _Stretch(begin, own)
        else:
            for at in _words(page.source, begin, finish, cap):
                yield _Stretch(at, own if at == begin else preface)


def _preface(page: Page, block: Block) -> str:
    """Returns the header rows of a table or the opening line of a fence, or nothing if they are too large to repeat."""
    if block.kind != "table" and not block.fenced:
        return ""
    lines = page.text(block.first, block.first + (2 if block.kind == "table" else 1)).splitlines()
    preface = "\n".join(line.strip(" \t>") for line in lines)
    return preface if weight(preface) <= LONGEST_PREFACE else ""


def size(text: str) -> int:
    """Returns the tokens of `text`, rounded up."""
    return -(-weight(text) // TENTHS)


def weight(text: str) -> int:
    """Returns the size of `text` in tenths of tokens. Indentation counts nothing, because what is embedded has none."""
    return sum(map(_word_weight, WORD.findall(text))) + NEWLINE_WEIGHT * text.count("\n")


@lru_cache(maxsize=65536)
def _word_weight(word: str) -> int:
    if len(word) <= PLAIN_WORD and word.isascii() and word.isalpha() and word[1:].islower():
        return WORD_WEIGHT
    per_letter = 3 if word.isascii() else 5
    return max(WORD_WEIGHT, sum(_part_weight(part, per_letter) for part in PART.findall(word)))


def _part_weight(part: str, per_letter: int) -> int:
    first = part[0]
    if not first.isascii():
        code = ord(first)
        return next((letter for below, letter in SCRIPTS if code < below), EMOJI_WEIGHT)
    if first.isalpha():
        return max(TENTHS, per_letter * len(part))
    return max(TENTHS, 5 * len(part)) if first.isdigit() else 8
