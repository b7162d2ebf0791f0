"""Resolves links and pictures in a lesson to files of the same book."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from bythebook.web.render.labels import LabelledPlace

PICTURES = {
    "avif": "image/avif",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
}
NOTEBOOK = ".ipynb"
KEPT_IN_NOTEBOOK = "attachment:"
ENDINGS = ("", ".md", ".mdx", "/index.md", "/index.mdx", "/README.md")
"""Endings that sites let an author leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookLinks:
    """The links of one lesson: its path, the paths of all lessons of its book, and the book's labels."""

    book_id: str
    source_file: str
    lessons: Collection[str]
    labels: Mapping[str, LabelledPlace] = field(default_factory=dict)

    def lesson(self, address: str) -> str | None:
        """The page's own address of the linked lesson; None where it is not in this book."""
        path, _, _ = address.partition("#")
        inside = self._inside(path.partition("?")[0])
        if inside is None or not path:
            return None
        meant = inside.removesuffix(".html").rstrip("/")
        found = next((one for end in ENDINGS if (one := meant + end) in self.lessons), None)
        return self._address(found) if found else None

    def labelled(self, label: str) -> tuple[str, str] | None:
        """The words and the address of what has this label."""
        place = self.labels.get(label)
        if place is None:
            return None
        section = f"?section={quote(place.section, safe='')}" if place.section else ""
        return place.words, self._address(place.source_file) + section

    def _address(self, source_file: str) -> str:
        return f"#/books/{quote(self.book_id)}/lessons/{quote(source_file)}"

    def picture(self, address: str) -> str | None:
        """The path of a picture's file in the book's folder; of one that a notebook keeps, that of the notebook, # and its
        name."""
        kept = address.removeprefix(KEPT_IN_NOTEBOOK)
        if kept != address and self.source_file.lower().endswith(NOTEBOOK):
            return f"{self.source_file}#{unquote(kept)}" if kept.rpartition(".")[2].lower() in PICTURES else None
        inside = self._inside(address.partition("#")[0].partition("?")[0])
        return inside if inside and inside.rpartition(".")[2].lower() in PICTURES else None

    def _inside(self, address: str) -> str | None:
        if ":" in address.partition("/")[0] or address.startswith(("//", "\\")):
            return None
        path = unquote(address)
        folder = "" if path.startswith("/") else posixpath.dirname(self.source_file)
        joined = posixpath.normpath(posixpath.join(folder, path.lstrip("/") if path.startswith("/") else path))
        return None if joined.startswith("..") or "\0" in joined else joined
