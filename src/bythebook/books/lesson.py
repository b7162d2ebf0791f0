"""Makes a lesson from the bytes of a file: decoded, placed, split into chunks, linked. Also decides the lesson's title."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import yaml

from bythebook.books.blocks import Heading, Page, read_page
from bythebook.books.chunker import Piece, PiecePart, cut_page
from bythebook.books.discovery import SKIPPED_FOLDERS, read_beside
from bythebook.books.frontmatter import Frontmatter, is_unclosed, load_yaml, read_frontmatter
from bythebook.books.links import EXTENSION, UNRESERVED, Anchors, page_url
from bythebook.books.markdown import first_heading
from bythebook.books.model import (
    Book,
    BookWarning,
    Chunk,
    ChunkSection,
    Lesson,
    Place,
    Reading,
    chunk_id,
    marks_within,
    parent_id,
    sha256,
)
from bythebook.books.place import PlaceReader, is_index, read_path
from bythebook.errors import InvalidBook

SHORTEST_TEXT = 10
CATEGORY_FILES = ("_category_.json", "_category_.yml", "_category_.yaml")
LARGEST_CATEGORY = 64_000
WEIGHTS = ("sidebar_position", "weight", "nav_order")
"""The keys that Docusaurus, Hugo and the most common Jekyll theme for books use."""
NAME_NUMBER = re.compile(r"^(?:(?:lesson|chapter|module|ch|les|mod)[-_ ]?)?\d{1,3}(?:[-_ .]+|$)", re.IGNORECASE)
BYTE_ORDER_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the path and frontmatter say about a lesson, before it is split: cheap enough to read for a whole book. One recorded
    by an earlier run has neither frontmatter nor warnings."""

    place: Place
    title: str | None
    warnings: tuple[BookWarning, ...] = ()
    front: Frontmatter | None = None
    weight: float | None = None
    """The lesson's place among its neighbours, if its frontmatter gives one for its site generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """What the `_category_.json` of Docusaurus says about a folder."""

    label: str
    position: float | None


def decode(raw: bytes, path: str) -> str:
    """The text of a file: UTF-8, or UTF-16 by its byte order mark. Invalid bytes are an error: a text with bytes replaced could
    not be quoted exactly."""
    try:
        for mark, encoding in BYTE_ORDER_MARKS:
            if raw.startswith(mark):
                return raw[len(mark) :].decode(encoding)
        if b"\x00" in raw:
            raise InvalidBook(f"{path} looks binary (it holds NUL bytes); save it as UTF-8 text or rename it.")
        return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidBook(f"{path}, line {line}: this is not {error.encoding.upper()}; save the file as UTF-8.") from error


def read_claim(book: Book, path: str, source: str) -> Claim:
    front = read_frontmatter(source)
    reader = PlaceReader(book, path, front)
    if front.problem:
        line, reason = front.problem
        reader.warn("frontmatter", f"the frontmatter does not parse ({reason}); it was read line by line", line)
    elif is_unclosed(source):
        reader.warn("frontmatter", "the frontmatter never ends, so it was read as text; end it with a line of ---", 1)
    place = reader.read()
    title = front.text("title") or first_heading(source[front.body_start :]) or front.text("sidebar_label")
    weights = (_number(front.values.get(name)) for name in WEIGHTS)
    weight = next((number for number in weights if number is not None), None)
    return Claim(place=place, title=title, warnings=tuple(reader.warnings), front=front, weight=weight)


def read_lesson(
    book: Book,
    path: str,
    source: str,
    *,
    file_hash: str,
    claim: Claim,
    id_base: str,
    chapter_title: str,
    reading: Reading | None = None,
) -> Lesson:
    """Splits a lesson into chunks. `id_base` is the claim's numbers, or the path where those numbers do not name this lesson
    alone. What a claim from an earlier run lacks is read here. `reading`: where `source` comes from another format."""
    read = claim if claim.front else read_claim(book, path, source)
    front = read.front or Frontmatter()
    page = read_page(source, body_start=front.body_start, mdx=book.site == "docusaurus" or path.lower().endswith(".mdx"))
    title = claim.title or (reading and reading.title) or humanised(path.rpartition("/")[2])
    url = (reading and reading.url) or page_url(book, reading.file if reading else path, front.values)
    lesson = Lesson(
        source_file=path,
        file_hash=file_hash,
        place=claim.place,
        title=title,
        chapter_title=chapter_title,
        parent_doc_id=parent_id(book.book_id, id_base),
        chunks=(),
        warnings=(*read.warnings, *(_warning(path, said) for said in (reading.warnings if reading else ()))),
    )
    lesson = replace(lesson, chunks=_chunks(book, lesson, page, id_base, url, reading))
    if len(lesson.chunks) == 1 and len(lesson.chunks[0].text) < SHORTEST_TEXT:
        message = f"the lesson holds fewer than {SHORTEST_TEXT} characters of text."
        line = lesson.chunks[0].span.first_line
        short = BookWarning(source_file=path, line=line, field="text", message=message)
        lesson = replace(lesson, warnings=(*lesson.warnings, short))
    return lesson


def _warning(path: str, message: str) -> BookWarning:
    return BookWarning(source_file=path, line=0, field="text", message=message)


def _chunks(book: Book, lesson: Lesson, page: Page, id_base: str, url: str, reading: Reading | None) -> tuple[Chunk, ...]:
    pieces = cut_page(page)
    texts = [page.source[piece.span.start : piece.span.end] for piece in pieces]
    hashes = [sha256(text) for text in texts]
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for content_hash in hashes:
        seen[content_hash] += 1
        ids.append(chunk_id(book.book_id, id_base, content_hash, seen[content_hash]))
    anchors = _given_anchors(page, reading) or _anchors(book, page)
    marks = reading.marks if reading else ()
    chunks = []
    for index, (piece, text, content_hash) in enumerate(zip(pieces, texts, hashes, strict=True)):
        path, anchor = _section(lesson.title, piece, anchors)
        sections = _sections(lesson.title, piece, anchors, url) if len(piece.parts) > 1 else ()
        chunks.append(
            Chunk(
                id=ids[index],
                text=text,
                preface=piece.preface,
                book_id=book.book_id,
                module=lesson.place.module,
                chapter=lesson.place.chapter,
                lesson=lesson.place.lesson,
                section_title=path[-1] if path else None,
                hardware_tier=lesson.place.hardware_tier,
                proficiency_level=lesson.place.proficiency_level,
                layer=lesson.place.layer,
                source_file=lesson.source_file,
                parent_doc_id=lesson.parent_doc_id,
                chunk_index=index,
                total_chunks=len(ids),
                prev_chunk_id=ids[index - 1] if index else None,
                next_chunk_id=ids[index + 1] if index + 1 < len(ids) else None,
                content_hash=content_hash,
                source_file_hash=lesson.file_hash,
                page_title=lesson.title,
                chapter_title=lesson.chapter_title,
                heading_path=path,
                anchor=anchor,
                source_url=_address(url, anchor),
                span=piece.span,
                sections=sections,
                marks=marks_within(marks, piece.span.start, piece.span.end),
            )
        )
    return tuple(chunks)


def _given_anchors(page: Page, reading: Reading | None) -> list[str]:
    """The ids of the author's file, where it has one for each heading that was read."""
    given = reading.anchors if reading and reading.anchors else ()
    return [*given] if len(given) == len(page.headings) else []


def _anchors(book: Book, page: Page) -> list[str]:
    anchors = Anchors(book.site, [heading.content for heading in page.headings])
    return [anchors.take(heading.content, heading.level) if _rendered(book, page, heading) else "" for heading in page.headings]


def _rendered(book: Book, page: Page, heading: Heading) -> bool:
    """Only MkDocs reads a heading that is indented, or underlined after two lines, as text."""
    indented = heading.section and page.source[page.line_starts[heading.line - 1]] in " \t"
    return book.site != "mkdocs" or not (indented or "\n" in heading.content)


def _sections(title: str, piece: Piece, anchors: list[str], url: str) -> tuple[ChunkSection, ...]:
    found = []
    for part in piece.parts:
        path, anchor = _section(title, part, anchors)
        found.append(ChunkSection(start=part.start - piece.span.start, heading_path=path, source_url=_address(url, anchor)))
    return tuple(found)


def _address(url: str, anchor: str) -> str:
    return f"{url}#{quote(anchor, safe=UNRESERVED)}" if anchor else url


def _section(title: str, piece: Piece | PiecePart, anchors: list[str]) -> tuple[tuple[str, ...], str]:
    """The heading path without the page's own title, and the anchor of the innermost heading that has one."""
    path, headings = piece.heading_path, piece.headings
    if path and path[0] == title:
        path, headings = path[1:], headings[1:]
    anchor = next((anchors[index] for index in reversed(headings) if anchors[index]), "")
    return tuple(part for part in path if part), anchor


def chapter_titles(book: Book, pages: Mapping[str, Claim], categories: Mapping[str, Category]) -> Mapping[str, str]:
    """Returns for each page the title of its chapter, or "" if it has none."""
    places = {path: read_path(book, path) for path in pages}
    titles: dict[str, str] = {}
    for path, place in places.items():
        folder = place.chapter_folder
        if folder is None or path.rpartition("/")[0] != folder:
            continue
        if is_index(path) or (pages[path].place.lesson == 0 and folder not in titles):
            titles[folder] = pages[path].title or ""
    for folder in {place.chapter_folder for place in places.values() if place.chapter_folder is not None}:
        label = categories[folder].label if folder in categories else ""
        titles[folder] = titles.get(folder) or label or humanised(folder.rpartition("/")[2])
    return {path: titles[place.chapter_folder] if place.chapter_folder is not None else "" for path, place in places.items()}


def read_categories(root: Path) -> dict[str, Category]:
    """The label and position of each folder with a `_category_.json` or `_category_.yml`. A broken file is ignored."""
    found: dict[str, Category] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        for name in sorted(set(names) & set(CATEGORY_FILES)):
            category = _category(root, Path(folder, name))
            if category:
                found[Path(folder).relative_to(root).as_posix()] = category
    return found


def _category(root: Path, path: Path) -> Category | None:
    try:
        raw = read_beside(root, str(path.relative_to(root)), limit_bytes=LARGEST_CATEGORY) or b""
        source = raw.decode("utf-8-sig")
        value = json.loads(source) if path.suffix == ".json" else load_yaml(source)
    except (InvalidBook, ValueError, yaml.YAMLError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    label = value.get("label")
    return Category(label=label.strip() if isinstance(label, str) else "", position=_number(value.get("position")))


def _number(value: object) -> float | None:
    """A number from JSON or from YAML, whose values are texts here."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}(?:\.\d{1,9})?", value.strip()):
        return float(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 else None


def humanised(name: str) -> str:
    """ "chapter-3-robot-arms" is "Robot arms"; a name that is only a number keeps its kind: "Chapter 3"."""
    stem = EXTENSION.sub("", name)
    words = re.sub(r"[-_ ]+", " ", NAME_NUMBER.sub("", stem)).strip()
    kind = re.fullmatch(r"([A-Za-z]+?)[-_ ]?0*(\d+)", stem)
    if not words and kind:
        words = f"{kind[1]} {kind[2]}"
    words = words or stem.strip("-_ ") or "Untitled"
    return words[0].upper() + words[1:]
