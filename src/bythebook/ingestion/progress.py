"""The events and the report of an ingestion: values that a command or the service shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bythebook.books.model import BookOptions, BookWarning, Failure, Lesson
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.ingestion.plan import Plan, PlannedLesson, PlannedTexts
from bythebook.ingestion.request import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The first event: what there is to do."""

    plan: Plan
    mode: Mode
    files_total: int
    bytes_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """Some of it is done. `lesson` is the first of those under way, which have `chunks_left` chunks still to be embedded."""

    files_done: int
    chunks_done: int
    chunks_embedded: int
    bytes_done: int
    lesson: str | None = None
    chunks_left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBegun:
    """The lessons are in the index; relevance is being fitted to them. A book that is already served stays so meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleCitation:
    """A stored answer quotes words that the book no longer has in that lesson."""

    thread_id: str
    turn: int
    label: int
    question: str
    page_title: str
    section: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """How an ingestion ended: document D's IngestionJob counts, and what an author should look at."""

    book_id: str
    title: str
    mode: Mode
    dry_run: bool
    collection_name: str
    files_discovered: int
    files_processed: int
    files_skipped: int
    files_new: int
    files_modified: int
    files_deleted: int
    chunks_created: int
    chunks_deleted: int
    chunks_embedded: int
    total_chunks: int
    started_at: datetime
    completed_at: datetime
    warnings: tuple[BookWarning, ...]
    failures: tuple[Failure, ...]
    site: str = "plain"
    config: str = ""
    """The site generator's file that the book's site was recognised by, relative to the book's folder."""
    base_url: str = ""
    language: str = "en"
    stale: tuple[StaleCitation, ...] = ()
    """Quotes of stored answers whose words this run removed from the book."""
    words_exact: int = 0
    words_read: int = 0
    """Of lessons that are not Markdown: words found in the author's files character for character, and all words."""

    @property
    def stale_answers(self) -> int:
        return len({(one.thread_id, one.turn) for one in self.stale})

    @property
    def duration_seconds(self) -> float:
        return (self.completed_at - self.started_at).total_seconds()


IngestionEvent = Planned | Advanced | CalibrationBegun
Tell = Callable[[IngestionEvent], Awaitable[None]]
"""Receives an ingestion's events. The ingestion waits until the call returns."""


async def nobody(_: object) -> None:
    """Ignores the event."""


@dataclass(slots=True)
class Tally:
    """Counts what has happened so far in one run."""

    failures: list[Failure] = field(default_factory=list)
    warnings: list[BookWarning] = field(default_factory=list)
    files: int = 0
    chunks: int = 0
    created: int = 0
    deleted: int = 0
    embedded: int = 0
    bytes: int = 0
    lesson: str | None = None
    left: int = 0
    words_exact: int = 0
    words_read: int = 0

    def advanced(self) -> Advanced:
        return Advanced(
            files_done=self.files,
            chunks_done=self.chunks,
            chunks_embedded=self.embedded,
            bytes_done=self.bytes,
            lesson=self.lesson,
            chunks_left=self.left,
        )

    def count(
        self, parsed: Sequence[tuple[PlannedLesson, Lesson]], gone: Sequence[str], known: Mapping[str, IngestionRecord]
    ) -> None:
        """Counts lessons that were written and lessons that were removed."""
        paths = [*gone, *(page.path for page, _ in parsed)]
        before = {id for path in paths if path in known for id in known[path].chunk_ids}
        after = {chunk.id for _, lesson in parsed for chunk in lesson.chunks}
        self.created += len(after - before)
        self.deleted += len(before - after)
        self.chunks += len(after)
        self.files += len(parsed)
        self.warnings.extend(warning for _, lesson in parsed for warning in lesson.warnings)
        for exact, words in (chunk.words_placed() for _, lesson in parsed for chunk in lesson.chunks):
            self.words_exact += exact
            self.words_read += words


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionRun:
    """A planned run: what it has to do, and what it has done. `before`: how the book was served so far. `known`: its records in
    the collection that this run writes to."""

    root: Path
    mode: Mode
    plan: Plan
    texts: PlannedTexts
    known: Mapping[str, IngestionRecord]
    before: IngestionState | None
    collection: str
    started_at: datetime
    options: BookOptions
    tally: Tally

    @property
    def work(self) -> Sequence[PlannedLesson]:
        return self.plan.changed() if self.mode == "incremental" else self.plan.pages

    @property
    def moves(self) -> bool:
        """Whether the book will be served from another collection than before."""
        return self.before is None or self.before.collection_name != self.collection

    @property
    def planned(self) -> Planned:
        work = self.work
        return Planned(plan=self.plan, mode=self.mode, files_total=len(work), bytes_total=sum(page.size for page in work))

    @property
    def _dropped(self) -> int:
        """The chunks of the collection that is dropped because the book is no longer served from it."""
        return self.before.total_chunks if self.mode == "recreate" and self.before else 0

    def report(self, *, total_chunks: int, dry_run: bool = False) -> IngestReport:
        plan, tally = self.plan, self.tally
        return IngestReport(
            book_id=plan.book.book_id,
            title=plan.book.title,
            mode=self.mode,
            dry_run=dry_run,
            collection_name=self.collection,
            files_discovered=plan.discovered,
            files_processed=tally.files,
            files_skipped=plan.discovered - tally.files - len(tally.failures),
            files_new=len(plan.new),
            files_modified=len(plan.modified),
            files_deleted=len(plan.deleted),
            chunks_created=tally.created,
            chunks_deleted=tally.deleted + self._dropped,
            chunks_embedded=tally.embedded,
            total_chunks=total_chunks,
            started_at=self.started_at,
            completed_at=datetime.now(UTC),
            warnings=tuple(sorted(tally.warnings, key=lambda warning: (warning.field, warning.source_file, warning.line))),
            failures=tuple(tally.failures),
            words_exact=tally.words_exact,
            words_read=tally.words_read,
            site=plan.book.site,
            config=plan.site.config if plan.site else "",
            base_url=plan.book.base_url,
            language=plan.book.language,
        )
