"""What a book is called where nobody says: by its front page, whatever the format, or by the title inside its one file."""

from __future__ import annotations

import html
import re
import zipfile
import zlib
from pathlib import Path

from bythebook.books.discovery import read_beside
from bythebook.books.markdown import first_heading
from bythebook.errors import InvalidBook

FRONT_PAGES = ("index.md", "index.mdx", "README.md", "README.mdx", "readme.md", "index.markdown", "index.qmd", "index.Rmd")
HEADING_WITHIN = 200_000
LARGEST_FRONT_PAGE = 10_000_000
UNDERLINED = re.compile(r"^(?=.*\w)([^\s.].*)\r?\n([=\-~^\"#*+])\2{2,}[ \t]*\r?$", re.MULTILINE)
"""A title of reStructuredText, and the line below it."""
ASCIIDOC_TITLE = re.compile(r"^= +(\S.*?)[ \t\r]*$", re.MULTILINE)
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
NO_ARCHIVE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


def front_title(root: Path) -> str:
    """The front page's heading, or the folder's name. A front page that cannot be read, or leads out of the book, gives none; it
    is reported as a lesson."""
    for name in FRONT_PAGES:
        if title := first_heading(_text(root, name)):
            return title
    for name, pattern in OTHER_PAGES:
        if found := pattern.search(_text(root, name)):
            words = html.unescape(found[1]) if pattern is PAGE_TITLE else found[1]
            title = _book_of(words) if pattern is PAGE_TITLE else " ".join(words.split())
            if title:
                return title
    return root.resolve().name or "Book"


def file_title(path: Path) -> str:
    """Of a book in one file: what an EPUB says of itself, else its name."""
    inside = _epub_title(path) if path.suffix.lower() == ".epub" else ""
    return inside or re.sub(r"[-_ ]+", " ", path.stem).strip() or "Book"


def _text(root: Path, name: str) -> str:
    try:
        raw = read_beside(root, name, limit_bytes=LARGEST_FRONT_PAGE)
    except InvalidBook:
        return ""
    return raw[:HEADING_WITHIN].decode("utf-8-sig", "replace") if raw else ""


def _book_of(title: str) -> str:
    """Site generators put the book's name behind the page's; Sphinx adds its version."""
    return VERSION.sub("", " ".join(BETWEEN.split(title)[-1].split()))


def _epub_title(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            package = next((name for name in archive.namelist() if name.endswith(".opf")), None)
            if package is None:
                return ""
            with archive.open(package) as member:
                found = PACKAGE_TITLE.search(member.read(HEADING_WITHIN).decode("utf-8", "replace"))
    except NO_ARCHIVE:
        return ""
    return " ".join(html.unescape(found[1]).split())[:200] if found else ""
