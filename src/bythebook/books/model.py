"""The values a book is made of. Document D's DocumentChunk and DocumentMetadata are one flat `Chunk` here."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

from bythebook.books.source_places import SourceMark, SourcePlace, mark_at

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
"""The version of how lessons are cut and linked. It is here and not beside the chunker, because a search checks it and cuts
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
class Book:
    """What its author says of it, or the configuration of its site; else the defaults. `content`: the folder of its lessons
    where that is not the book's own; `within`: where the book lies below that folder; `pages`: the pattern of its addresses,
    where the site has not the usual ones."""

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
    """What whoever orders an ingestion says of the book; it goes before all else that says so. None: nothing is said."""

    title: str | None = None
    language: str | None = None
    base_url: str | None = None
    site: str | None = None
    pages: str | None = None

    def over(self, earlier: BookOptions) -> BookOptions:
        """What is said now goes before what was said earlier; an empty text takes that back."""
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
    """From character `start` of a chunk's text on, up to the next section of the chunk, all stands under these headings."""

    start: int
    heading_path: tuple[str, ...]
    source_url: str

    @property
    def title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of a lesson, exactly as the author wrote it, with all that a reader or a filter may ask of it.

    `text` is the slice `source[span.start:span.end]`. `preface` is what has to be repeated before it to read it alone:
    the header rows of a split table, the opening line of a split code fence.
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
    """In order, where the chunk holds several: small ones are joined. `heading_path` and the rest name the one that leads."""
    marks: tuple[SourceMark, ...] = ()
    """Where pieces of the text stand in the author's file, where that is not Markdown: then `span` is one of the reading."""

    def mark_at(self, start: int) -> SourceMark:
        """Where this character of the text stands in the author's file."""
        if self.marks:
            return mark_at(self.marks, start)
        line = self.span.first_line + len(LINE_END.findall(self.text, 0, start))
        place = SourcePlace(file=self.source_file, kind="line", number=line)
        return SourceMark(start=start, end=len(self.text), place=place)

    def section_at(self, start: int) -> ChunkSection:
        """The section that this character of the text stands in."""
        within = [section for section in self.sections if section.start <= start]
        return within[-1] if within else ChunkSection(start=0, heading_path=self.heading_path, source_url=self.source_url)

    def words_placed(self) -> tuple[int, int]:
        """How many of the words that come from the author's file stand in it character for character, and how many there are.
        Of Markdown, which is that file, none are counted."""
        counts = [(mark.exact, len(self.text[mark.start : mark.end].split())) for mark in self.marks]
        return sum(words for exact, words in counts if exact), sum(words for _, words in counts)

    @property
    def word_count(self) -> int:
        return max(1, len(self.text.split()))

    @property
    def token_count(self) -> int:
        """Document D's estimate. The chunker measures by `token_size.size`, which also suits code and scripts without spaces."""
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
