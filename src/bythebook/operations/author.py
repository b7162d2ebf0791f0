"""An author's operations: checking books, ingesting one, and calibrating it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bythebook.books.formats.readers import SUFFIXES, TEXT, format_of
from bythebook.books.model import CHUNKER_VERSION
from bythebook.errors import NO_BOOK, Mismatch, NotFound
from bythebook.grounding.calibration import Calibration
from bythebook.index.lexical import LEXICAL_VERSION
from bythebook.index.state import IngestionRecord
from bythebook.ingestion.integrity import Inspection, inspect_book
from bythebook.ingestion.request import IngestionRequest, Mode
from bythebook.jobs.model import Repository
from bythebook.jobs.progress import JobEvent, follow
from bythebook.wiring.author import Resources
from bythebook.wiring.reader import Library


async def inspect(resources: Resources, *, book_id: str | None) -> list[Inspection]:
    """Checks the invariants of one book, or of all."""
    ids = [book_id] if book_id else [state.book_id for state in await resources.records.books()]
    if not ids:
        raise NotFound(NO_BOOK)
    states = [await resources.search.book(id) for id in ids]
    return [
        await inspect_book(resources.index, resources.records, state, resources.file_reader(Path(state.source_root)))
        for state in states
    ]


async def list_books(resources: Resources) -> list[str]:
    """The ids of all books."""
    return [state.book_id for state in await resources.records.books()]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedBook:
    """A book whose index this version cannot use, or whose files it would read anew. `mode`: the ingestion that mends it; None
    where another embedder is needed."""

    book_id: str
    source_root: str
    reason: str
    mode: Mode | None

    @property
    def usable(self) -> bool:
        return self.mode == "incremental"


async def list_outdated(resources: Resources) -> list[OutdatedBook]:
    collections, embedder = await resources.index.collections(), resources.embedder.name
    found = []
    for state in await resources.records.books():
        manifest = collections.get(state.collection_name)
        if manifest is None:
            continue
        try:
            manifest.require(embedder, book_id=state.book_id)
        except Mismatch as mismatch:
            older = manifest.chunker_version <= CHUNKER_VERSION and manifest.lexical_version <= LEXICAL_VERSION
            remakable = older and manifest.embedder == embedder
            mode: Mode | None = "recreate" if remakable else None
            found.append(OutdatedBook(book_id=state.book_id, source_root=state.source_root, reason=str(mismatch), mode=mode))
            continue
        records = (await resources.records.records(state.book_id, state.collection_name)).values()
        if before := [record.source_file for record in records if read_earlier(record)]:
            lessons = f"{len(before):,} {'lesson was' if len(before) == 1 else 'lessons were'}"
            reason = f"{lessons} read by an earlier version, {before[0]} among them"
            found.append(OutdatedBook(book_id=state.book_id, source_root=state.source_root, reason=reason, mode="incremental"))
    return found


def read_earlier(record: IngestionRecord) -> bool:
    """Whether another version of a format's reader read the lesson's file. Before 2026-11-19 none was noted."""
    parts = PurePosixPath(record.source_file.lower()).parts
    file = next((part for part in reversed(parts) if part.endswith((*SUFFIXES, TEXT))), "")  # a chapter's path goes on after it
    kind = format_of(file)
    return kind is not None and kind.read_by != record.read_by


def publish(
    resources: Resources,
    *,
    root: Path,
    request: IngestionRequest,
    repository: Repository | None = None,
) -> AsyncIterator[JobEvent]:
    """Ingests a book as a job that runs at once; a dry run is not a job."""
    return follow(lambda tell: resources.foreground_job.run(root, request, repository=repository, tell=tell))


async def calibrate(resources: Resources, *, root: Path, book_id: str) -> None:
    """Calibrates a book that `publish` ingested without calibrating it."""
    await resources.publisher.calibrate(book_id, root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A book's title and how relevance was fitted to it."""

    title: str
    calibration: Calibration


async def read_calibration(library: Library, *, book_id: str) -> Fitted:
    from bythebook.answering.answerer import close_fit

    state, manifest = await library.search.served(book_id)
    fit = close_fit(manifest, state)
    if fit is None:
        raise NotFound(f"The book '{state.book_id}' is not calibrated; it may be too small. Run: bythebook ingest FOLDER")
    return Fitted(title=state.title, calibration=fit)
