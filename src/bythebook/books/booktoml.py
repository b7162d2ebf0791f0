"""Reads `book.toml`, the optional file in which an author gives the book's title and the style of its site."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from bythebook.books.book_id import default_id, slug
from bythebook.books.discovery import read_beside, require_book
from bythebook.books.frontmatter import LONGEST_TOML
from bythebook.books.markdown import first_heading
from bythebook.books.model import BOOK_ID, SITE_STYLES, Book, BookWarning, SiteStyle
from bythebook.errors import InvalidBook

FILE_NAME = "book.toml"
LARGEST = LONGEST_TOML
"""Bytes: three hundred modules fit."""
HEADING_WITHIN = 200_000
LARGEST_FRONT_PAGE = 10_000_000
TEXT_KEYS = ("book_id", "title", "language", "base_url", "site")
NUMBER_KEYS = ("max_chapter", "max_lesson")
KEYS = (*TEXT_KEYS, *NUMBER_KEYS, "modules")
FRONT_PAGES = ("index.md", "index.mdx", "README.md", "README.mdx", "readme.md", "index.markdown")


def read_book(root: Path, *, book_id: str | None = None) -> tuple[Book, tuple[BookWarning, ...]]:
    """Returns the book in the folder `root`. What `book.toml` does not say is taken from the folder itself."""
    require_book(root)
    source = _source(root) if root.is_dir() else None
    values = _Values(root / FILE_NAME, source) if source is not None else None
    book = values.book(root) if values else _undeclared(root)
    if book_id is not None:
        book = replace(book, book_id=book_id)
    if not BOOK_ID.fullmatch(book.book_id):
        place = f"{root / FILE_NAME}{values.line('book_id')}" if values and book_id is None else "The book_id given"
        raise InvalidBook(
            f"{place}: book_id '{book.book_id}' must be 1 to 100 of a-z, 0-9, '.', '_' and '-', and start with a letter or digit."
        )
    return book, _missing_modules(root, book, values)


def _source(root: Path) -> str | None:
    raw = read_beside(root, FILE_NAME, limit_bytes=LARGEST)
    try:
        return None if raw is None else raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidBook(f"{root / FILE_NAME} is not UTF-8 (byte {error.start}); save it as UTF-8.") from error


class _Values:
    """The values of one `book.toml`, each checked when it is read."""

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.source = source
        try:
            self.values: Mapping[str, Any] = tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            last_line = f"at line {source.rstrip().count(chr(10)) + 1}"
            reason = str(error).replace("at end of document", last_line)
            raise InvalidBook(f"{path} is not valid TOML: {reason}.") from error
        except RecursionError as error:
            raise InvalidBook(f"{path} is nested too deeply; a book needs no more than [modules].") from error
        unknown = sorted(set(self.values) - set(KEYS))
        if unknown:
            raise self.wrong(unknown[0], f"is not a key of a book; the keys are {', '.join(KEYS)}")

    def line(self, key: str) -> str:
        match = re.search(rf"^[ \t]*+\[?[ \t]*+[\"']?{re.escape(key)}[\"']?[ \t]*[\]=.]", self.source, re.MULTILINE)
        return f", line {self.source.count(chr(10), 0, match.start()) + 1}" if match else ""

    def wrong(self, key: str, what: str) -> InvalidBook:
        return InvalidBook(f"{self.path}{self.line(key)}: '{key}' {what}.")

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, f"must be text in quotes, not {shortened(value)}")
        return value.strip()

    def number(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, f"must be a whole number from 0, not {shortened(value)}")
        return value

    def site(self) -> SiteStyle:
        value = self.text("site", "plain")
        if value not in SITE_STYLES:
            raise self.wrong("site", f"must be one of {', '.join(SITE_STYLES)}, not '{value}'")
        return value

    def base_url(self) -> str:
        value = self.text("base_url", "")
        if value and not re.match(r"(https?://[^\s/]|/)[^\s?#]*$", value):
            raise self.wrong("base_url", f"must begin with http://, https:// or / and hold no space, ? or #, not '{value}'")
        return value.rstrip("/") if value != "/" else value

    def modules(self) -> Mapping[str, str]:
        value = self.values.get("modules", {})
        if not isinstance(value, dict):
            raise self.wrong("modules", "must be a table of folder = module")
        for folder, module in value.items():
            if not isinstance(module, str) or not BOOK_ID.fullmatch(module):
                raise self.wrong(folder, f"must name a module (a-z, 0-9, '.', '_', '-'), not {shortened(module)}")
        return value

    def book(self, root: Path) -> Book:
        title = self.text("title", "") or _front_title(root)
        return Book(
            book_id=self.text("book_id", "") or default_id(root, title),
            title=title,
            language=self.text("language", "en") or "en",
            base_url=self.base_url(),
            site=self.site(),
            modules=self.modules(),
            max_chapter=self.number("max_chapter"),
            max_lesson=self.number("max_lesson"),
        )


def _missing_modules(root: Path, book: Book, values: _Values | None) -> tuple[BookWarning, ...]:
    if values is None:
        return ()
    missing = [folder for folder in book.modules if not (root / folder).is_dir()]
    lines = {folder: int(values.line(folder).rpartition(" ")[2] or 0) for folder in missing}
    return tuple(
        BookWarning(
            source_file=FILE_NAME,
            line=lines[folder],
            field="modules",
            message=f"There is no folder '{folder}' for module '{book.modules[folder]}'.",
        )
        for folder in missing
    )


def _undeclared(root: Path) -> Book:
    if root.is_file():
        return Book(book_id=slug(root.stem) or "book", title=re.sub(r"[-_ ]+", " ", root.stem).strip() or "Book")
    title = _front_title(root)
    return Book(book_id=default_id(root, title), title=title)


def declares_id(root: Path) -> bool:
    """Whether the book itself says what it is called, so that its folder's name has no say."""
    source = _source(root) if root.is_dir() else None
    return source is not None and bool(_Values(root / FILE_NAME, source).text("book_id", ""))


def _front_title(root: Path) -> str:
    """Returns the front page's heading. A front page that cannot be read, or leads out of the book, gives none; it is reported
    as a lesson."""
    for name in FRONT_PAGES:
        try:
            raw = read_beside(root, name, limit_bytes=LARGEST_FRONT_PAGE)
        except InvalidBook:
            continue
        title = first_heading(raw[:HEADING_WITHIN].decode("utf-8-sig", "replace")) if raw else None
        if title:
            return title
    return root.resolve().name or "Book"
