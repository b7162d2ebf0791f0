"""What the index holds of a book and of a lesson: document D's IngestionState and IngestionRecord, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bythebook.books.model import NO_OPTIONS, BookOptions, BookWarning, Place

RecordStatus = Literal["ingested", "interrupted"]
INDEX_NAME = re.compile(r"(?:^|(?<=/))(?:_?index|readme)(?=\.\w+\Z)", re.IGNORECASE)
"""A folder's own page, which comes before the others in it."""
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionRecord:
    """What the index holds of one lesson. `fingerprint` covers all that its chunks depend on, not only the file."""

    book_id: str
    source_file: str
    file_hash: str
    fingerprint: str
    id_base: str
    place: Place
    title: str | None
    chunk_ids: tuple[str, ...]
    ingested_at: datetime
    warnings: tuple[BookWarning, ...]
    read_by: str = ""
    """The format and version of what read its file; empty for Markdown."""
    order: int = 0
    """Its place in the order of the book's site, counted from 1; 0 where there is none. `weight`: the place that its frontmatter
    asks for."""
    weight: float | None = None

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_ids)

    @property
    def reading_order(self) -> tuple[int, int, int, str]:
        """A key to sort lessons by, in the order of reading."""
        return self.order, self.place.chapter, self.place.lesson, INDEX_NAME.sub("", self.source_file)

    @property
    def status(self) -> RecordStatus:
        """`interrupted`: it was about to be replaced when its run was stopped; the next run does it again."""
        return "ingested" if self.fingerprint else "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionState:
    """What the index holds of one book."""

    book_id: str
    title: str
    language: str
    collection_name: str
    source_root: str
    total_chunks: int
    last_full_ingest: datetime | None = None
    last_incremental_update: datetime | None = None
    options: BookOptions = NO_OPTIONS

    @property
    def last_ingested(self) -> datetime:
        return max(time for time in (self.last_full_ingest, self.last_incremental_update, NEVER) if time)


def record_to_plain(record: IngestionRecord) -> dict[str, Any]:
    """Document D's IngestionRecord, and its status."""
    names = ("source_file", "file_hash", "chunk_ids", "chunk_count", "ingested_at", "book_id", "title", "status")
    places = {name: getattr(record.place, name) for name in ("module", "chapter", "lesson")}
    return {**{name: getattr(record, name) for name in names}, **places}
