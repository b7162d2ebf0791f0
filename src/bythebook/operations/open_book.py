"""An open book for Python programs, notebooks and the commands alike: `from bythebook import Book`.

What docs/python.md shows is kept from version to version. Imports are late, because a person waits for the commands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from typing import Unpack

    from bythebook.answering.answer import Answer, TurnEvent
    from bythebook.books.model import Chunk
    from bythebook.drafting.draft import Exchange
    from bythebook.ingestion.progress import IngestReport, Mode
    from bythebook.jobs.progress import JobEvent
    from bythebook.operations.reader import Searched
    from bythebook.operations.runner import OperationRunner
    from bythebook.retrieval.context import Context
    from bythebook.retrieval.query import Scope, SearchResponse
    from bythebook.settings import Settings
    from bythebook.wiring.reader import Library


class ReaderFilters(TypedDict, total=False):
    """Which lessons may be used. All must hold; none is set unless asked for."""

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
        docs/settings.md, in small letters and without BYTHEBOOK_, and come before the environment."""
        from bythebook.operations.runner import open_runner
        from bythebook.wiring.reader import open_library

        async with open_runner(_settings(data_dir, settings), lambda read: open_library(read, embeds=True)) as runner:
            yield await cls.choose(runner, book_id)

    @classmethod
    async def choose(cls, runner: OperationRunner[Library], book_id: str | None) -> OpenBook:
        """Chooses the book in a library that is open."""
        from bythebook.operations.reader import choose_book

        chosen = await runner.run(choose_book, wanted=book_id, configured=runner.settings.book)
        return cls(book_id=chosen, runner=runner)

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
        """Ingests a folder, or only what changed in it. The report has the `book_id` to open; `tell` hears of the progress."""
        from bythebook.index.state import IngestionRequest
        from bythebook.ingestion.progress import IngestReport
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
        """The answer or the refusal; `answer.refused` tells which. `after`: the answers before it, which the question may refer
        to. `limit`: how many passages to use. `threshold`: refuse where the best is less relevant than this;
        `similarity_threshold`: leave out what is; `gate`: whether the confidence decides, too."""
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
        **filters: Unpack[ReaderFilters],
    ) -> AsyncIterator[TurnEvent]:
        """Asks, and yields the events: each sentence as it passes its check. Follow it to its end."""
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
        return self.runner.follow(answer, question=asked)

    async def search(
        self, text: str, *, limit: int = 5, similarity_threshold: float = 0.0, **filters: Unpack[ReaderFilters]
    ) -> SearchResponse:
        """The passages that say it, the best first."""
        return (await self.find(text, limit=limit, similarity_threshold=similarity_threshold, **filters)).response

    async def find(
        self, text: str, *, limit: int = 5, similarity_threshold: float = 0.0, **filters: Unpack[ReaderFilters]
    ) -> Searched:
        """Searches, and tells the book's language and size as well."""
        from bythebook.operations.reader import search

        return await self.runner.run(
            search, query=self._scope(limit, filters).search(text, similarity_threshold=similarity_threshold)
        )

    async def lesson(self, name: str) -> list[Chunk]:
        """A whole lesson in order, named by its path or its parent_doc_id."""
        from bythebook.operations.reader import fetch_lesson

        return await self.runner.run(fetch_lesson, book_id=self.book_id, name=name)

    async def context(self, chunk_id: str) -> Context:
        """A chunk, and what stands before and after it."""
        from bythebook.operations.reader import fetch_context

        return await self.runner.run(fetch_context, book_id=self.book_id, chunk_id=chunk_id)

    def _scope(self, limit: int, filters: ReaderFilters) -> Scope:
        from bythebook.retrieval.query import Scope

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
