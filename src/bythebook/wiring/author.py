"""What an author needs, and a reader whose threads are stored: the database and the parts that use it.

Each part is built once, at its first use, and is a plain attribute from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.settings import Settings
from bythebook.wiring.reader import Library, make_folder, open_parts, spread_embedder

if TYPE_CHECKING:
    from bythebook.answering.look import Assessor
    from bythebook.books.sandbox import Sandbox
    from bythebook.database.engine import Database
    from bythebook.embedding.embedder import Embedder
    from bythebook.embedding.parallel import Spread
    from bythebook.evaluation.study_questions import StudyQuestions
    from bythebook.index.vectors import VectorIndex
    from bythebook.ingestion.calibrator import Calibrator
    from bythebook.ingestion.ingest import Ingestion
    from bythebook.ingestion.publisher import Publisher
    from bythebook.ingestion.readings import FileReader
    from bythebook.ingestion.records import Records
    from bythebook.ingestion.shelf import Shelf
    from bythebook.jobs.runner import ForegroundJob, JobRunner
    from bythebook.jobs.sources import Sources
    from bythebook.jobs.store import Jobs
    from bythebook.jobs.worker import Listener, Worker
    from bythebook.threads.conversation import Conversation
    from bythebook.threads.reactions import Reactions
    from bythebook.threads.review import Review
    from bythebook.threads.stale_answers import StaleAnswers
    from bythebook.threads.store import Threads

READINGS = "readings"
"""The folder, below the data folder, with the readings of files that are not Markdown."""


class Resources(Library):
    """The library and its database. `spread` is the executor that parses and embeds lessons, if there is one."""

    def __init__(
        self,
        *,
        settings: Settings,
        index: VectorIndex,
        embedder: Embedder,
        data_dir: Path,
        database: Database,
        spread: Spread | None = None,
    ) -> None:
        super().__init__(settings=settings, index=index, embedder=embedder, data_dir=data_dir)
        self.database = database
        self.spread = spread

    @cached_property
    def records(self) -> Records:
        from bythebook.ingestion.records import Records

        return Records(self.database)

    @cached_property
    def threads(self) -> Threads:
        from bythebook.threads.store import Threads

        return Threads(self.database)

    @cached_property
    def reactions(self) -> Reactions:
        from bythebook.threads.reactions import Reactions

        return Reactions(self.database)

    @cached_property
    def study_questions(self) -> StudyQuestions:
        from bythebook.evaluation.model_quiz import ModelQuiz
        from bythebook.evaluation.question_store import QuestionStore
        from bythebook.evaluation.study_questions import StudyQuestions

        write, judge = self._writers.write_quiz, self._writers.judge
        quiz = ModelQuiz(write, judge, evidence_tokens=self.settings.evidence_tokens) if write else None
        return StudyQuestions(self.index, self.answerer, QuestionStore(self.database), quiz)

    @cached_property
    def stale_answers(self) -> StaleAnswers:
        from bythebook.threads.stale_answers import StaleAnswers

        return StaleAnswers(self.database)

    @cached_property
    def review(self) -> Review:
        from bythebook.threads.review import Review

        return Review(self.database)

    @cached_property
    def conversation(self) -> Conversation:
        from bythebook.drafting.prompts import SYSTEM_PROMPT
        from bythebook.threads.conversation import Conversation

        return Conversation(
            answerer=self.answerer,
            threads=self.threads,
            max_turns=self.settings.agent_max_turns,
            system_prompt=self.settings.system_prompt or SYSTEM_PROMPT,
            tracing=self._tracing,
            write_line=self._writers.write_line,
        )

    @cached_property
    def ingestion(self) -> Ingestion:
        from bythebook.embedding.batches import EmbeddingCache
        from bythebook.ingestion.ingest import Ingestion

        return Ingestion(
            index=self.index,
            records=self.records,
            cache=EmbeddingCache(self.database),
            embedder=spread_embedder(self.settings, self.embedder, self.spread) if self.spread else self.embedder,
            collection_name=self.settings.qdrant_collection_name,
            max_file_bytes=self.settings.max_file_bytes,
            folder=None if self.settings.qdrant_url else self.data_dir,
            spread=self.spread,
            sandbox=self.sandbox,
            readings=self.data_dir / READINGS,
        )

    def file_reader(self, root: Path) -> FileReader:
        """A reader for the files of the book in `root`."""
        from bythebook.ingestion.readings import FileReader, ReadingStore

        store = ReadingStore(self.data_dir / READINGS)
        return FileReader(root=root, limit_bytes=self.settings.max_file_bytes, sandbox=self.sandbox, store=store)

    @cached_property
    def sandbox(self) -> Sandbox:
        """The child process that reads lessons; it starts with the first of them."""
        from bythebook.books.sandbox import Sandbox

        return Sandbox()

    @cached_property
    def painter(self) -> Sandbox:
        """The child process that draws pages for readers, who do not wait until the other has read a long file."""
        from bythebook.books.sandbox import Sandbox

        return Sandbox()

    @cached_property
    def calibrator(self) -> Calibrator:
        """Its embedder is cached, because it asks the same questions and reads the same sentences after every edit."""
        from bythebook.embedding.batches import CachedEmbedder, EmbeddingCache
        from bythebook.ingestion.calibrator import Calibrator

        embedder = CachedEmbedder(self.embedder, EmbeddingCache(self.database))

        def assessor() -> Assessor:
            from bythebook.answering.look import Assessor
            from bythebook.retrieval.sentence_reader import SentenceReader

            return Assessor(search=self.search, index=self.index, reader=SentenceReader(embedder))

        return Calibrator(index=self.index, embedder=embedder, assessor=assessor, catalog_lock=self.records.catalog_lock)

    @cached_property
    def publisher(self) -> Publisher:
        from bythebook.ingestion.publisher import Publisher

        return Publisher(ingestion=self.ingestion, calibrator=self.calibrator, records=self.records, index=self.index)

    @cached_property
    def shelf(self) -> Shelf:
        from bythebook.embedding.batches import EmbeddingCache
        from bythebook.ingestion.shelf import Shelf

        return Shelf(index=self.index, records=self.records, cache=EmbeddingCache(self.database), database=self.database)

    @cached_property
    def jobs(self) -> Jobs:
        from bythebook.jobs.store import Jobs

        return Jobs(self.database)

    @cached_property
    def sources(self) -> Sources:
        from bythebook.jobs.git import GitLimits
        from bythebook.jobs.sources import Sources

        return Sources(
            folder=self.data_dir,
            addresses=tuple(one.url for one in self.settings.git_sources),
            limits=GitLimits(bytes=self.settings.git_max_bytes, private=self.settings.git_private),
        )

    @cached_property
    def foreground_job(self) -> ForegroundJob:
        """Runs an ingestion while a person waits."""
        from bythebook.jobs.runner import ForegroundJob

        return ForegroundJob(runner=self._runner(attended=True))

    def worker(self, listener: Listener | None = None) -> Worker:
        """Runs ingestions in the background; `listener` gets their events."""
        from bythebook.jobs.worker import Worker

        runner = self._runner(attended=False)
        return Worker(runner=runner, listener=listener) if listener else Worker(runner=runner)

    async def close(self) -> None:
        """Closes everything, the child processes first, because they wait for nothing."""
        for name in {"sandbox", "painter"} & self.__dict__.keys():
            await asyncio.to_thread(getattr(self, name).close)
        await super().close()

    def _runner(self, *, attended: bool) -> JobRunner:
        from bythebook.jobs.runner import JobRunner

        return JobRunner(
            jobs=self.jobs,
            publisher=self.publisher,
            sources=self.sources,
            stale_answers=self.stale_answers,
            attended=attended,
            alone=self.settings.qdrant_url is None,
        )


@asynccontextmanager
async def open_resources(
    settings: Settings, *, rehearsal: bool = False, embeds: bool = False, embedder: Embedder | None = None
) -> AsyncIterator[Resources]:
    """Opens the index, embedder and database, and closes them in any case."""
    async with AsyncExitStack() as stack:
        index, embedder, data_dir = await open_parts(stack, settings, rehearsal=rehearsal, embeds=embeds, embedder=embedder)
        database = await stack.enter_async_context(open_database(settings, data_dir))
        spread = None
        if settings.dask_scheduler and embeds:
            from bythebook.embedding.dask import open_cluster

            spread = await stack.enter_async_context(open_cluster(settings.dask_scheduler))
        resources = Resources(
            settings=settings, index=index, embedder=embedder, data_dir=data_dir, database=database, spread=spread
        )
        stack.push_async_callback(resources.close)
        yield resources


@asynccontextmanager
async def open_database(settings: Settings, data_dir: Path | None = None) -> AsyncIterator[Database]:
    """Opens only the database: any number of processes may have it open, even while a server holds the index."""
    from bythebook.database.engine import Database, database_url

    folder = data_dir or settings.data_dir.expanduser()
    make_folder(folder)
    url = settings.database_url.value if settings.database_url else None
    database = await Database.open(database_url(url, folder))
    try:
        yield database
    finally:
        await database.close()
