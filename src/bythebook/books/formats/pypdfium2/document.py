"""A PDF as PDFium reads it: the lines of each page with every character's box, the outline, the labels of pages.

PDFium is not safe for threads: open a document only in a child process, or while holding `LOCK`.
"""

from __future__ import annotations

import ctypes
import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

import pypdfium2
from pypdfium2 import raw as pdfium

from bythebook.books.formats.pypdfium2.lines import PdfChar, PdfLine
from bythebook.errors import InvalidBook

LOCK = threading.Lock()
MOST_PAGES = 5_000
MOST_ENTRIES = 20_000
PASSWORD, DAMAGED = 4, "it is damaged or no PDF at all; save or download it again"
MONOSPACED = re.compile(r"mono|courier|consol|typewriter|cmtt|cmsltt|sftt|inconsolata|menlo|\bcode|tt\d+$|fixed", re.IGNORECASE)
FIXED_PITCH = 1
BEFORE_HYPHEN = re.compile(r"[^\W\d_]{2}-$|\w/-$")
TEX_SIGNS = {
    ("CMSY", "0"): "\N{PRIME}", ("CMMI", "`"): "\N{SCRIPT SMALL L}", ("CMEX", "X"): "\N{N-ARY SUMMATION}",
    ("CMEX", "P"): "\N{N-ARY SUMMATION}", ("CMEX", "Z"): "\N{INTEGRAL}", ("CMEX", "R"): "\N{INTEGRAL}",
    ("CMEX", "Q"): "\N{N-ARY PRODUCT}", ("CMEX", "Y"): "\N{N-ARY PRODUCT}",
}  # fmt: skip
"""Signs of TeX's older fonts for formulas that PDFium takes for the letters with their numbers: X'X came out as X0X."""
LARGEST_BULLET = 20.0
BULLETS = "•◦▪■‣∙·●○►▶➢✓❑\uf0b7\uf0a7\uf076*"
LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
SOFT_HYPHEN = "\N{SOFT HYPHEN}"
HYPHENS = frozenset({0x02, 0xFFFE, 0xAD})
ACCENTS = {
    "´": "\u0301", "ˋ": "\u0300", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "ˇ": "\u030c",
    "˘": "\u0306", "˚": "\u030a", "˝": "\u030b", "˙": "\u0307", "¯": "\u0304", "˛": "\u0328",
}  # fmt: skip
"""TeX's older fonts have no accented letters: it sets the accent, goes back, and sets the letter."""
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
LONE_ACCENTS = {"\u0300": "`", "\u0301": "´"}
"""Newer programs of TeX set an accent without a letter over a space. PDFium gives such accents where their line ends."""
ACCENTED = re.compile(rf"([{''.join(ACCENTS)}])([^\W\d_]?)")
UNDOTTED = {"ı": "i", "ȷ": "j"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineEntry:
    """A line of the outline. `top`: the height on the page that it leads to, where it says so."""

    level: int
    title: str
    page: int
    top: float | None


class Document:
    """One open PDF. Pages are counted from 0, as PDFium does."""

    def __init__(self, raw: bytes) -> None:
        try:
            self._pdf = pypdfium2.PdfDocument(raw)
        except pypdfium2.PdfiumError as error:
            locked = "password" in str(error).lower() or getattr(error, "err_code", None) == PASSWORD
            raise InvalidBook("it is locked with a password; save a copy without one" if locked else DAMAGED) from error
        self._open: tuple[int, Any, dict[int, str]] | None = None
        self.damaged: list[int] = []
        """Pages that `lines` could not load."""
        if len(self._pdf) > MOST_PAGES:
            raise InvalidBook(f"it has {len(self._pdf):,} pages, more than {MOST_PAGES:,}; split it")
        if not len(self._pdf):
            raise InvalidBook(DAMAGED)

    def __len__(self) -> int:
        return len(self._pdf)

    def close(self) -> None:
        self._pdf.close()

    @cached_property
    def labels(self) -> list[str]:
        return [self._label(number) for number in range(len(self._pdf))]

    def _label(self, number: int) -> str:
        try:
            return self._pdf.get_page_label(number) or ""
        except UnicodeDecodeError:  # half of a character: the page goes by its number
            return ""

    def outline(self) -> list[OutlineEntry]:
        """The entries that lead to a page; a damaged outline ends where it is damaged."""
        found: list[OutlineEntry] = []
        try:
            for mark in self._pdf.get_toc():
                target = mark.get_dest()
                page = target.get_index() if target else None
                if page is None or not 0 <= page < len(self._pdf) or len(found) >= MOST_ENTRIES:
                    continue
                _, view = target.get_view()
                title = " ".join(mark.get_title().replace("\x00", "").split())
                top = view[1] if len(view) > 1 else view[0] if view else None
                if title:
                    found.append(OutlineEntry(level=mark.level, title=title, page=page, top=top))
        except (pypdfium2.PdfiumError, ValueError, ctypes.ArgumentError):
            return found
        return found

    @contextmanager
    def _page(self, number: int) -> Iterator[tuple[Any, Any]]:
        page = self._pdf[number]
        text = page.get_textpage()
        try:
            yield page, text
        finally:
            text.close()
            page.close()

    def lines(self, number: int) -> tuple[list[PdfLine], bool]:
        """The lines of a page, and whether it is a picture without text."""
        try:
            with self._page(number) as (page, text):
                found = _with_hyphens(_from_the_top(list(_lines(number, _composed(_readable_chars(text))))))
                _mark_bulleted(found, page)
                found = _without_lone_bullets(found)
                pictured = not found and any(one.type == pdfium.FPDF_PAGEOBJ_IMAGE for one in page.get_objects(max_depth=3))
                return found, pictured
        except pypdfium2.PdfiumError:
            self.damaged.append(number)
            return [], False

    def text(self, number: int, first: int, last: int) -> str:
        """Characters [first, last) of a page, by another function of PDFium than `lines` uses. The page stays open for the next
        call."""
        if self._open is None or self._open[0] != number:
            page = self._pdf[number].get_textpage()
            has_accents = not LONE_ACCENTS.keys().isdisjoint(str(page.get_text_range()))
            self._open = number, page, _lone_accents(list(_chars(page))) if has_accents else {}
        _, page, lone = self._open
        said, start = "", first
        for at in [*sorted(at for at in lone if first <= at < last), last]:
            said += str(page.get_text_range(start, at - start)) if at > start else ""
            said += lone[at] if at < last else ""
            start = at + 1
        said = said.replace("\x02", "")
        if ACCENTS.keys().isdisjoint(said):
            return said
        accents = [at for at in range(first, last) if chr(pdfium.FPDFText_GetUnicode(page, at)) in ACCENTS]
        over = iter([_stands_over(_sides(page, at), _sides(page, at + 1)) for at in accents])
        return ACCENTED.sub(lambda match: _accented(match[1], match[2]) if next(over, False) else match[0], said)


def _chars(text: Any) -> Iterator[PdfChar | None]:
    """The characters; None ends a line."""
    box, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    fonts: dict[int, tuple[str, bool]] = {}
    fixed_fonts: dict[str, bool] = {}
    high = 0
    for index in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text, index)
        if code in (0x0A, 0x0D):
            if code == 0x0A:
                yield None
            continue
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000 and high:
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)
        high = 0
        pdfium.FPDFText_GetLooseCharBox(text, index, box)
        pdfium.FPDFText_GetCharOrigin(text, index, x, y)
        key = ctypes.cast(pdfium.FPDFText_GetTextObject(text, index), ctypes.c_void_p).value or 0
        if key not in fonts:
            pdfium.FPDFText_GetFontInfo(text, index, name, 128, flags)
            called = name.value.decode("utf-8", "replace").rpartition("+")[2]
            if called not in fixed_fonts:
                named = bool(flags.value & FIXED_PITCH) or MONOSPACED.search(called) is not None
                fixed_fonts[called] = named or _is_fixed(pdfium.FPDFTextObj_GetFont(pdfium.FPDFText_GetTextObject(text, index)))
            fonts[key] = called, fixed_fonts[called]
        font, fixed = fonts[key]
        hyphen = code in HYPHENS or pdfium.FPDFText_IsHyphen(text, index) == 1
        shown = SOFT_HYPHEN if hyphen else LIGATURES.get(code) or TEX_SIGNS.get((font[:4], chr(code))) or chr(code)
        if code and (shown.isprintable() or shown.isspace() or hyphen):
            yield PdfChar(shown, index, box.left, box.right, box.bottom, box.top, y.value, font, fixed)


def _readable_chars(text: Any) -> list[PdfChar | None]:
    """The characters with accents that stand alone where they are seen."""
    chars = list(_chars(text))
    lone = _lone_accents(chars)
    if not lone:
        return chars
    shown = [char._replace(text=lone.get(char.number, char.text)) if char else None for char in chars]
    return [char for char in shown if char is None or char.text]


def _lone_accents(chars: list[PdfChar | None]) -> dict[int, str]:
    """What characters are shown as, by their index: a space under an accent as that accent, the accent itself as nothing, and
    what PDFium makes up between that space and its word as nothing. A space that begins a line is no character of PDFium's: the
    accent then goes to the word that begins there."""
    shown: dict[int, str] = {}
    accents = [char for char in chars if char and char.text in LONE_ACCENTS]
    blanks = [char for char in chars if char and char.text == NO_BREAK_SPACE]
    starts = _line_starts(chars) if accents else {}
    for accent in accents:
        middle = (accent.left + accent.right) / 2
        level = [char for char in blanks if abs(char.baseline - accent.baseline) < char.height]
        if under := [char for char in level if char.left - 1 <= middle <= char.right + 1]:
            shown |= {accent.number: "", under[-1].number: LONE_ACCENTS[accent.text]}
            continue
        near = range(round(accent.baseline - accent.height / 2), round(accent.baseline) + 1)
        first = min((starts[at] for at in near if at in starts), key=lambda char: char.left, default=None)
        if first and middle < first.left < accent.right + first.height:
            shown |= {accent.number: "", first.number: LONE_ACCENTS[accent.text] + first.text}
    return shown | dict.fromkeys(_made_up(chars, shown), "")


def _line_starts(chars: list[PdfChar | None]) -> dict[int, PdfChar]:
    """The leftmost sign at each height of the page."""
    found: dict[int, PdfChar] = {}
    for char in filter(None, chars):
        at = round(char.baseline)
        if not char.text.isspace() and char.text not in LONE_ACCENTS and (at not in found or char.left < found[at].left):
            found[at] = char
    return found


def _made_up(chars: list[PdfChar | None], shown: Mapping[int, str]) -> Iterator[int]:
    """The spaces between an accent in its place and its word. They have no width."""
    after_accent = False
    for char in filter(None, chars):
        if shown.get(char.number) in LONE_ACCENTS.values():
            after_accent = True
        elif after_accent and char.text.isspace() and char.left == char.right:
            yield char.number
        elif shown.get(char.number) != "":
            after_accent = False


def _composed(chars: list[PdfChar | None]) -> list[PdfChar | None]:
    """The characters with each accent joined to its letter. The letter stays as a character without text, because places count
    characters."""
    found = list(chars)
    for at, (accent, letter) in enumerate(pairwise(chars)):
        if not accent or not letter or accent.text not in ACCENTS or not letter.text.isalpha():
            continue
        if _stands_over((accent.left, accent.right), (letter.left, letter.right)):
            found[at] = letter._replace(text=_accented(accent.text, letter.text), number=accent.number)
            found[at + 1] = letter._replace(text="")
    return found


def _stands_over(accent: tuple[float, float], letter: tuple[float, float]) -> bool:
    middle = sum(accent) / 2
    return letter[0] < middle < letter[1] and accent[1] - accent[0] < 1.5 * (letter[1] - letter[0])


def _sides(page: Any, index: int) -> tuple[float, float]:
    """The left and right edge of a character."""
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(page, index, box)
    return box.left, box.right


def _accented(accent: str, letter: str) -> str:
    """The accented letter; both characters unchanged where there is no such letter."""
    made = unicodedata.normalize("NFC", UNDOTTED.get(letter, letter) + ACCENTS[accent])
    return made if len(made) == 1 else accent + letter


def _mark_bulleted(lines: list[PdfLine], page: Any) -> None:
    """Browsers draw the bullets of a list as dots and squares, not as characters."""
    dots = list(_dots(page))
    for line in lines if dots else ():
        size = line.size
        line.bulleted = any(
            0.15 * size < right - left < 0.6 * size
            and abs((right - left) - (top - bottom)) < 0.15 * size
            and 0 < line.left - right < 1.5 * size
            and line.baseline - 0.1 * size < bottom
            and top < line.baseline + 0.8 * size
            for left, bottom, right, top in dots
        )


def _without_lone_bullets(lines: list[PdfLine]) -> list[PdfLine]:
    """A bullet in larger type than its text, or set lower, is a line of its own: it marks the line beside it."""
    kept = []
    for line, after in zip_longest(lines, lines[1:]):
        alone = line.text.strip()
        near = after is not None and 0 < after.left - line.right < 1.5 * after.size
        if near and len(alone) == 1 and alone in BULLETS and abs(after.baseline - line.baseline) < 0.8 * after.size:
            after.bulleted = True
        else:
            kept.append(line)
    return kept


def _dots(page: Any) -> Iterator[tuple[float, float, float, float]]:
    """Left, bottom, right and top of each small drawing."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for at in range(pdfium.FPDFPage_CountObjects(page)):
        drawn = pdfium.FPDFPage_GetObject(page, at)
        if pdfium.FPDFPageObj_GetType(drawn) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        if pdfium.FPDFPageObj_GetBounds(drawn, left, bottom, right, top) and 0 < right.value - left.value < LARGEST_BULLET:
            yield left.value, bottom.value, right.value, top.value


def _is_fixed(font: Any) -> bool:
    """Whether narrow and wide letters have the same width, for fonts that do not declare it, such as TeX's typewriter fonts."""
    width = ctypes.c_float()

    def widths(letters: str) -> set[int]:
        measured = set()
        for letter in letters:
            if font and pdfium.FPDFFont_GetGlyphWidth(font, ord(letter), 1000.0, width) and width.value > 0:
                measured.add(round(width.value))
        return measured

    narrow, wide = widths("ijltf.,:"), widths("mwMWNO")
    return len(narrow | wide) == 1 and bool(narrow) and bool(wide)


def _lines(page: int, chars: list[PdfChar | None]) -> Iterator[PdfLine]:
    """The lines of a page. PDFium continues a line where a word is divided, and sometimes elsewhere: here a line ends where the
    text goes back to the left and down."""
    held: list[PdfChar] = []
    for char in [*chars, None]:
        if held and (char is None or _is_below(held, char)):
            yield from _line(page, held)
            held = []
        if char is not None:
            held.append(char)


def _from_the_top(lines: list[PdfLine]) -> list[PdfLine]:
    """The lines from top to bottom, if the page has one column: browsers draw blocks of code after the rest of the page. A page
    has one column where the text goes back up and no line is beside one from before."""
    starts = [at for at in range(1, len(lines)) if lines[at].baseline - lines[at - 1].baseline > 2 * lines[at].size]
    if not starts:
        return lines
    for at in starts:
        later = lines[at : next((end for end in starts if end > at), len(lines))]
        if any(_stand_beside(line, before) for line in later for before in lines[:at]):
            return lines
    ordered = lines[: starts[0]]
    for line in lines[starts[0] :]:
        above = [at for at, before in enumerate(ordered) if before.baseline > line.baseline]
        ordered.insert(above[-1] + 1 if above else 0, line)
    return ordered


def _with_hyphens(lines: list[PdfLine]) -> list[PdfLine]:
    """PDFium does not notice every hyphen that ends a line, such as the last of a page, nor those that DocBook's programs set
    where a path was broken."""
    found = list(lines)
    for at, (line, after) in enumerate(zip_longest(lines, lines[1:])):
        if line.hyphen or line.monospaced or not BEFORE_HYPHEN.search(line.text):
            continue
        below = after is None or after.baseline < line.baseline
        if below and (after is None or after.text[:1].islower() or (line.text[-2] == "/" and after.text[:1].isalnum())):
            found[at] = PdfLine(line.page, line.chars[:-1], hyphen=True)
    return found


def _stand_beside(line: PdfLine, other: PdfLine) -> bool:
    """Whether lines are side by side, as columns are, and the cells of a table, whose lines need not be level."""
    away = abs(line.baseline - other.baseline)
    apart = line.left >= other.right or line.right <= other.left
    return away < (3.0 if apart else 0.6) * line.size


def _is_below(held: list[PdfChar], char: PdfChar) -> bool:
    if char.text.isspace() or char.text == SOFT_HYPHEN:
        return False
    before = next((one for one in reversed(held) if not one.text.isspace() and one.text != SOFT_HYPHEN), None)
    return before is not None and char.left < before.left - char.height and before.baseline - char.baseline > 0.6 * char.height


def _line(page: int, held: list[PdfChar]) -> Iterator[PdfLine]:
    while held and held[-1].text.isspace():
        held.pop()
    hyphen = bool(held) and held[-1].text == SOFT_HYPHEN
    solid = [one for one in held if one.text != SOFT_HYPHEN]
    while solid and solid[-1].text.isspace():
        solid.pop()
    while solid and solid[0].text.isspace():
        solid.pop(0)
    if solid:
        yield PdfLine(page, solid, hyphen)
