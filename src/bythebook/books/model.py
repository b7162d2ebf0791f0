"""The values a book is made of. Document D's DocumentChunk and DocumentMetadata are one flat `Chunk` here.

A reader makes a `Reading` of an author's file: Markdown text, and marks that say where each piece of it stands in that file. All
later stages treat the text as a lesson written in Markdown. For a Markdown file, the text is the file itself and there are no
marks: places are lines.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import uuid
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

IGNORED = "|^\N{SOFT HYPHEN}\ufffe\u200b"
PlaceKind = Literal["line", "cell", "page", "element", "paragraph", "slide"]
NOTES = "notes"
"""The label of a place in the notes below a slide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlace:
    """A place in an author's file, in the terms of its format. `number` counts from 1 what `kind` names."""

    file: str
    kind: PlaceKind
    number: int
    label: str = ""
    """The file's own name for it: the label of a page, the id of an element or of a cell."""
    line: int = 0
    """The line within a cell, the paragraph within a slide."""
    part: str = ""
    """The file within an archive."""
    first: int = 0
    last: int = 0
    """Characters [first, last) of a page, as PDFium counts them."""

    @property
    def fragment(self) -> str:
        """What follows the # in a link to it, where programs that show such a file support one."""
        if self.kind == "page":
            return f"page={self.number}"
        return self.label if self.kind == "element" and not self.part else ""


def where(place: SourcePlace, *, exact: bool = True, lesson: str = "") -> str:
    """A place in words. Says so where only its surroundings are known, and names the file where the text was included from
    another."""
    file = (place.part or place.file).rpartition("/")[2]
    match place.kind:
        case "line":
            words = f"line {place.number}"
            if lesson and place.file != lesson:
                words = f"{place.file.lstrip('./')}, {words}"
        case "cell":
            words = f"cell {place.number}" + (f", line {place.line}" if place.line else "")
        case "page":
            words = f"p. {place.label or place.number}"
        case "element":
            words = f"{file}#{place.label}" if place.label else f"{file}, paragraph {place.number}"
        case "paragraph":
            words = f"paragraph {place.number}" + (", note" if place.label == NOTES else "")
        case "slide":
            words = f"slide {place.number}" + (", notes" if place.label == NOTES else "")
    return words if exact else f"near {words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMark:
    """Characters [start, end) of a text stand at `place`. `exact`: they are the same there, markup aside, which was verified."""

    start: int
    end: int
    place: SourcePlace
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One lesson as a reader gives it. `marks` are in order and do not overlap; `anchors` has one for each heading, where the
    file has ids of its own."""

    source_file: str
    """The lesson's name. A file of many lessons gives them names below its own: `book.pdf/04-sorting`."""
    file: str
    """The author's file."""
    text: str
    marks: tuple[SourceMark, ...] = ()
    title: str | None = None
    anchors: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
    url: str | None = None
    """The lesson's own address, where the file says it."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def fold(text: str) -> str:
    """The text without what may differ between two forms of the same text: spaces, bars between cells, forms of letters."""
    text = "".join(unicodedata.normalize("NFKC", text).split())
    for sign in IGNORED:
        text = text.replace(sign, "")
    return text


def marks_within(marks: Sequence[SourceMark], start: int, end: int) -> tuple[SourceMark, ...]:
    """The marks of text[start:end], counted from its beginning."""
    first = max(0, bisect_right(marks, start, key=lambda mark: mark.start) - 1)
    last = bisect_left(marks, end, key=lambda mark: mark.start)
    return tuple(
        replace(mark, start=max(mark.start, start) - start, end=min(mark.end, end) - start)
        for mark in marks[first:last]
        if mark.end > start
    )


def mark_at(marks: Sequence[SourceMark], start: int) -> SourceMark:
    """The mark that covers a character, or the last one before it."""
    return marks[max(0, bisect_right(marks, start, key=lambda mark: mark.start) - 1)]


def pack_marks(marks: Sequence[SourceMark]) -> list[list[Any]]:
    """Marks in a short stored form: some thirty bytes each. Empty values at the end are left out."""
    packed = []
    for mark in marks:
        place = mark.place
        row = [mark.start, mark.end, int(mark.exact), place.file, place.kind, place.number]
        rest: list[Any] = [place.label, place.line, place.part, place.first, place.last]
        while rest and not rest[-1]:
            rest.pop()
        packed.append(row + rest)
    return packed


def unpack_marks(packed: Iterable[Sequence[Any]]) -> tuple[SourceMark, ...]:
    names = [field.name for field in fields(SourcePlace)]
    return tuple(
        SourceMark(start=start, end=end, exact=bool(exact), place=SourcePlace(**dict(zip(names, place, strict=False))))
        for start, end, exact, *place in packed
    )


def pack_readings(readings: Sequence[Reading]) -> bytes:
    rows = [{**{name.name: getattr(one, name.name) for name in fields(one)}, "marks": pack_marks(one.marks)} for one in readings]
    return zlib.compress(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def unpack_readings(packed: bytes) -> tuple[Reading, ...]:
    """Raises ValueError for what is not a packed reading of this version."""
    try:
        rows = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
        return tuple(
            Reading(
                **{
                    **row,
                    "marks": unpack_marks(row["marks"]),
                    "anchors": None if row["anchors"] is None else tuple(row["anchors"]),
                    "warnings": tuple(row["warnings"]),
                }
            )
            for row in rows
        )
    except (zlib.error, TypeError, KeyError) as error:
        raise ValueError(str(error)) from error


Proficiency = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
Layer = Literal["L1", "L2", "L3", "L4"]
SiteStyle = Literal["docusaurus", "mkdocs", "mdbook", "vitepress", "hugo", "jekyll", "quarto", "jupyterbook", "sphinx", "plain"]

PROFICIENCIES: tuple[Proficiency, ...] = get_args(Proficiency)
LAYERS: tuple[Layer, ...] = get_args(Layer)
SITE_STYLES: tuple[SiteStyle, ...] = get_args(SiteStyle)
HARDWARE_TIERS = (1, 2, 3, 4)
DEFAULT_TIER = 1
DEFAULT_PROFICIENCY: Proficiency = "A2"
DEFAULT_LAYER: Layer = "L1"

ID_NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
TOKENS_PER_WORD = 1.3
CHUNKER_VERSION = 2
"""The version of how lessons are split and linked. It is here and not beside the chunker, because a search checks it and splits
nothing."""
LINE_END = re.compile(r"\r\n?|\n")
BOOK_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


PASSED_OVER = "passed over"


@dataclass(frozen=True, slots=True, kw_only=True)
class BookWarning:
    """Something that an author should look at. A warning never stops an ingestion."""

    source_file: str
    line: int
    field: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A lesson that could not be read. What the index had of it before is still there."""

    source_file: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book as its author or the configuration of its site describes it; defaults fill what neither says. `content`: the
    folder of its lessons, if not the book's own. `within`: where the book is below that folder. `pages`: the pattern of its
    addresses, if the site does not use the default."""

    book_id: str
    title: str
    language: str = "en"
    base_url: str = ""
    site: SiteStyle = "plain"
    modules: Mapping[str, str] = field(default_factory=dict)
    max_chapter: int | None = None
    max_lesson: int | None = None
    content: str = ""
    within: str = ""
    pages: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOptions:
    """What the person who starts an ingestion says about the book. It overrides everything else; None leaves a value as it is."""

    title: str | None = None
    language: str | None = None
    base_url: str | None = None
    site: str | None = None
    pages: str | None = None

    def over(self, earlier: BookOptions) -> BookOptions:
        """The options of this run override those of an earlier one; an empty text removes them."""
        values = {**asdict(earlier), **{name: value for name, value in asdict(self).items() if value is not None}}
        return BookOptions(**{name: value or None for name, value in values.items()})


NO_OPTIONS = BookOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of the source file: characters [start, end), lines counted from 1, both ends included."""

    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a lesson in the book, and the readers it is written for."""

    module: str = ""
    chapter: int = 0
    lesson: int = 0
    hardware_tier: int = DEFAULT_TIER
    proficiency_level: Proficiency = DEFAULT_PROFICIENCY
    layer: Layer = DEFAULT_LAYER

    @property
    def numbers(self) -> str:
        return f"{self.module}:{self.chapter}:{self.lesson}"

    @property
    def in_hierarchy(self) -> bool:
        return bool(self.module) or self.chapter > 0 or self.lesson > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSection:
    """The headings above a part of a chunk, which begins at character `start` of its text and ends where the next section
    begins."""

    start: int
    heading_path: tuple[str, ...]
    source_url: str

    @property
    def title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of a lesson, exactly as the author wrote it, with everything that a reader or a filter may ask for.

    `text` is the slice `source[span.start:span.end]`. `preface` must be repeated before it to read it alone: the header rows of a
    split table, the opening line of a split code fence.
    """

    id: str
    text: str
    preface: str
    book_id: str
    module: str
    chapter: int
    lesson: int
    section_title: str | None
    hardware_tier: int
    proficiency_level: Proficiency
    layer: Layer
    source_file: str
    parent_doc_id: str
    chunk_index: int
    total_chunks: int
    prev_chunk_id: str | None
    next_chunk_id: str | None
    content_hash: str
    source_file_hash: str
    page_title: str
    chapter_title: str
    heading_path: tuple[str, ...]
    anchor: str
    source_url: str
    span: Span
    sections: tuple[ChunkSection, ...] = ()
    """The chunk's sections in order, if it holds several: small sections are joined. `heading_path` and the other fields name
    the first."""
    marks: tuple[SourceMark, ...] = ()
    """Where pieces of the text are in the author's file, if that is not Markdown; `span` is then a stretch of the reading."""

    def mark_at(self, start: int) -> SourceMark:
        """Where this character of the text stands in the author's file."""
        if self.marks:
            return mark_at(self.marks, start)
        line = self.span.first_line + len(LINE_END.findall(self.text, 0, start))
        place = SourcePlace(file=self.source_file, kind="line", number=line)
        return SourceMark(start=start, end=len(self.text), place=place)

    def section_at(self, start: int) -> ChunkSection:
        """The section that this character of the text is in."""
        within = [section for section in self.sections if section.start <= start]
        return within[-1] if within else ChunkSection(start=0, heading_path=self.heading_path, source_url=self.source_url)

    def words_placed(self) -> tuple[int, int]:
        """How many of the words that come from the author's file stand in it character for character, and how many there are. For
        Markdown, which is that file, none are counted."""
        counts = [(mark.exact, len(self.text[mark.start : mark.end].split())) for mark in self.marks]
        return sum(words for exact, words in counts if exact), sum(words for _, words in counts)

    @property
    def word_count(self) -> int:
        return max(1, len(self.text.split()))

    @property
    def token_count(self) -> int:
        """Document D's estimate. The chunker measures by `chunker.size`, which also suits code and scripts without spaces."""
        return max(1, round(self.word_count * TOKENS_PER_WORD))

    @property
    def char_count(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One source file, read, placed and cut into chunks."""

    source_file: str
    file_hash: str
    place: Place
    title: str
    chapter_title: str
    parent_doc_id: str
    chunks: tuple[Chunk, ...]
    warnings: tuple[BookWarning, ...] = ()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_id(book_id: str, base: str, content_hash: str, occurrence: int = 1) -> str:
    """D's formula; `base` is "module:chapter:lesson", or the path where those numbers do not name one lesson."""
    name = f"{book_id}:{base}:{content_hash[:16]}"
    return str(uuid.uuid5(ID_NAMESPACE, name if occurrence == 1 else f"{name}:{occurrence}"))


def parent_id(book_id: str, base: str) -> str:
    return str(uuid.uuid5(ID_NAMESPACE, f"{book_id}:{base}:parent"))
