"""Sections of a page, and the units they are made of: what a piece is put together from and never cuts through.

A unit is a block (paragraph, list item, fence, table, tag) or, where a block alone is above the cap, a part of one: sentences
of a paragraph, lines of a fence, rows of a table; words and at last characters where even those are too large.

Sizes are in tokens, without a tokenizer: an estimate that errs upwards for prose, code, maths and any script. Weights are
whole tenths of a token, and cutting a text in two never makes the sum smaller, so sizes of parts can be added."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from bythebook.books.blocks import Block, Page
from bythebook.books.markdown import sentences

TENTHS = 10
SMALL = 100
"""Tokens below which a piece hardly stands alone."""
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
"""The room between target and cap: a header that is larger is not repeated."""


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
    """Where the units of these blocks start."""
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
    """Sentences; words, taken together to a handy size, where a sentence is above the cap; characters where a word is."""
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
    """A word that is above the cap is no word: base64, a minified script. Its pieces hold a fixed number of characters."""
    step = WORDS_TOGETHER // 25
    return iter(range(start + step, end, step))


def _rows(page: Page, block: Block, end: int, cap: int) -> Iterator[_Stretch]:
    """Lines of a fence or tag, rows of a table. A fence is cut at its blank lines where that is enough."""
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
