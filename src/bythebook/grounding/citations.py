"""Citations, and what becomes of a drafted sentence: supported by citations, unsupported, or to be judged. Values only;
`checker` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bythebook.books.model import SourcePlace, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where the book says it: document A's fields, and the quote with its place in the source file. `score` and `relevance` are
    those of the quoted chunk."""

    label: int
    source_url: str
    chapter: str
    section: str
    score: float
    relevance: float
    chunk_index: int
    chunk_id: str
    source_file: str
    page_title: str
    quote: str
    span: Span
    where: str = ""
    """The place in words: "line 137", "p. 42", "cell 12, line 3". It is empty in answers that an earlier version stored."""
    place: SourcePlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A sentence that may be shown: its text without markers, and the quotes that support it."""

    text: str
    kind: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A sentence that must not be shown, and why."""

    text: str
    reason: str


class Quoted(Protocol):
    """`chunk.text[start:end]` of the evidence's passage `chunk_id`."""

    @property
    def label(self) -> int: ...
    @property
    def chunk_id(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class CheckedSentence(Protocol):
    """The checker's input: one sentence, item or block of a draft."""

    @property
    def text(self) -> str: ...
    @property
    def labels(self) -> tuple[int, ...]: ...
    @property
    def quotes(self) -> Sequence[Quoted]: ...
    @property
    def kind(self) -> str: ...
    @property
    def basis(self) -> str:
        """The words of the book that the drafter says the sentence rests on; empty where it named none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """A sentence in its own words that the program has no objection to: its meaning is to be judged.

    `passages` are what it cites, for the judge. `by_words` is the result of the words rule, which counts if nobody judges.
    """

    text: str
    passages: tuple[str, ...]
    by_words: Supported | Unsupported
    supported: Supported
