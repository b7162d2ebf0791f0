"""Every sentence checked before a reader sees it."""

from __future__ import annotations

from dataclasses import dataclass

from bythebook.books.model import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where the book says it: document A's fields, and the quote with its place in the source file."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A sentence that may be shown: its text without markers, and what it rests on."""

    text: str
    kind: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A sentence that must not be shown, and why."""

    text: str
    reason: str
