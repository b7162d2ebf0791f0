"""EPUB: the files of its spine in their order, each a lesson, read as pages of HTML.

A place is a block of one of those files, with the nearest id before it. Titles come from the book's own table of contents.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from bythebook.books.formats.archive import Archive, open_archive
from bythebook.books.formats.lxml.elements import main_element
from bythebook.books.formats.lxml.html import FEWEST_ENTRIES, HEADINGS, PageWalker, page_title, text_length
from bythebook.books.formats.lxml.xml import entity_warnings, parse_xml
from bythebook.books.model import Reading, SourcePlace
from bythebook.errors import InvalidBook

PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Encryption that only hides fonts."""
AGAIN = "save or download it again"
MADE_INDEXES = frozenset({"genindex", "py-modindex", "modindex"})
PAGE_LINK = re.compile(r"(?![\w+.-]+:|//)[^#]")
"""The address of another file of the book."""
STEM = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The content of the OPF file: the pages in order, and the titles of the table of contents."""

    pages: tuple[str, ...]
    contents: tuple[str, ...]


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    archive = open_archive(raw, "EPUB")
    _refuse_protected(archive)
    package = _package(archive)
    titles = _titles(archive, package)
    readings = []
    width = len(str(len(package.pages)))
    for number, part in enumerate(package.pages, start=1):
        stem = STEM.sub("-", posixpath.splitext(posixpath.basename(part))[0])
        if part in package.contents or stem in MADE_INDEXES:
            continue
        unknown = set[str]()
        root = _root(archive.read(part), part, unknown)
        main = main_element(root)
        walker = PageWalker(file=path, part=part)
        walker.walk(main)
        if not walker.writer.marks or _lists_pages(main):
            continue
        readings.append(
            Reading(
                source_file=f"{path}/{number:0{width}}-{stem}",
                file=path,
                text=walker.writer.text,
                marks=tuple(walker.writer.marks),
                title=titles.get(part) or page_title(root),
                anchors=("",) * len(walker.writer.anchors),
                warnings=entity_warnings(part, unknown),
            )
        )
    if not readings:
        raise InvalidBook("none of its pages holds text; it may be made of pictures, which need text recognition (OCR) first")
    return tuple(readings)


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    archive, said = open_archive(raw, "EPUB"), dict[str, list[str]]()

    def text(place: SourcePlace) -> str:
        if place.part not in said:
            walker = PageWalker(file="", part=place.part)
            walker.walk(main_element(_root(archive.read(place.part), place.part)))
            said[place.part] = walker.said
        return said[place.part][place.number - 1]

    return text


def _refuse_protected(archive: Archive) -> None:
    encryption = archive.read("META-INF/encryption.xml")
    if encryption is None:
        return
    methods = [one.get("Algorithm", "") for one in parse_xml(encryption, "META-INF/encryption.xml").iter("EncryptionMethod")]
    if any(method not in FONTS for method in methods):
        raise InvalidBook("it is protected against copying (DRM); ask its publisher for a copy without protection")


def _package(archive: Archive) -> Package:
    container = archive.read("META-INF/container.xml")
    named = [one.get("full-path", "") for one in _root(container, "META-INF/container.xml").iter("rootfile")]
    opf = named[0] if named else next((name for name in archive.names if name.endswith(".opf")), "")
    root = _root(archive.read(opf), opf or "the OPF file")
    folder = posixpath.dirname(opf)
    items = {one.get("id"): one for one in root.iter("item")}
    spine = [items[one.get("idref")] for one in root.iter("itemref") if one.get("idref") in items]
    return Package(
        # a page that is named twice is read once
        pages=tuple(dict.fromkeys(_inside(folder, one.get("href", "")) for one in spine if one.get("media-type") in PAGES)),
        contents=tuple(
            _inside(folder, one.get("href", ""))
            for one in items.values()
            if "nav" in one.get("properties", "").split() or one.get("media-type") == "application/x-dtbncx+xml"
        ),
    )


def _lists_pages(main: Any) -> bool:
    """Whether a page is a table of contents among the chapters: below its heading it has nothing but links to other pages."""
    links = [link for link in main.iter("a") if PAGE_LINK.match(link.get("href", ""))]
    if len(links) < FEWEST_ENTRIES:
        return False
    headings = [one for one in main.iter(*HEADINGS) if next(one.iter("a"), None) is None]
    return sum(map(text_length, [*links, *headings])) == text_length(main)


def _inside(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))


def _titles(archive: Archive, package: Package) -> dict[str, str]:
    """The first title that the table of contents has for each page."""
    titles: dict[str, str] = {}
    for contents in package.contents:
        raw = archive.read(contents)
        for address, words in _entries(parse_xml(raw, contents)) if raw else ():
            titles.setdefault(_inside(posixpath.dirname(contents), address), " ".join(words.split()))
    return titles


def _entries(root: Any) -> Iterator[tuple[str, str]]:
    """The entries of an EPUB 3's navigation page, or of an EPUB 2's NCX."""
    for link in root.iter("a"):
        yield link.get("href", ""), "".join(link.itertext())
    for point in root.iter("navPoint"):
        content, label = point.find("content"), point.find("navLabel/text")
        if content is not None and label is not None:
            yield content.get("src", ""), label.text or ""


def _root(raw: bytes | None, name: str, unknown: set[str] | None = None) -> Any:
    if raw is None:
        raise InvalidBook(f"{name} is missing in it; {AGAIN}")
    return parse_xml(raw, name, unknown)
