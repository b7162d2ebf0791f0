"""Splits a lesson into pieces that partition it: by headings first, then by blocks, near the target size and never above the
cap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from bythebook.books.blocks import Page, read_page
from bythebook.books.markdown import heading_text, readable
from bythebook.books.model import Chunk, Span
from bythebook.books.units import SMALL, TENTHS, HeadedUnits, Unit, sections

TARGET = 400
CAP = 512
MOST_PASSES = 8
SPACE = re.compile(r"\s+")


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
