"""What an ingestion tells as it goes: values, rendered by whoever listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bythebook.books.model import BookWarning, Lesson
from bythebook.index.state import MODES as MODES
from bythebook.index.state import Failure, IngestionRecord, IngestionState
from bythebook.index.state import Mode as Mode
from bythebook.ingestion.plan import Plan, PlannedLesson


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
class Filled:
    """All of the book lies where it was not served from before. It is served from there when this event has been seen to."""

    state: IngestionState


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleCitation:
    """A kept answer quotes words that the book no longer has in that lesson."""

    thread_id: str
    turn: int
    label: int
    question: str
    page_title: str
    section: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """The last event: document D's IngestionJob counts, and what an author should look at."""

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
    stale: tuple[StaleCitation, ...] = ()
    """What kept answers quote and this run took away."""

    @property
    def stale_answers(self) -> int:
        return len({(one.thread_id, one.turn) for one in self.stale})

    @property
    def duration_seconds(self) -> float:
        return (self.completed_at - self.started_at).total_seconds()


IngestionEvent = Planned | Advanced | Filled | IngestReport


@dataclass(slots=True)
class Tally:
    """What has happened so far in one run."""

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
        """These lessons are in, and those are gone."""
        paths = [*gone, *(page.path for page, _ in parsed)]
        before = {id for path in paths if path in known for id in known[path].chunk_ids}
        after = {chunk.id for _, lesson in parsed for chunk in lesson.chunks}
        self.created += len(after - before)
        self.deleted += len(before - after)
        self.chunks += len(after)
        self.files += len(parsed)
        self.warnings.extend(warning for _, lesson in parsed for warning in lesson.warnings)

    def report(
        self, plan: Plan, mode: Mode, collection: str, *, dry_run: bool, total_chunks: int, started: datetime
    ) -> IngestReport:
        return IngestReport(
            book_id=plan.book.book_id,
            title=plan.book.title,
            mode=mode,
            dry_run=dry_run,
            collection_name=collection,
            files_discovered=plan.discovered,
            files_processed=self.files,
            files_skipped=plan.discovered - self.files - len(self.failures),
            files_new=len(plan.new),
            files_modified=len(plan.modified),
            files_deleted=len(plan.deleted),
            chunks_created=self.created,
            chunks_deleted=self.deleted,
            chunks_embedded=self.embedded,
            total_chunks=total_chunks,
            started_at=started,
            completed_at=datetime.now(UTC),
            warnings=tuple(sorted(self.warnings, key=lambda warning: (warning.field, warning.source_file, warning.line))),
            failures=tuple(self.failures),
        )
