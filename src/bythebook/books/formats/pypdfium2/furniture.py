"""Finds what on a PDF's pages is not text of the book: running heads and feet, page numbers, lines of a table of contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from bythebook.books.formats.pypdfium2.lines import PdfLine

Style = tuple[str, float]
REPEATED = 3
OFTEN = 4
"""A running head that names the section differs from page to page. It is one if every fourth page has such a line."""
SHORTEST_PAGE = 4
LEADERS = re.compile(r"(?:\.\s?){5,}\s*[\divxlc]{0,6}(?:,\s*\d{1,4})*+\s*$")
"""Also with the several pages of an entry of an index."""
SHORT_LEADERS = re.compile(r"[^\s.]\s?(?:\.\s?){2,4}\s*[\divxlc]{1,6}\s*$")
"""After a long title there is room for two dots. Elsewhere than among other lines of contents they are an omission: 1, 2 ... 9"""
PAGE_NUMBER = re.compile(r"(?:page\s+)?(?:\d{1,4}|[ivxlcdm]{1,7})(?:\s+of\s+\d+)?", re.IGNORECASE)


def without_furniture(pages: Sequence[list[PdfLine]], labels: Sequence[str], body: Style) -> list[list[PdfLine]]:
    """The lines without running heads and feet. These have the same words, apart from digits, at the same height of three pages
    or more; or the page's own number among any words, if three pages have such a line at that height; or they stand alone above
    or below the text of every fourth page. Of pages that are all alike, as copies of a form are, only page numbers go."""
    edges = [_edges(page) for page in pages]
    repeated = Counter((_key(line), _height(line)) for lines in edges for line in lines)
    numbered = Counter(
        (line.style, _height(line)) for lines, label in zip(edges, labels, strict=True) for line in lines if _bears(line, label)
    )
    apart = [{id(line): line for line in _lines_apart(page, body)} for page in pages]
    running = Counter((line.style, _height(line)) for lines in apart for line in lines.values())
    often = max(REPEATED, sum(map(bool, pages)) / OFTEN)
    copies = Counter(_page_key(page) for page in pages)
    kept = []
    for page, lines, label, alone in zip(pages, edges, labels, apart, strict=True):
        alike = len(page) > len(lines) and copies[_page_key(page)] >= REPEATED
        gone = {
            id(line)
            for line in lines
            if PAGE_NUMBER.fullmatch(line.text.strip())
            or (not alike and line.size < 1.3 * body[1] and repeated[_key(line), _height(line)] >= REPEATED)
            or (_bears(line, label) and numbered[line.style, _height(line)] >= REPEATED)
            or (id(line) in alone and running[line.style, _height(line)] >= often)
        }
        kept.append(_without_contents([line for line in page if id(line) not in gone]))
    if not any(kept):  # pages of so few lines that each might be a running head
        return [[line for line in page if not PAGE_NUMBER.fullmatch(line.text.strip())] for page in pages]
    return kept


def _without_contents(lines: list[PdfLine]) -> list[PdfLine]:
    """Among other lines of contents, or of an index, a line of one character is a heading of the index: a letter or a sign."""
    left = [line for line in lines if not LEADERS.search(line.text)]
    if len(lines) - len(left) < REPEATED:
        return left
    return [line for line in left if not SHORT_LEADERS.search(line.text) and len(line.solid) > 1]


def _lines_apart(page: Sequence[PdfLine], body: Style) -> Iterator[PdfLine]:
    """The first and the last line, apart from page numbers, that are separate from the text and look neither like text nor like
    headings."""
    by_height = sorted((line for line in page if not PAGE_NUMBER.fullmatch(line.text.strip())), key=lambda line: -line.baseline)
    if len(by_height) < SHORTEST_PAGE:
        return
    for line, inner in ((by_height[0], by_height[1]), (by_height[-1], by_height[-2])):
        small = line.size < 1.05 * body[1] and line.style != body and not line.bold and not line.monospaced
        if small and abs(line.baseline - inner.baseline) > 1.8 * body[1]:
            yield line


def _height(line: PdfLine) -> int:
    return round(line.baseline / 4)


def _bears(line: PdfLine, label: str) -> bool:
    """Whether the first or last word of a line is its page's number."""
    words = line.text.split()
    return bool(label) and label in (words[0], words[-1])


def _edges(page: Sequence[PdfLine]) -> list[PdfLine]:
    by_height = sorted(page, key=lambda line: line.baseline)
    return [*by_height[:2], *by_height[2:][-2:]]


def _page_key(page: Sequence[PdfLine]) -> tuple[str, ...]:
    return tuple(map(_key, page))


def _key(line: PdfLine) -> str:
    return re.sub(r"\d+", "#", " ".join(line.text.split()).casefold())
