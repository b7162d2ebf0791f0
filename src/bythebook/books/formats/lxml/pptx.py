"""PowerPoint files: a deck is one lesson, a slide one section of it, and the speaker's notes follow the slide's content.

A place is a slide, counted from 1 in the order they are shown, or the notes below it. What repeats on every slide, such as its
number and its date, is not read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from bythebook.books.formats.archive import Archive, open_archive
from bythebook.books.formats.lxml.docx import MONOSPACED, ROW
from bythebook.books.formats.lxml.officemath import formula
from bythebook.books.formats.lxml.xml import parse_xml, value
from bythebook.books.formats.writer import MarkdownWriter, Run, escaped, inline_text
from bythebook.books.model import NOTES, Reading, SourcePlace
from bythebook.errors import InvalidBook

Element = Any
PRESENTATION = "ppt/presentation.xml"
TITLES = ("title", "ctrTitle")
FURNITURE = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})
"""Placeholders with the same content on every slide."""
LISTED = frozenset({"body", "obj", ""})
"""Placeholders whose paragraphs have bullets by default."""
MOST_ROWS = 200
"""A chart with more points is a measurement: only its title is read."""
SHAPES, FOLDED = ("sp", "graphicFrame"), ("grpSp", "AlternateContent", "Choice")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartTable:
    """What a chart says: the first row names the series, each other row is a category with its values."""

    title: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slide:
    """The content of a slide and its notes, each the root element of its file."""

    number: int
    shown: Element
    notes: Element | None
    charts: dict[str, ChartTable]
    """By the ids under which the slide refers to them."""


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    writer = _DeckWriter(path)
    for slide in _slides(raw):
        writer.slide(slide)
    if not writer.out.marks:
        raise InvalidBook("it has no slide with text; write one, or take it out of the book")
    return tuple(writer.out.readings(path))


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    parts = {}
    for slide in _slides(raw):
        parts[slide.number, ""] = list(slide.shown.iter("p"))
        parts[slide.number, NOTES] = list(slide.notes.iter("p")) if slide.notes is not None else []

    def text_at(place: SourcePlace) -> str:
        paragraph = parts[place.number, NOTES if place.label == NOTES else ""][place.line - 1]
        if place.label == ROW:
            return "|".join(_words(one) for one in next(paragraph.iterancestors("tr")).iter("p"))
        return _words(paragraph)

    return text_at


def _slides(raw: bytes) -> Iterator[Slide]:
    archive = open_archive(raw, "PowerPoint file")
    held = archive.read(PRESENTATION)
    if held is None:
        raise InvalidBook(f"it is not a PowerPoint file ({PRESENTATION} is missing in it); save it as .pptx again")
    files = _related(archive, PRESENTATION)
    ids = [
        next((held for name, held in one.attrib.items() if name.endswith("}id")), "")
        for one in parse_xml(held, PRESENTATION).iter("sldId")
    ]
    number = 0
    for name in (files[id][1] for id in ids if id in files):
        shown = archive.read(name)
        if shown is None:
            continue
        number += 1
        related = _related(archive, name)
        notes = [file for kind, file in related.values() if kind == "notesSlide"]
        below = archive.read(notes[0]) if notes else None
        charts = {id: (file, archive.read(file)) for id, (kind, file) in related.items() if kind == "chart"}
        yield Slide(
            number=number,
            shown=parse_xml(shown, name),
            notes=parse_xml(below, notes[0]) if below else None,
            charts={id: _chart_table(parse_xml(held, file)) for id, (file, held) in charts.items() if held},
        )


def _related(archive: Archive, name: str) -> dict[str, tuple[str, str]]:
    """The files that a file refers to by an id: the kind of reference, and the name in the archive."""
    folder, _, file = name.rpartition("/")
    part = f"{folder}/_rels/{file}.rels"
    raw = archive.read(part)
    return {
        value(one, "Id"): (
            value(one, "Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, value(one, "Target"))).lstrip("/"),
        )
        for one in (parse_xml(raw, part).iter("Relationship") if raw else ())
    }


class _DeckWriter:
    def __init__(self, path: str) -> None:
        self.path, self.out = path, MarkdownWriter()

    def slide(self, slide: Slide) -> None:
        shapes = list(_shapes(slide.shown.find("cSld/spTree")))
        titles = [one for one in shapes if _placeholder(one) in TITLES and any(_words(line).strip() for line in one.iter("p"))]
        places = self._places(slide.shown, slide.number, "")
        level = 1 if not self.out.marks and titles else 2
        if titles:
            paragraphs = [one for one in titles[0].iter("p") if _words(one).strip()]
            self.out.heading(level, " ".join(map(_inline, paragraphs)), places[paragraphs[0]], exact=len(paragraphs) == 1)
        elif slide.charts or any(_words(one).strip() for one in shapes):
            self.out.heading(
                2, f"Slide {slide.number}", SourcePlace(file=self.path, kind="slide", number=slide.number), exact=False
            )
        for shape in shapes:
            if shape not in titles[:1]:
                self._shape(shape, places)
            for one in shape.iter("chart"):
                self._chart(slide.charts.get(value(one, "id")), slide.number)
        if slide.notes is not None:
            below = self._places(slide.notes, slide.number, NOTES)
            for shape in _shapes(slide.notes.find("cSld/spTree")):
                self._text(shape, below, listed=False)

    def _places(self, root: Element, number: int, label: str) -> dict[Element, SourcePlace]:
        return {
            one: SourcePlace(file=self.path, kind="slide", number=number, label=label, line=at)
            for at, one in enumerate(root.iter("p"), start=1)
        }

    def _shape(self, shape: Element, places: dict[Element, SourcePlace]) -> None:
        table = shape.find(".//tbl")
        if table is not None:
            self._table(table, places)
        else:
            self._text(shape, places, listed=_placeholder(shape) in LISTED)

    def _chart(self, chart: ChartTable | None, number: int) -> None:
        if chart is not None:
            place = SourcePlace(file=self.path, kind="slide", number=number)
            self.out.title(escaped(chart.title), place, exact=False)
            self.out.table([([escaped(cell) for cell in row], place) for row in chart.rows], exact=False)

    def _text(self, shape: Element, places: dict[Element, SourcePlace], *, listed: bool) -> None:
        counts = [0] * 9
        for is_code, group in groupby((one for one in shape.iter("p") if _words(one).strip()), key=_is_code):
            if is_code:
                self._code(list(group), places)
                continue
            for one in group:
                indent, mark = _mark(one.find("pPr"), counts, listed=listed)
                with self.out.indented(indent + mark, indent + " " * len(mark)):
                    self.out.paragraph(_inline(one), places[one])

    def _code(self, paragraphs: list[Element], places: dict[Element, SourcePlace]) -> None:
        if len(paragraphs) == 1:
            self.out.code(_code_text(paragraphs[0]), "", places[paragraphs[0]])
        else:
            self.out.code_lines([(line, places[one]) for one in paragraphs for line in _code_text(one).split("\n")])

    def _table(self, table: Element, places: dict[Element, SourcePlace]) -> None:
        rows = []
        for row in table.iter("tr"):
            cells = [list(cell.iter("p")) for cell in row.iter("tc")]
            first = next((one for cell in cells for one in cell), None)
            if first is not None:
                rows.append(([" ".join(map(_inline, cell)) for cell in cells], replace(places[first], label=ROW)))
        self.out.table(rows)


def _mark(properties: Element | None, counts: list[int], *, listed: bool) -> tuple[str, str]:
    """A paragraph's indentation, and its bullet or number; `counts` has the last number of each level."""
    depth = value(properties, "lvl")
    level = min(int(depth), 8) if depth.isdigit() else 0
    counts[level + 1 :] = [0] * (8 - level)
    said = {one.tag for one in properties} if properties is not None else set()
    if "buAutoNum" in said:
        counts[level] += 1
        return "  " * level, f"{counts[level]}. "
    bullet = "buChar" in said or (listed and "buNone" not in said)
    return ("  " * level, "- ") if bullet else ("", "")


def _shapes(tree: Element | None) -> Iterator[Element]:
    """Shapes in the order of the file, groups resolved; of a shape stored in two forms, the first."""
    for one in tree if tree is not None else ():
        if one.tag in FOLDED:
            yield from _shapes(one)
        elif one.tag in SHAPES and _placeholder(one) not in FURNITURE:
            yield one


def _placeholder(shape: Element) -> str | None:
    """The layout's placeholder for this shape; None where it has none."""
    held = shape.find(".//nvPr/ph")
    return None if held is None else value(held, "type")


def _words(element: Element) -> str:
    return "".join(one.text or "" for one in element.iter("t"))


def _inline(paragraph: Element) -> str:
    return inline_text(_runs(paragraph))


def _runs(element: Element) -> Iterator[Run]:
    for child in element:
        match child.tag:
            case "r" | "fld":
                yield _kind(child.find("rPr")), "".join(one.text or "" for one in child.iter("t"))
            case "br":
                yield "words", " "
            case "oMath" | "oMathPara":
                yield "markdown", f"${formula(child)}$"
            case "pPr" | "endParaRPr" | "Fallback":
                pass
            case _:
                yield from _runs(child)


def _is_code(paragraph: Element) -> bool:
    return all(kind == "code" or not text.strip() for kind, text in _runs(paragraph))


def _code_text(paragraph: Element) -> str:
    return "".join("\n" if one.tag == "br" else one.text or "" for one in paragraph.iter("t", "br"))


def _kind(properties: Element | None) -> str:
    if properties is None:
        return "words"
    shift = value(properties, "baseline").rstrip("%")
    if shift.lstrip("-").isdigit() and int(shift):
        return "subscript" if shift.startswith("-") else "superscript"
    return "code" if MONOSPACED.search(value(properties.find("latin"), "typeface")) else "words"


def _chart_table(root: Element) -> ChartTable:
    """The chart's values as the program stored them with it, so that no workbook has to be opened."""
    title = root.find("chart/title")
    words = "".join(one.text or "" for one in title.iter("t")) if title is not None else ""
    series = list(root.iter("ser"))
    names = [next((one.text or "" for one in each.iterfind("tx//v")), "") for each in series]
    columns = [dict(_points(each, "val", "yVal")) for each in series]
    categories: dict[str, str] = {}
    for each in series:
        categories = dict(_points(each, "cat", "xVal")) | categories
    keys = dict.fromkeys((*categories, *(key for column in columns for key in column)))
    if not any(columns) or len(keys) > MOST_ROWS:
        return ChartTable(title=words.strip(), rows=())
    rows = [(categories.get(key, ""), *(column.get(key, "") for column in columns)) for key in keys]
    return ChartTable(title=words.strip(), rows=(("", *names), *rows))


def _points(series: Element, *tags: str) -> Iterator[tuple[str, str]]:
    """The index and the value of each point."""
    for tag in tags:
        for point in series.iterfind(f"{tag}//pt"):
            held = point.find("v")
            yield value(point, "idx"), (held.text or "") if held is not None else ""
