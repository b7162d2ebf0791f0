"""The books, and what each contains: its lessons, the values to filter by, and its calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from bythebook.books.model import BookWarning, Chunk, parent_id
from bythebook.errors import NeedsConsent, NotFound
from bythebook.grounding.calibration import Fit
from bythebook.index.manifest import manifest_of
from bythebook.index.state import IngestionRecord, IngestionState, RecordStatus, record_to_plain
from bythebook.ingestion.shelf import BookHoldings
from bythebook.operations.books import read_holdings, remove_book
from bythebook.threads.export import book_to_markdown
from bythebook.web.access import Administrator, Author, Principal, Reader
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId
from bythebook.web.responses import json_response
from bythebook.web.state import Current, State

router = APIRouter(prefix="/books", tags=["books"], responses=ERRORS)
Wanted = Annotated[BookId, Path(description="The book's id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookSummary:
    """Document D's IngestionState. Only authors see where the book came from and where it is stored."""

    book_id: str
    title: str
    language: str
    lessons: int
    total_chunks: int
    last_full_ingest: datetime | None
    last_incremental_update: datetime | None
    collection_name: str | None
    source_root: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonEntry:
    """A lesson in the table of contents."""

    lesson: int
    title: str
    parent_doc_id: str
    source_file: str
    source_url: str
    hardware_tier: int
    proficiency_level: str
    layer: str
    chunk_count: int
    warnings: tuple[BookWarning, ...]
    """For authors only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterEntry:
    """A chapter with its lessons."""

    chapter: int
    title: str
    lessons: tuple[LessonEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEntry:
    """A module with its chapters."""

    module: str
    chapters: tuple[ChapterEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterValues:
    """The values to filter by in this book."""

    modules: tuple[str, ...]
    chapters: tuple[int, ...]
    lessons: tuple[int, ...]
    hardware_tiers: tuple[int, ...]
    proficiency_levels: tuple[str, ...]
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """What the index was made with."""

    embedder: str
    dimension: int
    chunker_version: int
    lexical_version: int
    calibrated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BookView(BookSummary):
    """A book with its lessons and the values to filter by."""

    modules: tuple[ModuleEntry, ...]
    filters: FilterValues
    index: IndexView


@dataclass(frozen=True, slots=True, kw_only=True)
class BookList:
    """The books that the key may use."""

    books: tuple[BookSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """Document D's IngestionRecord."""

    source_file: str
    file_hash: str
    chunk_ids: tuple[str, ...]
    chunk_count: int
    ingested_at: datetime
    book_id: str
    module: str
    chapter: int
    lesson: int
    title: str | None
    status: RecordStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordList(BookSummary):
    """A book with the records of its lessons."""

    records: tuple[RecordView, ...]


@router.get("", response_model=BookList, summary="List the books that this key opens")
async def list_books(who: Reader, current: Current) -> Response:
    states = [state for state in await current.resources.records.books() if who.book_id in (None, state.book_id)]
    lessons = await current.resources.records.lesson_counts()
    listed = BookList(books=tuple(BookSummary(**_summary(state, who, lessons.get(state.book_id, 0))) for state in states))
    return json_response(listed)


@router.get("/{book_id}", response_model=BookView, summary="A book: its lessons, and what can be filtered by")
async def read_book(book_id: Wanted, who: Reader, current: Current) -> Response:
    state = await _state(book_id, who, current)
    manifest = manifest_of(state, await current.resources.index.collections())
    records = (await current.resources.records.records(book_id, state.collection_name)).values()
    firsts = [record.chunk_ids[0] for record in records if record.chunk_ids]
    held = await current.resources.index.chunks(state.collection_name, book_id, firsts)
    chunks = {one.chunk.source_file: one.chunk for one in held}
    view = BookView(
        **_summary(state, who, len(records)),
        modules=_modules(list(records), chunks, author=who.may("ingest")),
        filters=_filters(list(records)),
        index=IndexView(
            embedder=manifest.embedder,
            dimension=manifest.dimension,
            chunker_version=manifest.chunker_version,
            lexical_version=manifest.lexical_version,
            calibrated=book_id in manifest.calibration,
        ),
    )
    return json_response(view)


@router.get("/{book_id}/records", response_model=RecordList, summary="A book's files as they were ingested")
async def list_records(book_id: Wanted, who: Author, current: Current) -> Response:
    state = await _state(book_id, who, current)
    found = await current.resources.records.records(book_id, state.collection_name)
    records = tuple(RecordView(**record_to_plain(found[path])) for path in sorted(found))
    return json_response(RecordList(records=records, **_summary(state, who, len(records))))


@router.get(
    "/{book_id}/export",
    response_class=Response,
    responses={200: {"description": "Every thread.", "content": {"text/markdown": {"schema": {"type": "string"}}}}},
    summary="Take all threads of a book along as Markdown",
)
async def export_threads(book_id: Wanted, who: Administrator, current: Current) -> Response:
    await _state(book_id, who, current)
    text = await book_to_markdown(current.threads, book_id)
    headers = {"Content-Disposition": f'attachment; filename="threads-of-{book_id}.md"'}
    return Response(text, media_type="text/markdown; charset=utf-8", headers=headers)


@router.delete("/{book_id}", response_model=BookHoldings, summary="Remove a book for good, with its threads and jobs")
async def delete_book(
    book_id: Wanted, who: Administrator, current: Current, yes: Annotated[bool, Query(description="It is meant.")] = False
) -> Response:
    await _state(book_id, who, current)
    if not yes:
        held = await read_holdings(current.resources, book_id=book_id)
        what = f"{held.lessons:,} lessons, {held.chunks:,} chunks, {held.threads:,} threads and {held.jobs:,} jobs"
        raise NeedsConsent(
            f"This would remove '{book_id}' for good: {what}. Take the threads along from /books/{book_id}/export, then send it "
            "again with ?yes=true."
        )
    return json_response(await remove_book(current.resources, book_id=book_id))


@router.get("/{book_id}/calibration", response_model=dict[str, Any], summary="How relevance was fitted to the book")
async def read_calibration(book_id: Wanted, who: Reader, current: Current) -> Any:
    state = await _state(book_id, who, current)
    manifest = manifest_of(state, await current.resources.index.collections())
    fit = Fit.read(manifest.calibration.get(book_id))
    if fit is None:
        raise NotFound(f"The book '{book_id}' is not calibrated: it is too small, or its ingestion has not ended.")
    return fit.close.to_dict()


async def _state(book_id: str, who: Principal, current: State) -> IngestionState:
    state = await current.resources.records.book(who.book(book_id))
    if state is None:
        raise NotFound(f"There is no book '{book_id}' for this key.")
    return state


def _summary(state: IngestionState, who: Principal, lessons: int) -> dict[str, Any]:
    names = "book_id title language total_chunks last_full_ingest last_incremental_update"
    return {
        **{name: getattr(state, name) for name in names.split()},
        "lessons": lessons,
        "collection_name": state.collection_name if who.may("ingest") else None,
        "source_root": state.source_root if who.may("ingest") else None,
    }


def _modules(records: list[IngestionRecord], chunks: Mapping[str, Chunk], *, author: bool) -> tuple[ModuleEntry, ...]:
    """Modules in the order of chapters and lessons; pages outside the hierarchy are a module without a name."""
    modules: dict[str, dict[int, list[IngestionRecord]]] = {}
    for record in sorted(records, key=lambda one: one.reading_order):
        modules.setdefault(record.place.module, {}).setdefault(record.place.chapter, []).append(record)
    return tuple(
        ModuleEntry(module=name, chapters=tuple(_chapter(number, some, chunks, author) for number, some in chapters.items()))
        for name, chapters in modules.items()
    )


def _chapter(number: int, records: list[IngestionRecord], chunks: Mapping[str, Chunk], author: bool) -> ChapterEntry:
    titles = (chunks[record.source_file].chapter_title for record in records if record.source_file in chunks)
    lessons = tuple(_lesson(record, chunks.get(record.source_file), author) for record in records)
    return ChapterEntry(chapter=number, title=next(titles, ""), lessons=lessons)


def _lesson(record: IngestionRecord, first: Chunk | None, author: bool) -> LessonEntry:
    return LessonEntry(
        lesson=record.place.lesson,
        title=(first.page_title if first else record.title) or record.source_file,
        parent_doc_id=parent_id(record.book_id, record.id_base),
        source_file=record.source_file,
        source_url=first.source_url.partition("#")[0] if first else "",
        hardware_tier=record.place.hardware_tier,
        proficiency_level=record.place.proficiency_level,
        layer=record.place.layer,
        chunk_count=record.chunk_count,
        warnings=record.warnings if author else (),
    )


def _filters(records: list[IngestionRecord]) -> FilterValues:
    places = [record.place for record in records]
    return FilterValues(
        modules=tuple(dict.fromkeys(place.module for place in sorted(places, key=lambda one: one.chapter) if place.module)),
        chapters=tuple(sorted({place.chapter for place in places})),
        lessons=tuple(sorted({place.lesson for place in places})),
        hardware_tiers=tuple(sorted({place.hardware_tier for place in places})),
        proficiency_levels=tuple(sorted({place.proficiency_level for place in places})),
        layers=tuple(sorted({place.layer for place in places})),
    )
