"""What to write between two lines that continue each other. The rest of the book shows whether a hyphen divides a word
("impor-tant") or belongs to it ("well-known")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bythebook.books.formats.pypdfium2.lines import PdfLine

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
LAST_WORD = re.compile(rf"{WORD.pattern}$")
ADDRESS = re.compile(r"(?:https?|ftp)://\S*$")
ADDRESS_BREAKS = tuple("/.-_?&=#%~+:")
"""Where an address that does not fit into a line is broken."""
ADDRESS_PIECE = re.compile(r"[/._=?#&%~-]\w|/$")
"""What an address has and a word has not. After an address that ends with its line, "and" is the next word."""
LINES_EACH = 200
"""A program that divides words does so at least once in this many lines. One that does not divides a line only at the hyphen of
a compound."""


class LineBreaks:
    """What the lines of a book say about its compounds and its divided words."""

    def __init__(self, lines: Sequence[PdfLine]) -> None:
        self.words = Counter(_undivided(lines))
        compounds = [word.split("-") for word in self.words if "-" in word]
        self.heads = frozenset(parts[0] for parts in compounds if len(parts[0]) > 2)
        self.tails = frozenset(parts[-1] for parts in compounds if len(parts[-1]) > 3)
        divided = [_halves(before, after) for before, after in pairwise(lines) if before.hyphen]
        known = any(halves and "".join(halves) in self.words for halves in divided)
        self.divides = known or len(divided) * LINES_EACH >= len(lines)

    def between(self, before: PdfLine, after: PdfLine, said: str) -> str:
        """What to write between the two lines, so that a divided word or address is whole again. `said`: what the paragraph has
        before this."""
        if ADDRESS.search(said):
            more = (after.text.split(maxsplit=1) or [""])[0]
            if before.hyphen:
                return "" if before.text.endswith("/") else "-"
            if said.endswith(ADDRESS_BREAKS) and ADDRESS_PIECE.search(more):
                return ""
        if before.hyphen:
            return "" if before.text.endswith("/") else self._hyphen(before, after)
        compound = before.text.endswith("-") and after.text[:1].islower()
        return "" if compound else " "

    def _hyphen(self, before: PdfLine, after: PdfLine) -> str:
        halves = _halves(before, after)
        if not self.divides or after.text[:1].isdigit():
            return "-"
        if not halves:
            return ""
        head, tail = halves
        compounds, words = self.words[f"{head}-{tail}"], self.words[head + tail]
        if compounds or words:  # one book writes both "sub-directory" and "subdirectory"
            return "-" if compounds >= words or (compounds and after.text[:1].isupper()) else ""
        last = head.rpartition("-")[2]
        compound = len(head) > 2 and ({last, tail} <= self.words.keys() or last in self.heads)
        return "-" if compound or tail.partition("-")[0] in self.tails else ""


def _undivided(lines: Iterable[PdfLine]) -> Iterable[str]:
    """All words that are whole on a line, with their hyphens."""
    divided = False
    for line in lines:
        words = WORD.findall(line.text.casefold())
        yield from words[1 if divided else 0 : -1 if line.hyphen else None]
        divided = line.hyphen


def _halves(before: PdfLine, after: PdfLine) -> tuple[str, str] | None:
    head, tail = LAST_WORD.search(before.text.casefold()), WORD.match(after.text.casefold())
    return (head[0], tail[0]) if head and tail else None
