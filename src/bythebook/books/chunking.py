"""Cuts a lesson into pieces that partition it: by headings first, then by blocks, near the target and never above the cap."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from bythebook.books.blocks import Page, read_page
from bythebook.books.markdown import heading_text, readable
from bythebook.books.model import Chunk, Span
from bythebook.books.packing import Limits, pack
from bythebook.books.sizing import SMALL, TENTHS, size
from bythebook.books.units import Section, Unit, sections

__all__ = ["CAP", "SMALL", "TARGET", "Piece", "cut", "cut_page", "embedded_text", "size"]

TARGET = 400
CAP = 512
SPACE = re.compile(r"\s+")
LIMITS = Limits(target=TARGET * TENTHS, cap=CAP * TENTHS, small=SMALL * TENTHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What becomes a chunk. `headings` are the places, in the page's list, of the headings it stands under, outermost first."""

    span: Span
    preface: str
    headings: tuple[int, ...]
    heading_path: tuple[str, ...]

    @property
    def section_title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


def cut(source: str, *, body_start: int, mdx: bool = False) -> list[Piece]:
    """The pieces of the body of `source`, in order. Between and around them is nothing but space."""
    return cut_page(read_page(source, body_start=body_start, mdx=mdx))


def cut_page(page: Page) -> list[Piece]:
    parts = sections(page, LIMITS.cap)
    units = [unit for section in parts for unit in section.units]
    texts: dict[int, str] = {}
    return [_piece(page, parts, units[first:end], texts) for first, end in pack(parts, LIMITS)]


def _piece(page: Page, parts: list[Section], units: list[Unit], texts: dict[int, str]) -> Piece:
    raw = page.source[units[0].start : units[-1].end]
    start = units[0].start + len(raw) - len(raw.lstrip())
    end = start + len(raw.strip())
    headings = _place(page, parts, units)
    for index in headings:
        texts.setdefault(index, heading_text(page.headings[index].content))
    return Piece(
        span=Span(start=start, end=end, first_line=page.line_of(start) + 1, last_line=page.line_of(end - 1) + 1),
        preface=units[0].preface,
        headings=headings,
        heading_path=tuple(texts[index] for index in headings),
    )


def _place(page: Page, parts: list[Section], units: list[Unit]) -> tuple[int, ...]:
    """The headings above the first text that is more than a heading or a tag, else above the last of them."""
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
    """What an embedder sees: where the chunk stands, then its words. Nothing of its neighbours, so that an edit stays local."""
    path = " > ".join(part for part in (chunk.page_title, *chunk.heading_path) if part)
    text = readable(f"{chunk.preface}\n{chunk.text}" if chunk.preface else chunk.text)
    # Tokenizers may spend a token on every space of an indentation, and it says nothing that is worth one.
    return SPACE.sub(_one_space, f"{path}\n{text}").strip() or chunk.text


def _one_space(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "
