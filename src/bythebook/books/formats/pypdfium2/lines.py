"""The characters and lines of a PDF's pages, as PDFium gives them."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

MATHS = re.compile(r"cmmi|cmsy|cmex|msam|msbm|math|symbol|eufm|euex|rsfs", re.IGNORECASE)
BOLD = re.compile(r"bold|black|heavy|semibold|cmbx|sfbx|demi|medi\b", re.IGNORECASE)


class PdfChar(NamedTuple):
    """A character of a page: its number for PDFium, its box, its baseline and the font it is set in. A tuple, because a book has
    millions and a tuple is made in a fifth of a dataclass's time."""

    text: str
    number: int
    left: float
    right: float
    bottom: float
    top: float
    baseline: float
    font: str
    fixed: bool

    @property
    def height(self) -> float:
        return self.top - self.bottom


class PdfLine:
    """Characters that stand beside each other, as PDFium orders them. `hyphen`: they end with one, which is not among them.
    `bulleted`: a bullet is drawn before them. `columns`: they have wide gaps, as a row of a table has.

    All lines of a book are held at once, so what is asked often is measured here, and the characters are packed: a tenth of the
    memory."""

    def __init__(self, page: int, chars: list[PdfChar], hyphen: bool = False) -> None:
        self.page, self.hyphen = page, hyphen
        self.bulleted = False
        solid = _solid(chars)
        tall = max(char.height for char in solid)
        full = [char for char in solid if char.height > 0.8 * tall] or solid
        self.size = median(char.height for char in full)
        self.baseline = median(char.baseline for char in full)
        self.left, self.right = solid[0].left, solid[-1].right
        self.first, self.last = chars[0].number, chars[-1].number
        self.text = "".join(char.text for char in chars)
        fonts = Counter(char.font for char in solid)
        self.style = fonts.most_common(1)[0][0], round(self.size * 2) / 2
        """The font and size of most of it."""
        self.monospaced = sum(char.fixed for char in solid) > 0.8 * len(solid)
        self.formula = sum(count for font, count in fonts.items() if MATHS.search(font)) > 0.5 * len(solid)
        self.columns = any(after.left - before.right > 1.8 * self.size for before, after in pairwise(solid))
        self._chars = _PackedChars.of(chars)

    @property
    def chars(self) -> list[PdfChar]:
        return self._chars.unpacked()

    @property
    def solid(self) -> list[PdfChar]:
        return _solid(self.chars)

    @property
    def bold(self) -> bool:
        return BOLD.search(self.style[0]) is not None

    def share(self, test: Callable[[PdfChar], bool]) -> float:
        solid = self.solid
        return sum(map(test, solid)) / len(solid)


def _solid(chars: Iterable[PdfChar]) -> list[PdfChar]:
    return [char for char in chars if not char.text.isspace()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PackedChars:
    """The characters of a line in little memory. PDFium's boxes are floats of 32 bits, so nothing is lost."""

    texts: str | tuple[str, ...]
    numbers: array[int]
    boxes: tuple[array[float], ...]
    fonts: tuple[str, ...]
    font_of: bytes
    fixed: bytes

    @classmethod
    def of(cls, chars: Sequence[PdfChar]) -> _PackedChars:
        texts, numbers, *boxes, fonts, fixed = zip(*chars, strict=True)
        known = tuple(dict.fromkeys(fonts))[:256]
        return cls(
            texts="".join(texts) if all(len(text) == 1 for text in texts) else texts,
            numbers=array("i", numbers),
            boxes=tuple(array("f", edges) for edges in boxes),
            fonts=known,
            font_of=bytes(known.index(font) if font in known else 0 for font in fonts),
            fixed=bytes(fixed),
        )

    def unpacked(self) -> list[PdfChar]:
        fonts = [self.fonts[at] for at in self.font_of]
        return [*map(PdfChar._make, zip(self.texts, self.numbers, *self.boxes, fonts, map(bool, self.fixed), strict=True))]
