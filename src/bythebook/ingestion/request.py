"""What an ingestion is asked to do, as values: code that only asks for one need not import what reads a book."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bythebook.books.model import NO_OPTIONS, BookOptions

Mode = Literal["incremental", "full", "recreate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What the person who starts an ingestion has agreed to. `replace`: another source takes the place of the book's own.
    `remove`: more than a third of the book's lessons are removed."""

    replace: bool = False
    remove: bool = False


NO_CONSENT = Consent()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionRequest:
    """One ingestion as it is asked for. `book_id`: None where the book itself says what it is called."""

    book_id: str | None = None
    mode: Mode = "incremental"
    dry_run: bool = False
    calibrate: bool = True
    consent: Consent = NO_CONSENT
    options: BookOptions = NO_OPTIONS


DEFAULT_REQUEST = IngestionRequest()
