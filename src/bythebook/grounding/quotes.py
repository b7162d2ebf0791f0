"""Finds the quote that supports a drafted sentence in the book: character for character, or the nearest true span.

Spaces, emphasis and punctuation may differ, because a model reads rendered text and writes it again; letters and digits may not.
A quote may leave something out ("…") and may run from one passage into the next: each piece is then found by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bythebook.books.markdown import letters
from bythebook.books.model import Chunk
from bythebook.grounding.support import CheckedSource

LONGEST = 4000
"""How many characters of a quote are looked for."""
LEFT_OUT = re.compile(r"\s*(?:\[?(?:\u2026|\.{3,})\]?)\s*|\n{2,}")
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n")
ENOUGH = 0.6
"""The share of a quote's letters that must be found."""
SHORTEST = 3
"""A piece with fewer letters would be found somewhere by chance."""
OPENING = ("`", "*", "_", "(", "\u201c")
CLOSING, STOPS = ("`", "*", "_", ")", "\u201d"), (".", "!", "?")
NEAREST = 0.8
"""A statement must have this share of a quote's words to be the nearest true span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundQuote:
    """The stretch `source.chunk.text[start:end]`, which is a quote or a piece of one."""

    source: CheckedSource
    start: int
    end: int


def find_quote(quote: str, sources: Sequence[CheckedSource]) -> tuple[FoundQuote, ...]:
    """Where the parts of the quote are, in the quote's order; nothing where too little of it is found."""
    quote = quote.strip()[:LONGEST]
    wanted = len(letters(quote))
    if wanted < SHORTEST:
        return ()
    found, held = [], 0
    for piece in filter(None, LEFT_OUT.split(quote)):
        for one, length in _pieces(piece, sources):
            found.append(one)
            held += length
    return _joined(found) if held >= ENOUGH * wanted else ()


def _pieces(piece: str, sources: Sequence[CheckedSource]) -> Iterator[tuple[FoundQuote, int]]:
    """The piece as a whole or, failing that, its sentences, each with the number of letters of the quote it accounts for."""
    whole = _exact(piece, sources) or None
    if whole:
        yield whole, len(letters(piece))
        return
    for part in SENTENCE_END.split(piece):
        one = _exact(part, sources) or _nearest(part, sources)
        if one:
            yield one, len(letters(part))


def _exact(piece: str, sources: Sequence[CheckedSource]) -> FoundQuote | None:
    wanted = letters(piece)
    if len(wanted) < SHORTEST:
        return None
    for source in sources:
        text, places = _index(source.chunk)
        at = text.find(wanted)
        if at >= 0 and not _planted(source, places[at], places[at + len(wanted) - 1] + 1):
            start, end = places[at], places[at + len(wanted) - 1] + 1
            return FoundQuote(source=source, start=_start(source.chunk.text, start), end=_stop(source.chunk.text, end))
    return None


def _start(text: str, start: int) -> int:
    """The start of the quote with the marks that open it: code that begins it would otherwise be shown with half its marks."""
    while start and text[start - 1] in OPENING:
        start -= 1
    return start


def _stop(text: str, end: int) -> int:
    """The end of the quote with the marks and the full stop that close it."""
    last = end
    while text[last : last + 1] in CLOSING:
        last += 1
    return last + 1 if text[last : last + 1] in STOPS else last


def _nearest(piece: str, sources: Sequence[CheckedSource]) -> FoundQuote | None:
    """The statement that has nearly all words of the piece. A quote may have a slip in it."""
    words = {*re.findall(r"\w+", piece.casefold())}
    best: tuple[float, FoundQuote] | None = None
    for source in sources:
        for statement in source.statements:
            held = len(words & {*re.findall(r"\w+", statement.reading.text.casefold())}) / max(1, len(words))
            if len(words) >= SHORTEST and held >= NEAREST and not statement.planted and (best is None or held > best[0]):
                best = held, FoundQuote(source=source, start=statement.start, end=statement.end)
    return best[1] if best else None


def _planted(source: CheckedSource, start: int, end: int) -> bool:
    return any(one.planted and one.start < end and start < one.end for one in source.statements)


def _joined(found: Sequence[FoundQuote]) -> tuple[FoundQuote, ...]:
    """Joins stretches that touch or overlap."""
    joined: list[FoundQuote] = []
    for one in sorted(found, key=lambda one: (one.source.chunk.id, one.start)):
        last = joined[-1] if joined else None
        if last and last.source is one.source and not letters(one.source.chunk.text[last.end : one.start]):
            joined[-1] = FoundQuote(source=one.source, start=last.start, end=max(last.end, one.end))
        else:
            joined.append(one)
    order = {(one.source.chunk.id): place for place, one in reversed([*enumerate(found)])}
    return tuple(sorted(joined, key=lambda one: (order[one.source.chunk.id], one.start)))


def stems_around(found: Sequence[FoundQuote]) -> frozenset[str]:
    """The stems of the statements that the quotes are in, and of those that say what these are about: the statement before,
    where one leans on it ("it"), and the header of a table."""
    stems = set[str]()
    for one in found:
        every = one.source.statements
        for place, statement in enumerate(every):
            if statement.start < one.end and one.start < statement.end:
                stems |= statement.reading.stems
                stems |= every[place - 1].reading.stems if place and statement.leans else frozenset()
                if " | " in statement.reading.text:
                    stems |= next(head for head in every if head.paragraph == statement.paragraph).reading.stems
    return frozenset(stems)


@lru_cache(maxsize=1024)
def _index(chunk: Chunk) -> tuple[str, list[int]]:
    """The letters and digits of a chunk, folded, and the position of each."""
    found, places = [], []
    for place, character in enumerate(chunk.text):
        for lowered in character.casefold():
            if lowered.isalnum():
                found.append(lowered)
                places.append(place)
    return "".join(found), places
