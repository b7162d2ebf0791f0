"""What a reader does with a book: choose it, ask it, search it, read a lesson or the context of a chunk. `OpenBook` is what
Python programs use (`from bythebook import Book`), and the commands: what docs/python.md shows is kept from version to version.

The functions are operations, which run where the index is open. What answers and what ingests is imported late, because a
person waits for a search.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from bythebook.books.model import Chunk
from bythebook.errors import NO_BOOK, NotFound, SeveralBooks, no_such_book
from bythebook.index.state import IngestionState
from bythebook.retrieval.context import Context, find_lesson, read_context, read_lesson_chunks, whole_text
from bythebook.retrieval.query import Scope, SearchQuery, SearchResponse
from bythebook.wiring.reader import Library

if TYPE_CHECKING:
    from typing import Unpack

    from bythebook.answering.answer import Answer, TurnEvent
    from bythebook.drafting.draft import Exchange
    from bythebook.ingestion.progress import IngestReport
    from bythebook.ingestion.request import Mode
    from bythebook.jobs.progress import JobEvent
    from bythebook.operations.runner import OperationRunner
    from bythebook.settings import Settings


def choose_among(there: Iterable[IngestionState], *, wanted: str | None, configured: str | None = None, named_by: str) -> str:
    """The book that is named; else the configured one; else the only one. `named_by`: how a person names one."""
    states = sorted(there, key=lambda state: state.book_id)
    ids = [state.book_id for state in states]
    if not ids:
        raise NotFound(NO_BOOK)
    chosen = wanted or configured
    if chosen and chosen not in ids:
        set_by = "" if wanted else " (it is set by BYTHEBOOK_BOOK, or 'book' in bythebook.toml)"
        raise NotFound(no_such_book(chosen, ids, set_by=set_by))
    if chosen or len(ids) == 1:
        return chosen or ids[0]
    last = max(states, key=lambda state: state.last_ingested).book_id
    raise SeveralBooks(
        f"There are several books: say which with {named_by} ({', '.join(ids)}). The last one ingested is '{last}'.",
        books=tuple(ids),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What was found, in which language, and how many chunks the whole book has."""

    response: SearchResponse
    language: str
    total_chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLesson:
    """A lesson whole, as the author wrote it."""

    book_id: str
    path: str
    title: str
    source_url: str
    text: str


async def choose_book(library: Library, *, wanted: str | None, configured: str | None = None) -> str:
    """The book that is named; else the configured one; else the only one."""
    from bythebook.index.manifest import served_books

    there = served_books(await library.index.collections()).values()
    return choose_among(there, wanted=wanted, configured=configured, named_by="--book")


async def read_state(library: Library, *, book_id: str) -> IngestionState:
    return await library.search.book(book_id)


async def list_states(library: Library) -> list[IngestionState]:
    """All books, by their ids."""
    from bythebook.index.manifest import served_books

    there = served_books(await library.index.collections())
    return [there[book_id] for book_id in sorted(there)]


async def list_lessons(library: Library, *, book_id: str) -> list[str]:
    """The paths of a book's lessons."""
    state = await library.search.book(book_id)
    return sorted(await library.index.source_files(state.collection_name, book_id))


async def search(library: Library, *, query: SearchQuery) -> Searched:
    from bythebook.index.vectors import Filters

    state, manifest = await library.search.served(query.book_id)
    response = await library.book_search.search_served(query, state, manifest)
    total = await library.index.count(state.collection_name, Filters(book_id=query.book_id))
    return Searched(response=response, language=state.language, total_chunks=total)


async def fetch_context(library: Library, *, book_id: str, chunk_id: str) -> Context:
    return await read_context(library.index, await library.search.book(book_id), chunk_id)


async def fetch_lesson(library: Library, *, book_id: str, name: str) -> list[Chunk]:
    """Returns the chunks of a lesson. `name` is its path or its parent_doc_id."""
    state = await library.search.book(book_id)
    return await read_lesson_chunks(library.index, state, await find_lesson(library.index, state, name))


async def read_lesson_text(library: Library, *, book_id: str, name: str) -> WholeLesson:
    """The text of a lesson. `name` is its path or its parent_doc_id."""
    import asyncio

    chunks = await fetch_lesson(library, book_id=book_id, name=name)
    state, first = await library.search.book(book_id), chunks[0]
    whole = await asyncio.to_thread(whole_text, chunks, state.source_root, limit_bytes=library.settings.max_file_bytes)
    return WholeLesson(
        book_id=book_id,
        path=first.source_file,
        title=first.page_title,
        source_url=first.source_url.partition("#")[0],
        text=whole.text,
    )


class ReaderFilters(TypedDict, total=False):
    """Which lessons may be used. All filters that are set must match; none is set by default."""

    module: str | None
    hardware_tier: int | None
    """Lessons for this tier and lower."""
    chapter_min: int | None
    chapter_max: int | None
    lesson: int | None
    proficiency_levels: tuple[str, ...] | None
    layer: str | None
    parent_doc_id: str | None
    prefix: str | None
    """What a lesson's path or address begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBook:
    """A book that can be asked, searched and read. Where a server holds the index, the server does the work."""

    book_id: str
    runner: OperationRunner[Library]

    @classmethod
    @asynccontextmanager
    async def open(
        cls, book_id: str | None = None, *, data_dir: Path | str | None = None, **settings: Any
    ) -> AsyncIterator[OpenBook]:
        """Opens a book that was ingested: the one that is named, the configured one, or the only one. `settings` are those of
        docs/settings.md, in lower case and without BYTHEBOOK_, and override the environment."""
        from bythebook.operations.runner import open_runner
        from bythebook.wiring.reader import open_library

        async with open_runner(_settings(data_dir, settings), lambda read: open_library(read, embeds=True)) as runner:
            yield await cls.choose(runner, book_id)

    @classmethod
    async def choose(cls, runner: OperationRunner[Library], book_id: str | None) -> OpenBook:
        """Chooses the book in a library that is open."""
        chosen = await runner.run(choose_book, wanted=book_id, configured=runner.settings.book)
        return cls(book_id=chosen, runner=runner)

    @classmethod
    async def choose_several(cls, runner: OperationRunner[Library], wanted: Sequence[str]) -> tuple[str, ...]:
        """The ids of the books that are named; `*` means all."""
        from bythebook.answering.assessment import choose_several

        return choose_several({state.book_id for state in await runner.run(list_states)}, wanted)

    @staticmethod
    async def ingest(
        folder: Path | str,
        *,
        book_id: str | None = None,
        mode: Mode = "incremental",
        dry_run: bool = False,
        tell: Callable[[JobEvent], Awaitable[None]] | None = None,
        data_dir: Path | str | None = None,
        **settings: Any,
    ) -> IngestReport:
        """Ingests a folder, or only what changed in it. The report has the `book_id` to open; `tell` receives the progress."""
        from bythebook.ingestion.progress import IngestReport
        from bythebook.ingestion.request import IngestionRequest
        from bythebook.operations.author import publish
        from bythebook.operations.runner import open_runner
        from bythebook.wiring.author import open_resources

        read = _settings(data_dir, settings)
        async with open_runner(read, lambda read: open_resources(read, rehearsal=dry_run, embeds=not dry_run)) as runner:
            request = IngestionRequest(book_id=book_id, mode=mode, dry_run=dry_run)
            async for event in runner.follow(publish, root=_absolute(folder), request=request):
                if tell:
                    await tell(event)
                if isinstance(event, IngestReport):
                    report = event
        return report

    async def ask(
        self,
        question: str,
        *,
        after: Sequence[Answer] = (),
        limit: int | None = None,
        threshold: float | None = None,
        similarity_threshold: float = 0.0,
        gate: bool = True,
        **filters: Unpack[ReaderFilters],
    ) -> Answer:
        """Asks a question. `answer.refused` tells an answer from a refusal. `after`: the answers before it, which the question
        may refer to. `limit`: how many passages to use. `threshold`: refuse where the best passage is less relevant than this.
        `similarity_threshold`: leave out passages that are. `gate`: whether the confidence decides, too."""
        from bythebook.answering.answer import Answered, Refused

        events = self.follow(
            question,
            after=after,
            limit=limit,
            threshold=threshold,
            similarity_threshold=similarity_threshold,
            gate=gate,
            **filters,
        )
        async for event in events:
            if isinstance(event, Answered | Refused):
                ended = event.answer
        return ended

    def follow(
        self,
        question: str,
        *,
        after: Sequence[Answer] = (),
        limit: int | None = None,
        threshold: float | None = None,
        similarity_threshold: float = 0.0,
        gate: bool = True,
        among: tuple[str, ...] = (),
        **filters: Unpack[ReaderFilters],
    ) -> AsyncIterator[TurnEvent]:
        """Asks a question and yields the events: each sentence once it has passed its check. Follow it to its end. `among`: the
        best grounded of these books answers, in place of this one."""
        from bythebook.answering.question import Question
        from bythebook.operations.turns import answer

        settings = self.runner.settings
        asked = Question(
            text=question,
            scope=self._scope(settings.agent_top_k if limit is None else limit, filters),
            score_threshold=settings.agent_score_threshold if threshold is None else threshold,
            similarity_threshold=similarity_threshold,
            gate=gate,
            score_scale=settings.score_scale,
            history=tuple(_exchange(one) for one in after),
        )
        return self.runner.follow(answer, question=asked, among=among) if among else self.runner.follow(answer, question=asked)

    async def search(
        self, text: str, *, limit: int = 5, similarity_threshold: float = 0.0, **filters: Unpack[ReaderFilters]
    ) -> SearchResponse:
        """Searches for passages, the best first."""
        return (await self.find(text, limit=limit, similarity_threshold=similarity_threshold, **filters)).response

    async def find(
        self, text: str, *, limit: int = 5, similarity_threshold: float = 0.0, **filters: Unpack[ReaderFilters]
    ) -> Searched:
        """Searches for passages; also returns the book's language and size."""
        return await self.runner.run(
            search, query=self._scope(limit, filters).search(text, similarity_threshold=similarity_threshold)
        )

    async def lesson(self, name: str) -> list[Chunk]:
        """A whole lesson in order, named by its path or its parent_doc_id."""
        return await self.runner.run(fetch_lesson, book_id=self.book_id, name=name)

    async def context(self, chunk_id: str) -> Context:
        """A chunk, and the chunks before and after it."""
        return await self.runner.run(fetch_context, book_id=self.book_id, chunk_id=chunk_id)

    def _scope(self, limit: int, filters: ReaderFilters) -> Scope:
        return Scope.of(self.book_id, limit=limit, **filters)


def _absolute(folder: Path | str) -> Path:
    return Path(folder).expanduser().absolute()


def _settings(data_dir: Path | str | None, given: dict[str, Any]) -> Settings:
    from bythebook.errors import InvalidSettings
    from bythebook.settings import Settings, read_settings

    if unknown := sorted(given.keys() - {setting.name for setting in fields(Settings)}):
        raise InvalidSettings(f"'{unknown[0]}' is not a setting. docs/settings.md lists them all.")
    return read_settings(data_dir=None if data_dir is None else Path(data_dir), **given)


def _exchange(answer: Answer) -> Exchange:
    from bythebook.answering.answer import without_disclaimer
    from bythebook.answering.markdown import title_of_source
    from bythebook.drafting.draft import Exchange

    sources = tuple(title_of_source(one) for one in answer.citations)
    said = without_disclaimer(answer.answer, answer.disclaimer)
    return Exchange(question=answer.query, answer=said, sources=sources, refused=answer.refused)
