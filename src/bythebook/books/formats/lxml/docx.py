"""Word files: paragraphs by their styles, one lesson for each heading of the first level where there are several.

A place is a paragraph, counted from 1 in the order of the file, including those of text boxes. With tracked changes, deletions
are left out and insertions read. Footnotes and endnotes follow the paragraph that refers to them, and their place is that
paragraph's. Comments, headers and footers are not read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from bythebook.books.formats.archive import open_archive
from bythebook.books.formats.lxml.officemath import formula
from bythebook.books.formats.lxml.xml import entity_warnings, parse_xml, value
from bythebook.books.formats.writer import MarkdownWriter, Run, inline_text
from bythebook.books.model import NOTES, Reading, SourcePlace
from bythebook.errors import InvalidBook

Element = Any
HEADING = re.compile(r"heading ?(\d)", re.IGNORECASE)
DOCUMENT = "word/document.xml"
CODE = re.compile(r"code|source|verbatim|preformatted|listing|program", re.IGNORECASE)
MONOSPACED = re.compile(r"mono|courier|consol|menlo|inconsolata", re.IGNORECASE)
DELETED = frozenset({"del", "moveFrom", "instrText", "delText", "footnoteReference", "endnoteReference", "commentReference"})
FORMULAS = frozenset({"oMath", "oMathPara"})
APART = frozenset({"pPr", "txbxContent", "Fallback"})
"""Elements of a paragraph that are not part of its words."""
DEEPEST_LIST = 8
"""Word has nine levels, from 0. A file may claim a thousand million, and each is written as two spaces."""
NOTE_NUMBER = re.compile(r"\[?\d{1,3}\]?")
SLUG = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordFile:
    """The parts of a Word file that are read. `notes`: the paragraphs of the footnotes and endnotes of each paragraph.
    `unknown`: entities in its text that only a declaration explains."""

    body: Element
    styles: dict[str, ParagraphStyle]
    ordered: set[tuple[str, str]]
    notes: dict[Element, list[Element]]
    unknown: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphStyle:
    """What a paragraph's style says about it."""

    name: str
    level: int | None
    code: bool


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    file = _open(raw)
    writer = _DocumentWriter(path, file)
    writer.body(file.body)
    writer.flush_code()
    parts = [part for part in writer.parts if part.out.marks]
    if not parts:
        raise InvalidBook("it has no paragraph with text; write one, or take it out of the book")
    width = len(str(len(parts)))
    names = [
        f"{path}/{at:0{width}}-{SLUG.sub('-', part.title.casefold()).strip('-')[:50] or 'start'}"
        for at, part in enumerate(parts, start=1)
    ]
    names = names if len(parts) > 1 else [path]
    first, *rest = (_reading(path, name, part) for name, part in zip(names, parts, strict=True))
    return (replace(first, warnings=entity_warnings(DOCUMENT, file.unknown)), *rest)


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    file = _open(raw)
    body, paragraphs = file.body, _paragraphs(file.body)
    texts = [_words(one) for one in paragraphs]
    places = {one: at for at, one in enumerate(paragraphs)}
    in_rows = [""] * len(paragraphs)
    for row in body.iter("tr"):
        inside = _paragraphs(row)
        if inside and inside[0] in places:
            in_rows[places[inside[0]]] = "|".join(_words(one) for one in inside)

    def text_at(place: SourcePlace) -> str:
        if place.label == NOTES:
            return _words(file.notes[paragraphs[place.number - 1]][place.line - 1])
        return in_rows[place.number - 1] if place.label == ROW else texts[place.number - 1]

    return text_at


LEVELS = frozenset("012345678")
ROW = "row"
"""The label of a place that is a row of a table, named by its first paragraph."""


def _reading(path: str, name: str, part: _DocumentPart) -> Reading:
    return Reading(
        source_file=name,
        file=path,
        text=part.out.text,
        marks=tuple(part.out.marks),
        title=part.title or None,
        anchors=("",) * len(part.out.anchors),
    )


def _open(raw: bytes) -> WordFile:
    archive = open_archive(raw, "Word file")
    document = archive.read(DOCUMENT)
    if document is None:
        raise InvalidBook(f"it is not a Word file ({DOCUMENT} is missing in it); save it as .docx again")
    unknown = set[str]()
    root = parse_xml(document, DOCUMENT, unknown)
    body = root.find("body")
    if body is None:
        raise InvalidBook("its text is damaged; open it in Word and save it again")
    _accept_changes(body)
    return WordFile(
        body=body,
        styles=_styles(archive.read("word/styles.xml")),
        ordered=_ordered(archive.read("word/numbering.xml")),
        notes=_notes(
            body,
            {
                (f"{kind}Reference", value(one, "id")): one
                for kind in ("footnote", "endnote")
                for one in _parsed(archive.read(f"word/{kind}s.xml"), f"word/{kind}s.xml", kind)
                if not value(one, "type")
            },
        ),
        unknown=frozenset(unknown),
    )


def _accept_changes(body: Element) -> None:
    """Takes out rows that are deleted, and joins a paragraph whose end is deleted to the next. Empty, it stays."""
    for row in [row for row in body.iter("tr") if row.find("trPr/del") is not None]:
        row.getparent().remove(row)
    moving: dict[Element, list[Element]] = {}
    for paragraph in list(body.iter("p")):
        held, after = moving.pop(paragraph, []), paragraph.getnext()
        if after is not None and after.tag == "p" and paragraph.find("pPr/rPr/del") is not None:
            held += [child for child in paragraph if child.tag != "pPr"]
            moving[after] = held
        elif held:  # moved once, however many paragraphs are joined
            own = paragraph.find("pPr")
            at = 0 if own is None else paragraph.index(own) + 1
            paragraph[at:at] = held


def _parsed(raw: bytes | None, part: str, tag: str) -> Iterator[Element]:
    """The elements of a part that many files do not have."""
    return parse_xml(raw, part).iter(tag) if raw else iter(())


def _notes(body: Element, notes: dict[tuple[str, str], Element]) -> dict[Element, list[Element]]:
    """The notes by the paragraph that refers to them first; a text box has paragraphs of its own. `notes`: by the tag and the id
    of what refers to them."""
    found: dict[Element, list[Element]] = defaultdict(list)
    left = dict(notes)
    for one in body.iter("footnoteReference", "endnoteReference"):
        paragraph = next(one.iterancestors("p"), None)
        if paragraph is None or any(above.tag in ("del", "moveFrom") for above in one.iterancestors()):
            continue
        note = left.pop((one.tag, value(one, "id")), None)
        if note is not None:
            found[paragraph] += _paragraphs(note)
    return found


def _styles(raw: bytes | None) -> dict[str, ParagraphStyle]:
    """Each style, with what it inherits from the styles it is based on."""
    elements = {value(one, "styleId"): one for one in _parsed(raw, "word/styles.xml", "style")}
    return {id: _style(id, elements, 0) for id in elements}


def _style(id: str, elements: dict[str, Element], depth: int) -> ParagraphStyle:
    element = elements[id]
    name = value(element.find("name"))
    heading = HEADING.fullmatch(name)
    outline = value(element.find("pPr/outlineLvl"))
    level = int(heading[1]) if heading else int(outline) + 1 if outline.isdigit() and int(outline) < 9 else None
    level = 1 if name.lower() == "title" else level
    code = CODE.search(name) is not None or MONOSPACED.search(value(element.find("rPr/rFonts"), "ascii")) is not None
    above = value(element.find("basedOn"))
    if above in elements and depth < 20 and (level is None or not code):
        under = _style(above, elements, depth + 1)
        level, code = level if level is not None else under.level, code or under.code
    return ParagraphStyle(name=name, level=level, code=code)


def _ordered(raw: bytes | None) -> set[tuple[str, str]]:
    """The lists, and their levels, that are numbered."""
    if raw is None:
        return set()
    root = parse_xml(raw, "word/numbering.xml")
    counting = {
        value(one, "abstractNumId"): {
            value(level, "ilvl") for level in one.iter("lvl") if value(level.find("numFmt")) not in ("bullet", "none", "")
        }
        for one in root.iter("abstractNum")
    }
    used = [(value(one, "numId"), value(one.find("abstractNumId"))) for one in root.iter("num")]
    return {(number, level) for number, abstract in used for level in counting.get(abstract, set()) & LEVELS}


def _paragraphs(element: Element) -> list[Element]:
    """All paragraphs. A text box is stored in two forms; the second, for old programs, is left out."""
    return [one for one in element.iter("p") if next(one.iterancestors("Fallback"), None) is None]


def _words(element: Element) -> str:
    """The words of a paragraph, with the TeX of its formulas and without its text boxes."""
    parts: list[str] = []
    for child in element:
        if child.tag == "t":
            parts.append(child.text or "")
        elif child.tag in FORMULAS:
            parts.append(formula(child))
        elif child.tag not in APART and not _is_unread(child):
            parts.append(_words(child))
    return "".join(parts)


def _is_unread(element: Element) -> bool:
    """Whether it is deleted text, or the raised number that links to a note."""
    if element.tag in DELETED:
        return True
    linked = (
        element.tag == "r" and element.getparent().tag == "hyperlink" and value(element.find("rPr/vertAlign")) == "superscript"
    )
    return linked and NOTE_NUMBER.fullmatch("".join(one.text or "" for one in element.iter("t")).strip()) is not None


@dataclass(slots=True)
class _DocumentPart:
    title: str = ""
    out: MarkdownWriter = field(default_factory=MarkdownWriter)


class _DocumentWriter:
    """Writes a document. A heading of the first level begins a part."""

    def __init__(self, path: str, file: WordFile) -> None:
        self.path, self.styles, self.ordered, self.notes = path, file.styles, file.ordered, file.notes
        self.parts = [_DocumentPart()]
        self.numbers = {one: at for at, one in enumerate(_paragraphs(file.body), start=1)}
        self.counts: dict[tuple[str, int], int] = defaultdict(int)
        self.code: list[tuple[str, SourcePlace]] = []

    @property
    def out(self) -> MarkdownWriter:
        return self.parts[-1].out

    def body(self, element: Element) -> None:
        for child in element:
            if child.tag == "p":
                self._paragraph(child)
                for box in child.iter("txbxContent"):
                    # a box within a box is written with its own paragraph
                    if next(box.iterancestors("p")) is child and next(box.iterancestors("Fallback"), None) is None:
                        self.body(box)
                self._write_notes(child)
            elif child.tag == "tbl":
                self._table(child)
            elif child.tag not in DELETED and child.tag not in ("sectPr", "tblPr", "tblGrid", "Fallback"):
                self.body(child)

    def _paragraph(self, element: Element) -> None:
        place = SourcePlace(file=self.path, kind="paragraph", number=self.numbers[element])
        style = self.styles.get(value(element.find("pPr/pStyle")), ParagraphStyle(name="", level=None, code=False))
        if not _words(element).strip() and not (style.code and self.code):
            return
        own = value(element.find("pPr/outlineLvl"))
        level = int(own) + 1 if own.isdigit() and int(own) < 9 else style.level
        if style.code or _is_code(element):
            self.code += [(line, place) for line in _code_text(element).split("\n")]
            return
        self.flush_code()
        if level is not None:
            if level == 1 and self.out.marks:
                self.parts.append(_DocumentPart())
            self.parts[-1].title = self.parts[-1].title or _words(element).strip()
            self.out.heading(level, inline(element), place)
            return
        self._text(element, place)

    def _text(self, element: Element, place: SourcePlace) -> None:
        list_id = value(element.find("pPr/numPr/numId"))
        if not list_id or list_id == "0":
            self.out.paragraph(inline(element), place)
            return
        depth = value(element.find("pPr/numPr/ilvl")) or "0"
        level = min(int(depth), DEEPEST_LIST) if depth.isdecimal() and len(depth) < 10 else 0
        mark = "- "
        if (list_id, depth) in self.ordered:
            self.counts[list_id, level] += 1
            mark = f"{self.counts[list_id, level]}. "
        with self.out.indented("  " * level + mark, "  " * level + " " * len(mark)):
            self.out.paragraph(inline(element), place)

    def flush_code(self) -> None:
        """Writes consecutive paragraphs of code as one block."""
        if self.code:
            whole: dict[int, list[str]] = {}
            for line, place in self.code:
                whole.setdefault(place.number, []).append(line)
            first = self.code[0][1]
            if len(whole) == 1:
                self.out.code("\n".join(whole[first.number]), "", first)
            else:
                self.out.code_lines(
                    [(" ".join(lines), SourcePlace(file=self.path, kind="paragraph", number=at)) for at, lines in whole.items()]
                )
        self.code = []

    def _table(self, element: Element) -> None:
        self.flush_code()
        rows = [row for row in element.iter("tr") if next(row.iterancestors("tbl"), None) is element]
        cells = [[cell for cell in row if cell.tag == "tc"] for row in rows]
        if max(map(len, cells), default=0) < 2 or any(cell.find(".//tbl") is not None for row in cells for cell in row):
            for cell in (cell for row in cells for cell in row):
                self.body(cell)
            return
        made = []
        for row in cells:
            inside = [_paragraphs(cell) for cell in row]
            first = next((self.numbers[one] for cell in inside for one in cell), 0)
            if first:
                place = SourcePlace(file=self.path, kind="paragraph", number=first, label=ROW)
                made.append(([" ".join(map(inline, cell)) for cell in inside], place))
        self.out.table(made)
        for paragraph in (one for row in cells for cell in row for one in _paragraphs(cell)):
            self._write_notes(paragraph)

    def _write_notes(self, paragraph: Element) -> None:
        for at, one in enumerate(self.notes.get(paragraph, ()), start=1):
            self.flush_code()
            place = SourcePlace(file=self.path, kind="paragraph", number=self.numbers[paragraph], label=NOTES, line=at)
            self.out.paragraph(inline(one), place)


def inline(paragraph: Element) -> str:
    return inline_text(_runs(paragraph))


def _runs(element: Element) -> Iterator[Run]:
    for child in element:
        if child.tag == "r":
            if not _is_unread(child):
                yield _kind(child), "".join(_run_text(child, line_break=" "))
        elif child.tag in FORMULAS:
            yield "markdown", f"${formula(child)}$"
        elif child.tag not in DELETED and child.tag not in APART:
            yield from _runs(child)


def _kind(run: Element) -> str:
    shift = value(run.find("rPr/vertAlign"))
    if shift in ("superscript", "subscript"):
        return shift
    fixed = MONOSPACED.search(value(run.find("rPr/rFonts"), "ascii")) or CODE.search(value(run.find("rPr/rStyle")))
    return "code" if fixed else "words"


def _run_text(run: Element, *, line_break: str) -> Iterator[str]:
    for child in run:
        if child.tag == "t":
            yield child.text or ""
        elif child.tag in ("br", "cr"):
            yield line_break
        elif child.tag == "tab":
            yield "    " if line_break == "\n" else " "
        elif child.tag == "noBreakHyphen":
            yield "\N{NON-BREAKING HYPHEN}"


def _is_code(paragraph: Element) -> bool:
    runs = [run for run in paragraph.iter("r") if "".join(_run_text(run, line_break="")).strip()]
    return bool(runs) and all(MONOSPACED.search(value(run.find("rPr/rFonts"), "ascii")) for run in runs)


def _code_text(paragraph: Element) -> str:
    runs = [run for run in paragraph.iter("r") if not any(one.tag in DELETED for one in run.iterancestors())]
    return "".join(text for run in runs for text in _run_text(run, line_break="\n"))
