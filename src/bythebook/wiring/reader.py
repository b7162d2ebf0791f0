"""What a reader needs: the index, the embedder and what answers from them, without importing SQL.

Imports are late, because a person waits: the embedded model is opened on another thread while the engine is still being
imported. Each part is built once, at its first use, and is a plain attribute from then on.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bythebook.settings import Settings
from bythebook.wiring.adapters import answer_seconds, make_folder, open_drafter, open_embedder, open_index, open_spans

if TYPE_CHECKING:
    from bythebook.answering.answerer import Answerer
    from bythebook.answering.book_search import BookSearch
    from bythebook.answering.look import Assessor
    from bythebook.answering.opentelemetry import SpanRecorder
    from bythebook.answering.turn import Tracing
    from bythebook.drafting.completion import WriteLine
    from bythebook.drafting.draft import Drafter
    from bythebook.embedding.embedder import Embedder
    from bythebook.grounding.judgement import Judge
    from bythebook.index.vectors import VectorIndex
    from bythebook.retrieval.answer_reader import AnswerReader
    from bythebook.retrieval.search import Search
    from bythebook.retrieval.sentence_reader import SentenceReader


class Library:
    """The open index and embedder, and what reads with them."""

    def __init__(
        self,
        *,
        settings: Settings,
        index: VectorIndex,
        embedder: Embedder,
        data_dir: Path,
        answer_reader: AnswerReader | None = None,
    ) -> None:
        """`answer_reader`: another than the one that is shipped, for measuring."""
        self._given_reader = answer_reader
        self.settings = settings
        self.index = index
        self.embedder = embedder
        self.data_dir = data_dir

    @cached_property
    def search(self) -> Search:
        from bythebook.retrieval.search import Search

        return Search(index=self.index, embedder=self.embedder, exact=self.settings.exact_search)

    @cached_property
    def book_search(self) -> BookSearch:
        from bythebook.answering.book_search import BookSearch

        return BookSearch(search=self.search, index=self.index)

    @cached_property
    def sentence_reader(self) -> SentenceReader:
        """Shared, so that the drafter need not read again what a look at the book has read."""
        from bythebook.retrieval.sentence_reader import SentenceReader

        return SentenceReader(self.embedder, self.answer_reader)

    @cached_property
    def answer_reader(self) -> AnswerReader:
        from bythebook.retrieval.answer_reader import AnswerReader

        return self._given_reader or AnswerReader()

    @cached_property
    def assessor(self) -> Assessor:
        from bythebook.answering.look import Assessor

        return Assessor(search=self.search, index=self.index, reader=self.sentence_reader)

    @cached_property
    def answerer(self) -> Answerer:
        """One per process: its limit on looks at once holds for all turns."""
        from bythebook.answering.answerer import Answerer

        drafter, write_line, judge = self._model
        return Answerer(
            search=self.search,
            assessor=self.assessor,
            embedder=self.embedder,
            drafter=drafter,
            tool_name=self.settings.tool_name,
            write_line=write_line,
            judge=judge,
            model_decides=write_line is not None,
            evidence_tokens=self.settings.evidence_tokens,
            total_seconds=answer_seconds(self.settings),
            tracing=self._tracing,
        )

    async def read_ahead(self) -> None:
        """Reads into memory what searches need, for a process that will search often."""
        for collection in await self.index.collections():
            await self.index.read_ahead(collection)
        gc.freeze()  # what was read stays: to look through it again and again costs a search now and then a tenth of a second

    @asynccontextmanager
    async def reading_ahead(self) -> AsyncIterator[None]:
        """Reads ahead beside other work. What cannot be read is reported by the first search."""
        reading = asyncio.create_task(self.read_ahead())
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def close(self) -> None:
        """Closes what was opened at its first use."""
        if "_model" in self.__dict__:
            await self._model[0].close()
        if "answer_reader" in self.__dict__:
            await self.answer_reader.close()
        if self.__dict__.get("_spans"):
            await self.__dict__["_spans"].close()

    @cached_property
    def _model(self) -> tuple[Drafter, WriteLine | None, Judge | None]:
        return open_drafter(self.settings, self.sentence_reader)

    @cached_property
    def _spans(self) -> SpanRecorder | None:
        return open_spans(self.settings)

    @property
    def _tracing(self) -> Tracing:
        """Returns spans if a collector is configured."""
        from bythebook.answering.turn import untraced

        return self._spans or untraced


@asynccontextmanager
async def open_library(
    settings: Settings,
    *,
    rehearsal: bool = False,
    embeds: bool = False,
    embedder: Embedder | None = None,
    answer_reader: AnswerReader | None = None,
) -> AsyncIterator[Library]:
    """Opens the index and embedder, and closes them in any case."""
    async with AsyncExitStack() as stack:
        index, embedder, data_dir = await open_parts(stack, settings, rehearsal=rehearsal, embeds=embeds, embedder=embedder)
        library = Library(settings=settings, index=index, embedder=embedder, data_dir=data_dir, answer_reader=answer_reader)
        stack.push_async_callback(library.close)
        yield library


async def open_parts(
    stack: AsyncExitStack, settings: Settings, *, rehearsal: bool, embeds: bool, embedder: Embedder | None
) -> tuple[VectorIndex, Embedder, Path]:
    """The index, the embedder and the data folder. A rehearsal on a data folder that holds no index yet uses a temporary one, so
    that it leaves nothing behind. `embeds` says that the embedder will be wanted soon; one that is given stays open."""
    data_dir = settings.data_dir.expanduser()
    if rehearsal and not (data_dir / "index").exists():
        data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="bythebook-")))
    if embedder is None:
        embedder = open_embedder(settings)
        stack.push_async_callback(embedder.close)
    if embeds:
        loading = asyncio.create_task(embedder.load())
        stack.push_async_callback(asyncio.wait, [loading])
        await asyncio.sleep(0)  # lets it begin before the imports to come hold the interpreter
    make_folder(data_dir)
    index = await open_index(settings, data_dir)
    stack.push_async_callback(index.close)
    return index, embedder, data_dir
