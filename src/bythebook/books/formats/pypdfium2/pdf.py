"""PDF: one lesson for each entry of the outline at the level where lessons have a handful of pages.

A place is a page, by its number and by its label, and the characters of it as PDFium counts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from bythebook.books.formats.pypdfium2.document import DAMAGED, Document, OutlineEntry
from bythebook.books.formats.pypdfium2.layout import BULLET, NUMBER, Layout, LayoutBlock, lesson_level
from bythebook.books.formats.pypdfium2.line_breaks import LineBreaks
from bythebook.books.formats.pypdfium2.lines import PdfChar, PdfLine
from bythebook.books.formats.writer import SPACE, MarkdownWriter, Piece, Run, inline_text
from bythebook.books.model import Reading, SourcePlace
from bythebook.errors import InvalidBook

PAGES_WITHOUT_OUTLINE = 20
SPACED_DOTS = re.compile(r"\. \. \.(?: (?=,))?")
"""An ellipsis as TeX sets it. Each dot would end a sentence."""
OCR = "run text recognition on it first, for example: ocrmypdf in.pdf out.pdf"
DAMAGED_PAGE = "damaged and not read; save or download it again"
NOTHING_ELSE = "it has no text but page numbers; look whether it is the file that you mean"
SLUG = re.compile(r"[^\w]+")
NOTE = re.compile(r"\d{1,2}|[*†‡§]+")
WORD_BEFORE = re.compile(r"[^\W\d_]{3,}$|(?<![^\W\d_])(?!(?:[cdmknµ]m|ft|in|yd|mi|ha|Hz)$)[^\W\d_]{2}$|[.,;:!?)”’\"']$")
"""What a footnote's mark follows. After two letters it may also be the power of a unit: 3 cm²."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The blocks of one lesson."""

    title: str
    blocks: Sequence[LayoutBlock]
    level: int


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    document = Document(raw)
    found = [document.lines(number) for number in range(len(document))]
    pictured = [number for number, (lines, picture) in enumerate(found) if picture and not lines]
    if len(document.damaged) == len(document):
        raise InvalidBook(DAMAGED)
    if not any(lines for lines, _ in found):
        raise InvalidBook(f"it has no text, only pictures of {len(document):,} page{'s' * (len(document) > 1)}; {OCR}")
    layout = Layout(pages=[lines for lines, _ in found], outline=document.outline(), labels=_numbers(document))
    parts = list(_parts(layout, len(document)))
    breaks = LineBreaks([line for page in layout.pages for line in page])
    width = len(str(len(parts)))
    readings: list[Reading] = []
    for number, part in enumerate(parts, start=1):
        writer = _LessonWriter(path, document.labels, part, breaks)
        writer.write_all()
        if not writer.out.marks:
            continue
        name = SLUG.sub("-", part.title.casefold()).strip("-")[:50] or "untitled"
        readings.append(
            Reading(
                source_file=f"{path}/{number:0{width}}-{name}",
                file=path,
                text=writer.out.text,
                marks=tuple(writer.out.marks),
                title=part.title or None,
                anchors=tuple(writer.out.anchors),
                warnings=() if readings else tuple(_warnings(pictured, document)),
            )
        )
    if not readings:
        raise InvalidBook(NOTHING_ELSE)
    return tuple(readings)


def _numbers(document: Document) -> list[str]:
    """The number printed on each page."""
    return [label or str(number) for number, label in enumerate(document.labels, start=1)]


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    document = Document(raw)
    return lambda place: document.text(place.number - 1, place.first, place.last)  # places come page by page


def _warnings(pictured: Sequence[int], document: Document) -> Iterator[str]:
    for pages, what in ((pictured, f"without text, only a picture; {OCR}"), (document.damaged, DAMAGED_PAGE)):
        if pages:
            many = len(pages) > 1
            yield f"page{'s' * many} {_named(pages, document.labels)} of the PDF {'are' if many else 'is'} {what}."


def _named(pages: Sequence[int], labels: Sequence[str]) -> str:
    named = ", ".join(labels[number] or str(number + 1) for number in pages[:10])
    return named + (f" and {len(pages) - 10:,} more" if len(pages) > 10 else "")


def _parts(layout: Layout, pages: int) -> Iterator[_Part]:
    blocks = list(layout.blocks())
    level = lesson_level(layout.outline, pages)
    if level is None:
        yield from _parts_by_headings(blocks, pages)
        return
    starts = _starts(layout, blocks, level)
    front = blocks[: starts[0][0]] if starts else blocks
    if front:
        yield _Part(title="Front matter" if starts else "", blocks=front, level=level)
    for (start, title), (end, _) in zip(starts, [*starts[1:], (len(blocks), "")], strict=True):
        if start < end:
            yield _Part(title=title, blocks=blocks[start:end], level=level)


def _starts(layout: Layout, blocks: Sequence[LayoutBlock], level: int) -> list[tuple[int, str]]:
    """The first block of each lesson: its heading, or else the first block of its page."""
    by_entry = {block.entry: at for at, block in enumerate(blocks) if block.entry is not None}
    starts: list[tuple[int, str]] = []
    for number, entry in enumerate(layout.outline):
        if entry.level > level:
            continue
        at = by_entry.get(number)
        if at is None:
            at = next((place for place, block in enumerate(blocks) if block.lines[0].page >= entry.page), len(blocks))
        if starts and at <= starts[-1][0]:
            starts[-1] = starts[-1][0], entry.title  # a part and its first chapter begin on the same page
        else:
            starts.append((at, entry.title))
    return starts


def _parts_by_headings(blocks: Sequence[LayoutBlock], pages: int) -> Iterator[_Part]:
    """Without an outline: splits at the headings of the level at which lessons have a handful of pages."""
    heads = [block for block in blocks if block.kind == "heading"]
    outline = [OutlineEntry(level=block.level - 1, title="", page=block.lines[0].page, top=None) for block in heads]
    level = lesson_level(outline, pages)
    held: list[LayoutBlock] = []
    for block in blocks:
        begins = block.kind == "heading" and level is not None and block.level - 1 <= level
        long = held and block.lines[0].page - held[0].lines[0].page >= PAGES_WITHOUT_OUTLINE
        if held and (begins or (long and level is None)) and any(one.kind != "heading" for one in held):
            yield _Part(title=_title(held), blocks=held, level=level or 0)
            held = []
        held.append(block)
    if held:
        yield _Part(title=_title(held), blocks=held, level=level or 0)


def _title(blocks: Sequence[LayoutBlock]) -> str:
    heading = next((block for block in blocks if block.kind == "heading"), None)
    return " ".join(" ".join(line.text for line in heading.lines).split()) if heading else ""


class _LessonWriter:
    """Writes one lesson."""

    def __init__(self, path: str, labels: Sequence[str], part: _Part, breaks: LineBreaks) -> None:
        self.path, self.labels, self.part, self.breaks = path, labels, part, breaks
        self.out = MarkdownWriter()

    def write_all(self) -> None:
        for number, block in enumerate(self.part.blocks):
            match block.kind:
                case "heading":
                    self._heading(block, first=number == 0)
                case "code":
                    self.out.code_lines([(text, self._place(line)) for text, line in code_lines(block.lines)])
                case "maths":
                    for line in block.lines:
                        self.out.maths(line.text, self._place(line))
                case "item":
                    self._item(block)
                case _:
                    self.out.pieces(self._pieces(block.lines))

    def _heading(self, block: LayoutBlock, *, first: bool) -> None:
        level = 1 if first else max(1, block.level - self.part.level)
        words = "".join(text for text, _, _ in self._pieces(block.lines))
        place = self._place(block.lines[0], last=block.last.last)
        self.out.heading(level, words, place, place.fragment)

    def _item(self, block: LayoutBlock) -> None:
        text = block.lines[0].text
        bullet, number = BULLET.match(text), NUMBER.match(text)
        first = block.lines[0]
        written = None if first.bulleted else bullet or number
        mark = f"{written[1]}. " if written and not bullet else "- "
        rest = PdfLine(first.page, _after(first.chars, len(written[0])), first.hyphen) if written else first
        with self.out.indented(mark, " " * len(mark)):
            self.out.pieces(self._pieces([rest, *block.lines[1:]]))

    def _pieces(self, lines: Sequence[PdfLine]) -> list[Piece]:
        """The text of consecutive lines, each with its place."""
        found: list[Piece] = []
        for number, line in enumerate(lines):
            if number and found:
                found[-1] = (found[-1][0].rstrip(), *found[-1][1:])
                said = "".join(text for text, _, _ in found[-6:])
                found.append((self.breaks.between(lines[number - 1], line, said), None, False))
            found += [(text, self._place(line, first, last), True) for text, first, last in runs(line)]
        return found

    def _place(self, line: PdfLine, first: int | None = None, last: int | None = None) -> SourcePlace:
        return SourcePlace(
            file=self.path,
            kind="page",
            number=line.page + 1,
            label=self.labels[line.page],
            first=line.first if first is None else first,
            last=(line.last if last is None else last) + 1,
        )


def _after(chars: Sequence[PdfChar], dropped: int) -> list[PdfChar]:
    length = 0
    for at, char in enumerate(chars):
        if length >= dropped:
            return list(chars[at:])
        length += len(char.text)
    return list(chars[-1:])


def runs(line: PdfLine) -> Iterator[tuple[str, int, int]]:
    """Stretches of a line in Markdown, with their first and last character. Exponents are raised; footnote marks are left out."""
    made, first, last = list[Run](), -1, -1
    chars = line.chars
    at = 0
    while at < len(chars):
        end, shift = _shifted(line, chars, at)
        said = "".join(char.text for char in chars[at:end])
        before = "".join(text for _, text in made)
        if shift > 0 and NOTE.fullmatch(said.strip()) and _is_note_mark(before, chars[end : end + 1]):
            if before.strip():
                yield inline_text(made, whole=False), first, last
            made, first = [], -1
        else:
            words = SPACED_DOTS.sub("…", SPACE.sub(" ", said))
            made.append(("superscript", said.strip()) if shift > 0 else ("subscript" if shift else "words", words))
            first = chars[at].number if first < 0 else first
            last = chars[end - 1].number
        at = end
    if any(text.strip() for _, text in made):
        yield inline_text(made, whole=False), first, last


def _shifted(line: PdfLine, chars: Sequence[PdfChar], at: int) -> tuple[int, int]:
    """The end of the stretch that begins here, and whether the stretch is above the line (1) or below it (-1)."""
    shift = _shift(line, chars[at])
    end = at + 1
    while end < len(chars) and _shift(line, chars[end]) == shift:
        end += 1
    return end, shift


def _shift(line: PdfLine, char: PdfChar) -> int:
    if char.text.isspace() or char.height > 0.87 * line.size:
        return 0
    away = char.baseline - line.baseline
    return 1 if away > 0.15 * line.size else -1 if away < -0.08 * line.size else 0


def _is_note_mark(before: str, after: Sequence[PdfChar]) -> bool:
    ends = not after or after[0].text.isspace() or not after[0].text.isalnum()
    return ends and (not before.strip() or WORD_BEFORE.search(before.rstrip()) is not None)


def code_lines(lines: Sequence[PdfLine]) -> Iterator[tuple[str, PdfLine]]:
    """Each line of code with its indentation, which a page shows only by the positions of its characters."""
    solid = [line.solid for line in lines]
    widths = [
        after.left - before.left for chars in solid for before, after in pairwise(chars) if after.number == before.number + 1
    ]
    width = median(widths) if widths else lines[0].size * 0.5
    base = min(line.left for line in lines)
    for line, chars in zip(lines, solid, strict=True):
        text = ""
        for char in chars:
            column = round((char.left - base) / width) if width > 0 else len(text)
            text += " " * max(0, column - len(text)) + char.text
        yield text, line
