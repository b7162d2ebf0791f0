"""Parses lessons into chunks: in this process, in a child process, or by an executor's workers. Files are always opened in this
process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

from bythebook.books.lesson import read_lesson
from bythebook.books.model import Book, Failure, Lesson, Reading
from bythebook.books.sandbox import Sandbox, SandboxCall, Unreadable
from bythebook.embedding.parallel import Spread
from bythebook.errors import InvalidBook
from bythebook.index.state import IngestionRecord
from bythebook.ingestion.plan import PlannedLesson, PlannedTexts
from bythebook.ingestion.progress import Tally
from bythebook.ingestion.readings import FileReader, ReadingStore, failure_of

Parsed = tuple[PlannedLesson, Lesson]
LESSONS_PER_SLOT = 8
"""How many lessons are sent to a worker at a time: some tens of milliseconds of work, beside which sending them takes little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonSource:
    """A lesson's text as the plan saw it, or as it was read just now."""

    page: PlannedLesson
    reading: Reading
    file_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """Parses the lessons of one book. `spread`: the executor whose workers parse, if there is one. `sandbox`: the child process
    that parses, if there is one. `texts`: what the plan has read already."""

    root: Path
    book: Book
    limit_bytes: int
    spread: Spread | None = None
    sandbox: Sandbox | None = None
    texts: PlannedTexts = field(default_factory=PlannedTexts)
    store: ReadingStore = field(default_factory=lambda: ReadingStore(None))

    def window(self, pages: Iterator[PlannedLesson], tally: Tally, *, chunks: int) -> list[Parsed]:
        """Parses the next lessons until they have `chunks` chunks together."""
        found: list[Parsed] = []
        size, at_once = 0, LESSONS_PER_SLOT * self.spread.slots if self.spread else 1
        while size < chunks and (some := list(islice(pages, at_once))):
            for parsed in self.parse(some, tally):
                found.append(parsed)
                size += max(1, len(parsed[1].chunks))
        return found

    def parse(self, pages: Iterable[PlannedLesson], tally: Tally) -> list[Parsed]:
        """Parses these lessons. One that cannot be read is a failure of its own and does not stop the others."""
        read = []
        for page in pages:
            try:
                read.append(self._source(page))
            except InvalidBook as error:
                tally.failures.append(Failure(source_file=page.path, reason=str(error)))
        parsed = []
        for source, lesson in zip(read, self._parsed(read), strict=True):
            if isinstance(lesson, Unreadable):
                tally.failures.append(failure_of(source.page.path, lesson))
            else:
                parsed.append((source.page, lesson))
        return parsed

    def _source(self, page: PlannedLesson) -> LessonSource:
        if (reading := self.texts.take(page.path)) is not None:
            return LessonSource(page=page, reading=reading, file_hash=page.file_hash)
        reader = FileReader(root=self.root, limit_bytes=self.limit_bytes, sandbox=self.sandbox, store=self.store)
        lesson = reader.again(page.path, page.file)
        return LessonSource(page=page, reading=lesson.text(), file_hash=lesson.file_hash)

    def _parsed(self, read: list[LessonSource]) -> Sequence[Lesson | Unreadable]:
        """Has workers or the child process parse them, and returns the results in order."""
        parse = partial(parse_lessons, self.book)
        if self.spread is None and self.sandbox is not None:
            return list(self.sandbox.run([_reading(self.book, source) for source in read]))
        if self.spread is None:
            return parse(read)
        slots = min(self.spread.slots, len(read))
        with self.spread.minding():
            hands = list(self.spread.executor.map(parse, [read[slot::slots] for slot in range(slots)]))
        return [hands[number % slots][number // slots] for number in range(len(read))]


def parse_lessons(book: Book, read: Sequence[LessonSource]) -> list[Lesson]:
    """Parses lessons, in this process or in a worker."""
    return [_reading(book, source).call() for source in read]


def _reading(book: Book, source: LessonSource) -> SandboxCall[Lesson]:
    page = source.page
    claim = page.claim if source.file_hash == page.file_hash else replace(page.claim, front=None)
    call = partial(
        read_lesson,
        book,
        page.path,
        source.reading.text,
        file_hash=source.file_hash,
        claim=claim,
        id_base=page.id_base,
        chapter_title=page.chapter_title,
        reading=source.reading,
    )
    return SandboxCall(call=call, characters=len(source.reading.text))


def record_of(book: Book, parsed: Parsed, now: datetime) -> IngestionRecord:
    """The record of a lesson that is in the index now. A lesson that changed after it was planned gets no fingerprint, so that
    the next run does it again."""
    page, lesson = parsed
    return IngestionRecord(
        book_id=book.book_id,
        source_file=page.path,
        file_hash=lesson.file_hash,
        fingerprint=page.fingerprint if lesson.file_hash == page.file_hash else "",
        id_base=page.id_base,
        place=page.claim.place,
        title=page.claim.title,
        chunk_ids=tuple(chunk.id for chunk in lesson.chunks),
        ingested_at=now,
        warnings=lesson.warnings,
        order=page.order,
        weight=page.claim.weight,
        read_by=page.read_by,
    )
