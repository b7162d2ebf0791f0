"""The title of a book that has none in its settings: from its front page, or from the properties of its only file."""

from __future__ import annotations

import html
import re
import zipfile
import zlib
from itertools import islice
from pathlib import Path

from bythebook.books.discovery import read_beside
from bythebook.books.frontmatter import read_frontmatter
from bythebook.books.markdown import first_heading
from bythebook.errors import InvalidBook

FRONT_PAGES = ("index.md", "index.mdx", "README.md", "README.mdx", "readme.md", "index.markdown", "index.qmd", "index.Rmd")
HEADING_WITHIN = 200_000
LARGEST_FRONT_PAGE = 10_000_000
UNDERLINED = re.compile(r"^(?=.*\w)([^\s.].*)\r?\n([=\-~^\"#*+])\2{2,}[ \t]*\r?$", re.MULTILINE)
"""A title of reStructuredText, and the line below it."""
ASCIIDOC_TITLE = re.compile(r"^= +(\S.*?)[ \t\r]*$", re.MULTILINE)
MARKDOWN = (".md", ".mdx", ".markdown", ".qmd")
PAGES = (".html", ".htm")
HTML_HEADING = re.compile(r"<h1\b[^<>]*>(.{1,500}?)</h1>", re.IGNORECASE | re.DOTALL)
TAG = re.compile(r"<[^<>]*>")
OF_ANY_BOOK = re.compile(r"home(?: ?page)?|index|docs|documentation|introduction|welcome|overview|read ?me", re.IGNORECASE)
"""Titles in the frontmatter of a front page that name the page and not the book."""
PAGE_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
PACKAGE_TITLE = re.compile(r"<(?:\w+:)?title\b[^>]*>(.*?)</(?:\w+:)?title>", re.DOTALL)
BETWEEN = re.compile(r"\s+(?:[|»·—–]|-)\s+")
VERSION = re.compile(r"(?:\s+v?\d[\w.+-]*)?\s+documentation\Z")
OTHER_PAGES = (
    ("index.rst", UNDERLINED),
    ("index.adoc", ASCIIDOC_TITLE),
    ("book.adoc", ASCIIDOC_TITLE),
    ("index.html", PAGE_TITLE),
    ("index.htm", PAGE_TITLE),
)
ARCHIVES = (".epub", ".docx", ".pptx")
PROPERTIES = "docProps/core.xml"
PDF_INFO = re.compile(rb"/Info\s+(\d+)\s+\d+\s+R")
PDF_OBJECT = re.compile(rb"(?<!\d)(\d+)\s+\d+\s+obj\b")
PDF_TITLE = re.compile(rb"/Title\s*(?:\(((?:\\.|[^\\()]|\((?:\\.|[^\\()])*\))*)\)|<([0-9A-Fa-f]*)>)", re.DOTALL)
PDF_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
LARGEST_INFO = 10_000
SAYS_NOTHING = re.compile(
    r"untitled|title|document|presentation|powerpoint[ -]presentation|microsoft (?:word|powerpoint) - .*"
    r"|.*\.(?:docx?|pptx?|tex|dvi|indd|pdf|html?)",
    re.IGNORECASE,
)
"""Titles that a program made up, or made of a file's name."""
NO_ARCHIVE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


def front_title(root: Path) -> str:
    """The front page's heading; empty where there is none. A front page that cannot be read or is outside the book gives none; it
    is reported as a lesson. The only page of a folder is its front page."""
    only = _only_page(root)
    for name in (*FRONT_PAGES, *(name for name in only if name.endswith(MARKDOWN))):
        if title := _heading_of(_text(root, name)):
            return title
    translated = [(page.name, PAGE_TITLE) for page in sorted(root.glob("index.*.html"))]
    alone = [(name, PAGE_TITLE) for name in only if name.endswith(PAGES)]
    for name, pattern in (*OTHER_PAGES, *translated, *alone):
        if found := pattern.search(_text(root, name)):
            words = html.unescape(found[1]) if pattern is PAGE_TITLE else found[1]
            title = _book_of(words) if pattern is PAGE_TITLE else " ".join(words.split())
            if title:
                return title
    return ""


def _heading_of(page: str) -> str:
    """The heading of a page in Markdown, the title in its frontmatter, or a heading in HTML, as read-me files have it."""
    if heading := first_heading(page):
        return heading
    given = (read_frontmatter(page).text("title") or "").strip()
    if given and not OF_ANY_BOOK.fullmatch(given):
        return given
    found = HTML_HEADING.search(page)
    return " ".join(html.unescape(TAG.sub("", found[1])).split()) if found else ""


def _only_page(root: Path) -> tuple[str, ...]:
    """The one page that a folder holds; none where there are more, or folders that may hold some."""
    try:
        inside = (one for one in root.iterdir() if not one.name.startswith("."))
        found = tuple(islice((one.name for one in inside if one.is_dir() or one.name.endswith((*MARKDOWN, *PAGES))), 2))
    except OSError:
        return ()
    return found if len(found) == 1 else ()


def file_title(path: Path) -> str:
    """The title of a book in one file: the one in its properties, else its name."""
    suffix = path.suffix.lower()
    inside = _pdf_title(path) if suffix == ".pdf" else _archive_title(path) if suffix in ARCHIVES else ""
    inside = " ".join(inside.split())[:200]
    return inside if inside and not SAYS_NOTHING.fullmatch(inside) else re.sub(r"[-_ ]+", " ", path.stem).strip() or "Book"


def _text(root: Path, name: str) -> str:
    try:
        raw = read_beside(root, name, limit_bytes=LARGEST_FRONT_PAGE)
    except InvalidBook:
        return ""
    return raw[:HEADING_WITHIN].decode("utf-8-sig", "replace") if raw else ""


def _book_of(title: str) -> str:
    """The book's name from a page's title: site generators put it after the page's own; Sphinx adds its version."""
    return VERSION.sub("", " ".join(BETWEEN.split(title)[-1].split()))


def _archive_title(path: Path) -> str:
    """The title in the package of an EPUB, or in the properties of an Office file."""
    try:
        with zipfile.ZipFile(path) as archive:
            package = next((name for name in archive.namelist() if name.endswith(".opf") or name == PROPERTIES), None)
            if package is None:
                return ""
            with archive.open(package) as member:
                found = PACKAGE_TITLE.search(member.read(HEADING_WITHIN).decode("utf-8", "replace"))
    except NO_ARCHIVE:
        return ""
    return html.unescape(found[1]) if found else ""


def _pdf_title(path: Path) -> str:
    """The title in a PDF's properties, found without parsing it: that is the work of a child process. Properties that are packed
    or encrypted give none."""
    try:
        raw = path.read_bytes()
    except OSError:
        return ""
    named = PDF_INFO.findall(raw)
    if not named or b"/Encrypt" in raw:
        return ""
    start = next((found.end() for found in PDF_OBJECT.finditer(raw) if found[1] == named[-1]), len(raw))
    found = PDF_TITLE.search(raw[start : start + LARGEST_INFO].partition(b"endobj")[0])
    if not found:
        return ""
    said = _unpacked(found[1]) if found[1] is not None else bytes.fromhex(found[2].decode() + "0" * (len(found[2]) % 2))
    return said[2:].decode("utf-16-be", "replace") if said.startswith(b"\xfe\xff") else said.decode("cp1252", "replace")


def _unpacked(written: bytes) -> bytes:
    """A string of a PDF, whose backslashes stand before a sign or the octal number of one."""
    return PDF_ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 255]) if found[1] else found[2], written)
