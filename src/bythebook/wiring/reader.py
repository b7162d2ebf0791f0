"""What a reader needs, from the settings: the embedder, the drafter, the index, the OpenTelemetry collector, and the library that
answers with them, without importing SQL.

Imports are late, because most adapters are not needed and a person waits: the embedded model is opened in another thread while
the engine is still being imported. Each part is built once, at its first use, and is a plain attribute from then on.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bythebook.errors import InvalidSettings, StorageFailure, missing_extra
from bythebook.settings import Secret, Settings

if TYPE_CHECKING:
    from bythebook.answering.answerer import Answerer
    from bythebook.answering.book_search import BookSearch
    from bythebook.answering.look import Assessor
    from bythebook.answering.opentelemetry import SpanRecorder
    from bythebook.answering.turn import Tracing
    from bythebook.drafting.completion import WriteLine, WriteQuiz
    from bythebook.drafting.draft import Drafter
    from bythebook.drafting.openai_agents.drafter import AgentDrafter
    from bythebook.drafting.openai_agents.options import AgentOptions
    from bythebook.embedding.embedder import Embedder
    from bythebook.embedding.parallel import Spread
    from bythebook.grounding.judgement import Judge
    from bythebook.index.vectors import VectorIndex
    from bythebook.retrieval.answer_reader import AnswerReader
    from bythebook.retrieval.search import Search
    from bythebook.retrieval.sentence_reader import SentenceReader

logger = logging.getLogger(__name__)

EMBEDDER_KEY = "BYTHEBOOK_EMBEDDER_API_KEY"


def open_embedder(settings: Settings) -> Embedder:
    match settings.chosen_embedder:
        case "granite":
            from bythebook.embedding.granite import GraniteEmbedder

            return GraniteEmbedder()
        case "cohere":
            from bythebook.embedding.cohere import CohereEmbedder

            if settings.embedder is None:
                logger.warning("Cohere embeds, because COHERE_API_KEY is set. BYTHEBOOK_EMBEDDER=granite embeds on this machine.")
            return CohereEmbedder(
                _key(settings, settings.cohere_api_key, "COHERE_API_KEY", "the Cohere embedder"),
                base_url=settings.embedder_url,
                model=settings.embedder_model or settings.cohere_model,
                key_variable=_key_variable(settings, "COHERE_API_KEY"),
            )
        case "openai":
            from bythebook.embedding.openai import OpenAIEmbedder

            return OpenAIEmbedder(
                _key(settings, settings.openai_api_key, "OPENAI_API_KEY", "the OpenAI embedder"),
                base_url=settings.embedder_url,
                model=settings.embedder_model,
                key_variable=_key_variable(settings, "OPENAI_API_KEY"),
            )
        case "compatible":
            from bythebook.embedding.openai import OpenAIEmbedder

            if not settings.embedder_url or not settings.embedder_model:
                raise InvalidSettings("The compatible embedder needs BYTHEBOOK_EMBEDDER_URL and BYTHEBOOK_EMBEDDER_MODEL.")
            return OpenAIEmbedder(
                settings.embedder_api_key.value if settings.embedder_api_key else "",
                base_url=settings.embedder_url,
                model=settings.embedder_model,
                key_variable=EMBEDDER_KEY,
            )


def spread_embedder(settings: Settings, embedder: Embedder, spread: Spread) -> Embedder:
    """Spreads the embedder over workers. A remote embedder already runs on a server and stays as it is."""
    if settings.chosen_embedder != "granite":
        return embedder
    from bythebook.embedding.granite import open_lone_granite
    from bythebook.embedding.parallel import SpreadEmbedder

    return SpreadEmbedder(embedder, open_lone_granite, spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """The drafter of answers, and what else a model does if one is configured."""

    drafter: Drafter
    write_line: WriteLine | None = None
    write_quiz: WriteQuiz | None = None
    judge: Judge | None = None


def open_writers(settings: Settings, reader: SentenceReader) -> Writers:
    """Opens the model if one is configured, or else the drafter that uses the book's own sentences."""
    if not settings.openai_api_key and not settings.openai_base_url:
        from bythebook.drafting.extractive import ExtractiveDrafter

        return Writers(drafter=ExtractiveDrafter(reader))
    model = open_model(settings)
    judge = model.judge if settings.check == "meaning" else None
    return Writers(drafter=model, write_line=model.write_line, write_quiz=model.write_quiz, judge=judge)


def open_model(settings: Settings) -> AgentDrafter:
    """The model's drafter, on the configured server or OpenAI's."""
    with _extra("openai", "OPENAI_API_KEY" if settings.openai_api_key else "OPENAI_BASE_URL", "the OpenAI Agents SDK"):
        from bythebook.drafting.openai_agents.drafter import AgentDrafter

    return AgentDrafter(_model_options(settings))


def check_model(settings: Settings) -> None:
    """Raises InvalidSettings for a model that cannot work, such as one with a key of another form than OpenAI's on OpenAI's
    server."""
    if settings.openai_api_key or settings.openai_base_url:
        from bythebook.drafting.openai_agents.options import check_key

        options = _model_options(settings)
        check_key(options.api_key, options.base_url)


def _model_options(settings: Settings) -> AgentOptions:
    from bythebook.drafting.openai_agents.options import OPENAI_URL, AgentOptions
    from bythebook.drafting.prompts import SYSTEM_PROMPT

    return AgentOptions(
        api_key=settings.openai_api_key.value if settings.openai_api_key else "",
        base_url=settings.openai_base_url or OPENAI_URL,
        model=settings.openai_model,
        system_prompt=settings.system_prompt or SYSTEM_PROMPT,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        tool_name=settings.tool_name,
        tool_choice=settings.tool_choice,
        call_seconds=settings.model_seconds,
        total_seconds=answer_seconds(settings),
        line_seconds=line_seconds(settings),
        check_model=settings.check_model or "",
        check_seconds=settings.model_seconds / 4,
    )


def answer_seconds(settings: Settings) -> float:
    """Returns how long a whole draft may take: half as long again as one call of the model."""
    return 1.5 * settings.model_seconds


def turn_seconds(settings: Settings) -> float:
    """The longest that a turn can take: rewriting a follow-up, searching the book, searching again without the reader's filters,
    and drafting."""
    from bythebook.answering.answerer import EMBED_SECONDS, SEARCH_SECONDS

    return line_seconds(settings) + EMBED_SECONDS + 2 * SEARCH_SECONDS + answer_seconds(settings)


def line_seconds(settings: Settings) -> float:
    return settings.model_seconds / 4


def open_spans(settings: Settings) -> SpanRecorder | None:
    """Opens tracing to the configured collector, if any."""
    if settings.otlp_endpoint is None:
        return None
    with _extra("tracing", "OTEL_EXPORTER_OTLP_ENDPOINT", "OpenTelemetry"):
        from bythebook.answering.opentelemetry import open_tracing
    return open_tracing(settings.otlp_endpoint, questions=settings.log_questions)


async def open_index(settings: Settings, data_dir: Path) -> VectorIndex:
    if settings.qdrant_url:
        with _extra("qdrant", "QDRANT_URL", "the Qdrant client"):
            from bythebook.index.qdrant_server.index import ServerIndex

        key = settings.qdrant_api_key.value if settings.qdrant_api_key else ""
        return await ServerIndex.open(
            settings.qdrant_url,
            key,
            collection_name=settings.qdrant_collection_name,
            shard_number=settings.qdrant_shard_number,
            replication_factor=settings.qdrant_replication_factor,
            write_consistency_factor=settings.qdrant_write_consistency_factor,
        )
    from bythebook.index.qdrant_edge.index import EdgeIndex

    return await EdgeIndex.open(data_dir / "index")


@contextmanager
def _extra(extra: str, setting: str, what: str) -> Iterator[None]:
    """Wraps an import that only works where the extra is installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("bythebook"):
            raise
        raise missing_extra(setting, what, extra) from error


def make_folder(folder: Path) -> None:
    """Makes a folder that only its owner can read, because readers' questions are kept in it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StorageFailure(
            f"The data folder {folder} cannot be made ({error.strerror}). Choose another with --data-dir or BYTHEBOOK_DATA_DIR."
        ) from error


def _key(settings: Settings, vendors: Secret | None, variable: str, user: str) -> str:
    """The embedder's own key, or else the vendor's."""
    key = settings.embedder_api_key or vendors
    if key is None or not key.value:
        raise InvalidSettings(f"{variable} is not set, and {user} needs it. Set it, or unset BYTHEBOOK_EMBEDDER.")
    return key.value


def _key_variable(settings: Settings, vendors: str) -> str:
    """The variable that a person changes when the server does not accept the key."""
    return EMBEDDER_KEY if settings.embedder_api_key else vendors


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
        """`answer_reader`: one to use in place of the one that is shipped, for measuring."""
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
        """Shared, so that the drafter need not read again what the search has read."""
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
        """One per process: its limit on searches at the same time holds for all turns."""
        from bythebook.answering.answerer import Answerer

        writers = self._writers
        return Answerer(
            search=self.search,
            assessor=self.assessor,
            embedder=self.embedder,
            drafter=writers.drafter,
            tool_name=self.settings.tool_name,
            write_line=writers.write_line,
            judge=writers.judge,
            model_decides=writers.write_line is not None,
            evidence_tokens=self.settings.evidence_tokens if writers.write_line else None,
            total_seconds=answer_seconds(self.settings),
            tracing=self._tracing,
        )

    async def read_ahead(self) -> None:
        """Reads into memory what searches need, for a process that will search often."""
        for collection in await self.index.collections():
            await self.index.read_ahead(collection)
        gc.freeze()  # what was read stays: looking through it for garbage would now and then cost a search a tenth of a second

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
        if "_writers" in self.__dict__:
            await self._writers.drafter.close()
        if "answer_reader" in self.__dict__:
            await self.answer_reader.close()
        if self.__dict__.get("_spans"):
            await self.__dict__["_spans"].close()

    @cached_property
    def _writers(self) -> Writers:
        return open_writers(self.settings, self.sentence_reader)

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
    """Opens the index, the embedder and the data folder. A dry run on a data folder without an index uses a temporary one, so
    that it leaves nothing behind. `embeds`: the embedder will be needed soon. An embedder that is given stays open."""
    data_dir = settings.data_dir.expanduser()
    if rehearsal and not (data_dir / "index").exists():
        data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="bythebook-")))
    if embedder is None:
        embedder = open_embedder(settings)
        stack.push_async_callback(embedder.close)
    if embeds:
        loading = asyncio.create_task(embedder.load())
        stack.push_async_callback(asyncio.wait, [loading])
        await asyncio.sleep(0)  # lets it begin before the imports that follow hold the interpreter
    make_folder(data_dir)
    index = await open_index(settings, data_dir)
    stack.push_async_callback(index.close)
    return index, embedder, data_dir
