"""Which reader a file has, and its limits. Readers are imported when the first file of their format is read.

A reader is a module with two functions: `read(path, raw)` returns the file's readings, and `source_texts(raw)` returns a function
from a place to the text there, found in another way than the reading was made. Exact marks are verified with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol, cast

from bythebook.books.markdown import readable
from bythebook.books.model import Reading, SourceMark, SourcePlace, fold

MARKDOWN = (".md", ".mdx", ".markdown", ".qmd", ".rmd")
"""Endings of files that are read as they are."""
PAGES = (".html", ".htm", ".xhtml")
TEXT = ".txt"
"""An ending that makes a lesson only if Sphinx's settings name it."""
CODE_MARKS = re.compile(r"`+|\\(?=[^\w\s])")
LINE_END = re.compile(r"\r\n?|\n")
SourceTexts = Callable[[SourcePlace], str]


class Reader(Protocol):
    """The two functions of a reader's module."""

    def read(self, path: str, raw: bytes) -> tuple[Reading, ...]: ...
    def source_texts(self, raw: bytes) -> SourceTexts: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of lessons. Raise `version` to have its files read again."""

    name: str
    version: int
    suffixes: tuple[str, ...]
    module: str
    largest_times: int = 1
    """How many times as large as a text file such a file may be: pictures and outputs take space and are not read."""
    seconds: float = 60.0
    """How long the child process may compute for one, in addition to what its size allows."""
    most_bytes: int = 2**31

    @property
    def read_by(self) -> str:
        return f"{self.name} {self.version}"

    def reader(self) -> Reader:
        return cast(Reader, import_module(f"bythebook.books.formats.{self.module}"))


FORMATS = (
    Format(name="notebook", version=1, suffixes=(".ipynb",), module="notebook", largest_times=5),
    Format(name="html", version=10, suffixes=PAGES, module="lxml.html"),
    Format(name="epub", version=10, suffixes=(".epub",), module="lxml.epub", largest_times=30, seconds=120.0),
    Format(name="docx", version=8, suffixes=(".docx",), module="lxml.docx", largest_times=30, seconds=120.0),
    Format(name="pptx", version=3, suffixes=(".pptx",), module="lxml.pptx", largest_times=30, seconds=120.0),
    Format(name="asciidoc", version=3, suffixes=(".adoc", ".asciidoc"), module="asciidoc"),
    Format(name="rst", version=5, suffixes=(".rst", TEXT), module="docutils.rst"),
    Format(name="pdf", version=14, suffixes=(".pdf",), module="pypdfium2.pdf", largest_times=30, seconds=300.0),
)
SUFFIXES = (*MARKDOWN, *(suffix for one in FORMATS for suffix in one.suffixes if suffix != TEXT))


def format_of(path: str) -> Format | None:
    """The format of a file; None for Markdown, and for what is not a lesson."""
    name = path.lower()
    return next((one for one in FORMATS if name.endswith(one.suffixes)), None)


def read_file(kind: Format, path: str, raw: bytes) -> tuple[Reading, ...]:
    """The readings of a file. A mark that claims to be exact is verified here, and otherwise loses that claim."""
    reader = kind.reader()
    readings = reader.read(path, raw)
    if not readings:
        return ()
    texts = reader.source_texts(raw)
    return tuple(replace(one, marks=_verified(one.text, one.marks, texts)) for one in readings)


def _verified(text: str, marks: Sequence[SourceMark], texts: SourceTexts) -> tuple[SourceMark, ...]:
    return tuple(
        mark if not mark.exact or _stands(text[mark.start : mark.end], mark.place, texts) else replace(mark, exact=False)
        for mark in marks
    )


def _stands(text: str, place: SourcePlace, texts: SourceTexts) -> bool:
    """Whether the text is there. Lines of a file may hold more than the text: the mark of a list, the name of a box."""
    said = texts(place)
    words = said.split()
    if text == " ".join(words) or text == said or _without_code_marks(text).split() == words:  # quick, and true of most
        return True
    source = fold(said)
    return any(form in source if place.kind == "line" else form == source for form in _forms(text))


def _forms(text: str) -> Iterator[str]:
    """The text as it may be in the file: as written, for code, for words without marks, and for a format that is Markdown
    itself; then without its marks, quickly if these are only marks of code. Raised text has brackets of ours: 10^(-3 m)."""
    yield fold(text)
    if "`" in text or "\\" in text:
        yield fold(_without_code_marks(text))
    yield fold(readable(text))
    if "<sup>" in text:
        yield fold(readable(text.replace("<sup>", "").replace("</sup>", "")))


def _without_code_marks(text: str) -> str:
    return CODE_MARKS.sub("", text) if "`" in text or "\\" in text else text


def misplaced(kind: Format | None, raws: Mapping[str, bytes], pieces: Sequence[tuple[str, SourcePlace]]) -> list[int]:
    """The indexes of those pieces of text that are not at their places: in the author's file, or in those that it includes.
    Without a kind the file is Markdown, where places are lines."""
    reader = kind.reader().source_texts if kind else _line_texts
    texts = {file: reader(raw) for file, raw in raws.items()}
    return [
        index
        for index, (text, place) in enumerate(pieces)
        if place.file not in texts or not any(form in fold(texts[place.file](place)) for form in _forms(text))
    ]


def _line_texts(raw: bytes) -> SourceTexts:
    lines = LINE_END.split(raw.decode("utf-8", "replace").removeprefix("\ufeff"))
    return lambda place: "\n".join(lines[place.number - 1 : place.last])
