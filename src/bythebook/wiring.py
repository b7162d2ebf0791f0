"""Settings in, opened resources out. With `adapters`, the only place that constructs one.

What is imported here is imported late, because a person waits: the embedded model is opened on another thread while SQL and
the engine are still being imported.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bythebook.adapters import answer_seconds, make_folder, open_drafter, open_embedder, open_index, open_spans, spread_embedder
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.answering import Answering
    from bythebook.assessing import Assessor
    from bythebook.calibrating import Calibrator
    from bythebook.conversing import Conversing
    from bythebook.database.engine import Database
    from bythebook.drafting.draft import Drafter
    from bythebook.drafting.lines import WriteLine
    from bythebook.grounding.judgement import Judge
    from bythebook.index.embedding import Embedder
    from bythebook.index.ingest import Ingestion
    from bythebook.index.records import Records
    from bythebook.index.spreading import Spread
    from bythebook.index.vectors import VectorIndex
    from bythebook.jobs.attended import Attended
    from bythebook.jobs.running import Runner
    from bythebook.jobs.store import Jobs
    from bythebook.jobs.worker import Listener, Worker
    from bythebook.keys import Keys
    from bythebook.opentelemetry import SpanTracing
    from bythebook.publishing import Publishing
    from bythebook.retrieval.reading import Reader
    from bythebook.retrieval.search import Search
    from bythebook.searching import Searching
    from bythebook.steps import Tracing
    from bythebook.threads.review_store import Review
    from bythebook.threads.store import Threads


@dataclass(slots=True)
class Kept:
    """What all turns share, made when the first wants it: a drafter holds connections, a reader what it has read."""

    drafter: Drafter | None = None
    write_line: WriteLine | None = None
    judge: Judge | None = None
    reader: Reader | None = None
    spans: SpanTracing | None = None

    async def close(self) -> None:
        if self.drafter:
            await self.drafter.close()
        if self.spans:
            await self.spans.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What a reader needs: the index and the embedder. No SQL is imported for it."""

    settings: Settings
    index: VectorIndex
    embedder: Embedder
    data_dir: Path
    kept: Kept = field(default_factory=Kept, repr=False, compare=False)

    @property
    def search(self) -> Search:
        from bythebook.retrieval.search import Search

        return Search(index=self.index, embedder=self.embedder, exact=self.settings.exact_search)

    @property
    def searching(self) -> Searching:
        from bythebook.searching import Searching

        return Searching(search=self.search, index=self.index)

    async def read_ahead(self) -> None:
        """For who will search often: have in memory what searches read."""
        for collection in await self.index.collections():
            await self.index.read_ahead(collection)
        gc.freeze()  # what was read stays: to look through it again and again costs a search now and then a tenth of a second

    @asynccontextmanager
    async def reading_ahead(self) -> AsyncIterator[None]:
        """Beside other work. What cannot be read is for the first search to tell."""
        reading = asyncio.create_task(self.read_ahead())
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    @property
    def assessor(self) -> Assessor:
        from bythebook.assessing import Assessor

        return Assessor(search=self.search, index=self.index, reader=self.reader)

    @property
    def reader(self) -> Reader:
        """One for all turns: what a look at the book has read, the drafter need not read again."""
        from bythebook.retrieval.reading import Reader

        self.kept.reader = self.kept.reader or Reader(self.embedder)
        return self.kept.reader

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[Answering]:
        """With the library's one drafter, which is closed with the library."""
        from bythebook.answering import Answering

        if self.kept.drafter is None:
            self.kept.drafter, self.kept.write_line, self.kept.judge = open_drafter(self.settings, self.reader)
        yield Answering(
            search=self.search,
            assessor=self.assessor,
            index=self.index,
            embedder=self.embedder,
            drafter=self.kept.drafter,
            tool_name=self.settings.tool_name,
            write_line=self.kept.write_line,
            judge=self.kept.judge,
            model_decides=self.kept.write_line is not None,
            evidence_tokens=self.settings.evidence_tokens,
            total_seconds=answer_seconds(self.settings),
            tracing=self._tracing,
        )

    @property
    def _tracing(self) -> Tracing:
        """Spans, where a collector is configured."""
        from bythebook.steps import untraced

        self.kept.spans = self.kept.spans or open_spans(self.settings)
        return self.kept.spans or untraced


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources(Library):
    """What an author needs besides, and a reader whose questions are kept: the database and what is in it."""

    database: Database
    records: Records
    spread: Spread | None = None
    """Who parses and embeds lessons, when others do."""

    @property
    def threads(self) -> Threads:
        from bythebook.threads.store import Threads

        return Threads(self.database)

    @property
    def review(self) -> Review:
        from bythebook.threads.review_store import Review

        return Review(self.database)

    @property
    def keys(self) -> Keys:
        from bythebook.keys import Keys

        return Keys(self.database)

    @asynccontextmanager
    async def conversing(self) -> AsyncIterator[Conversing]:
        from bythebook.conversing import Conversing
        from bythebook.drafting.prompts import SYSTEM_PROMPT

        async with self.answering() as answering:
            yield Conversing(
                answering=answering,
                threads=self.threads,
                max_turns=self.settings.agent_max_turns,
                system_prompt=self.settings.system_prompt or SYSTEM_PROMPT,
                tracing=self._tracing,
                write_line=self.kept.write_line,
            )

    @property
    def ingestion(self) -> Ingestion:
        from bythebook.index.cache import EmbeddingCache
        from bythebook.index.ingest import Ingestion

        return Ingestion(
            index=self.index,
            records=self.records,
            cache=EmbeddingCache(self.database),
            embedder=spread_embedder(self.settings, self.embedder, self.spread) if self.spread else self.embedder,
            collection_name=self.settings.qdrant_collection_name,
            max_file_bytes=self.settings.max_file_bytes,
            folder=None if self.settings.qdrant_url else self.data_dir,
            spread=self.spread,
        )

    @property
    def calibrator(self) -> Calibrator:
        """It asks the same questions after every edit, and reads the same sentences: those come from the cache."""
        from bythebook.assessing import Assessor
        from bythebook.calibrating import Calibrator
        from bythebook.index.cache import CachedEmbedder, EmbeddingCache
        from bythebook.retrieval.reading import Reader

        embedder = CachedEmbedder(self.embedder, EmbeddingCache(self.database))
        assessor = Assessor(search=self.search, index=self.index, reader=Reader(embedder))
        return Calibrator(index=self.index, embedder=embedder, assessor=assessor, arranging=self.records.arranging)

    @property
    def publishing(self) -> Publishing:
        from bythebook.publishing import Publishing

        return Publishing(ingestion=self.ingestion, calibrator=self.calibrator, records=self.records, index=self.index)

    @property
    def jobs(self) -> Jobs:
        from bythebook.jobs.store import Jobs

        return Jobs(self.database)

    @property
    def attended(self) -> Attended:
        """Ingestion while a person waits for it."""
        from bythebook.jobs.attended import Attended

        return Attended(runner=self._runner(attended=True))

    def worker(self, listener: Listener | None = None) -> Worker:
        """Ingestion in the background; `listener` hears how it goes."""
        from bythebook.jobs.worker import Worker

        runner = self._runner(attended=False)
        return Worker(runner=runner, listener=listener) if listener else Worker(runner=runner)

    def _runner(self, *, attended: bool) -> Runner:
        from bythebook.jobs.running import Runner
        from bythebook.jobs.sources import Sources

        return Runner(
            jobs=self.jobs,
            publishing=self.publishing,
            sources=Sources(checkouts=self.data_dir / "checkouts"),
            review=self.review,
            attended=attended,
            alone=self.settings.qdrant_url is None,
        )


@asynccontextmanager
async def open_library(
    settings: Settings, *, rehearsal: bool = False, embeds: bool = False, embedder: Embedder | None = None
) -> AsyncIterator[Library]:
    """Open index and embedder; close them in any case. A rehearsal on a data folder that holds no index yet uses a temporary
    one, so that it leaves nothing behind. `embeds` says that the embedder will be wanted soon; one that is given stays open."""
    async with AsyncExitStack() as stack:
        data_dir = settings.data_dir.expanduser()
        if rehearsal and not (data_dir / "index").exists():
            data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="bythebook-")))
        if embedder is None:
            embedder = open_embedder(settings)
            stack.push_async_callback(embedder.close)
        if settings.embedder == "compatible":  # only its answer tells the dimension
            await embedder.load()
        elif embeds:
            loading = asyncio.create_task(embedder.load())
            stack.push_async_callback(asyncio.wait, [loading])
            await asyncio.sleep(0)  # lets it begin before the imports to come hold the interpreter
        make_folder(data_dir)
        index = await open_index(settings, data_dir)
        stack.push_async_callback(index.close)
        library = Library(settings=settings, index=index, embedder=embedder, data_dir=data_dir)
        stack.push_async_callback(library.kept.close)
        yield library


@asynccontextmanager
async def open_resources(
    settings: Settings, *, rehearsal: bool = False, embeds: bool = False, embedder: Embedder | None = None
) -> AsyncIterator[Resources]:
    """The library and the database."""
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(open_library(settings, rehearsal=rehearsal, embeds=embeds, embedder=embedder))
        from bythebook.index.records import Records

        database = await stack.enter_async_context(open_database(settings, library.data_dir))
        spread = None
        if settings.dask_scheduler and embeds:
            from bythebook.index.dask import open_cluster

            spread = await stack.enter_async_context(open_cluster(settings.dask_scheduler))
        yield Resources(
            settings=settings,
            index=library.index,
            embedder=library.embedder,
            data_dir=library.data_dir,
            kept=library.kept,
            database=database,
            records=Records(database),
            spread=spread,
        )


@asynccontextmanager
async def open_database(settings: Settings, data_dir: Path | None = None) -> AsyncIterator[Database]:
    """The database alone: any number of processes may have it open, also while a server holds the index."""
    from bythebook.database.engine import Database, database_url

    folder = data_dir or settings.data_dir.expanduser()
    make_folder(folder)
    url = settings.database_url.value if settings.database_url else None
    database = await Database.open(database_url(url, folder))
    try:
        yield database
    finally:
        await database.close()
