"""Settings in, opened resources out. The only place that constructs an adapter.

What is imported here is imported late, because a person waits: the embedded model is opened on another thread while SQL and
the engine are still being imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bythebook.errors import InvalidSettings, StorageFailure
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.answering import Answering
    from bythebook.assessing import Assessor
    from bythebook.calibrating import Calibrator
    from bythebook.database.engine import Database
    from bythebook.drafting.draft import Drafter
    from bythebook.index.embedding import Embedder
    from bythebook.index.ingest import Ingestion
    from bythebook.index.records import Records
    from bythebook.index.vectors import VectorIndex
    from bythebook.publishing import Publishing
    from bythebook.retrieval.search import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What a reader needs: the index and the embedder. No SQL is imported for it."""

    settings: Settings
    index: VectorIndex
    embedder: Embedder
    data_dir: Path

    @property
    def search(self) -> Search:
        from bythebook.retrieval.search import Search

        return Search(index=self.index, embedder=self.embedder, exact=self.settings.exact_search)

    @property
    def assessor(self) -> Assessor:
        from bythebook.assessing import Assessor
        from bythebook.retrieval.reading import Reader

        return Assessor(search=self.search, index=self.index, reader=Reader(self.embedder))

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[Answering]:
        from bythebook.answering import Answering

        drafter = open_drafter(self.settings, self.embedder)
        try:
            yield Answering(
                search=self.search,
                assessor=self.assessor,
                index=self.index,
                embedder=self.embedder,
                drafter=drafter,
                tool_name=self.settings.tool_name,
            )
        finally:
            await drafter.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources(Library):
    """What an author needs besides: the records of what was ingested."""

    database: Database
    records: Records

    @property
    def ingestion(self) -> Ingestion:
        from bythebook.index.cache import EmbeddingCache
        from bythebook.index.ingest import Ingestion

        return Ingestion(
            index=self.index,
            records=self.records,
            cache=EmbeddingCache(self.database),
            embedder=self.embedder,
            collection_name=self.settings.qdrant_collection_name,
            max_file_bytes=self.settings.max_file_bytes,
            folder=None if self.settings.qdrant_url else self.data_dir,
        )

    @property
    def calibrator(self) -> Calibrator:
        from bythebook.calibrating import Calibrator

        return Calibrator(index=self.index, embedder=self.embedder, assessor=self.assessor)

    @property
    def publishing(self) -> Publishing:
        from bythebook.publishing import Publishing

        return Publishing(ingestion=self.ingestion, calibrator=self.calibrator, records=self.records, index=self.index)


@asynccontextmanager
async def open_library(settings: Settings, *, rehearsal: bool = False, embeds: bool = False) -> AsyncIterator[Library]:
    """Open index and embedder; close them in any case. A rehearsal on a data folder that holds no index yet uses a temporary
    one, so that it leaves nothing behind. `embeds` says that the embedder will be wanted soon."""
    async with AsyncExitStack() as stack:
        data_dir = settings.data_dir.expanduser()
        if rehearsal and not (data_dir / "index").exists():
            data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="bythebook-")))
        embedder = open_embedder(settings)
        stack.push_async_callback(embedder.close)
        if settings.embedder == "compatible":  # only its answer tells the dimension
            await embedder.load()
        elif embeds:
            loading = asyncio.create_task(embedder.load())
            stack.push_async_callback(asyncio.wait, [loading])
            await asyncio.sleep(0)  # lets it begin before the imports to come hold the interpreter
        _make_folder(data_dir)
        index = await _open_index(settings, data_dir)
        stack.push_async_callback(index.close)
        yield Library(settings=settings, index=index, embedder=embedder, data_dir=data_dir)


@asynccontextmanager
async def open_resources(settings: Settings, *, rehearsal: bool = False, embeds: bool = False) -> AsyncIterator[Resources]:
    """The library and the database."""
    async with open_library(settings, rehearsal=rehearsal, embeds=embeds) as library:
        from bythebook.database.engine import Database, database_url
        from bythebook.index.records import Records

        url = settings.database_url.value if settings.database_url else None
        database = await Database.open(database_url(url, library.data_dir))
        try:
            yield Resources(
                settings=settings,
                index=library.index,
                embedder=library.embedder,
                data_dir=library.data_dir,
                database=database,
                records=Records(database),
            )
        finally:
            await database.close()


def open_embedder(settings: Settings) -> Embedder:
    match settings.embedder:
        case "granite":
            from bythebook.index.granite import GraniteEmbedder

            return GraniteEmbedder()
        case "cohere":
            from bythebook.index.cohere import CohereEmbedder

            key = _secret(settings.embedder_api_key or settings.cohere_api_key, "COHERE_API_KEY", "the Cohere embedder")
            return CohereEmbedder(key, model=settings.embedder_model or settings.cohere_model)
        case "openai":
            from bythebook.index.openai import OpenAIEmbedder

            key = _secret(settings.embedder_api_key or settings.openai_api_key, "OPENAI_API_KEY", "the OpenAI embedder")
            return OpenAIEmbedder(key, model=settings.embedder_model or "text-embedding-3-small")
        case "compatible":
            from bythebook.index.openai import OpenAIEmbedder

            if not settings.embedder_url or not settings.embedder_model:
                raise InvalidSettings("The compatible embedder needs BYTHEBOOK_EMBEDDER_URL and BYTHEBOOK_EMBEDDER_MODEL.")
            key = settings.embedder_api_key.value if settings.embedder_api_key else ""
            return OpenAIEmbedder(key, base_url=settings.embedder_url, model=settings.embedder_model)


def open_drafter(settings: Settings, embedder: Embedder) -> Drafter:
    """The model's, when one is configured; else the one that answers in the book's own sentences."""
    if not settings.openai_api_key and not settings.openai_base_url:
        from bythebook.drafting.extractive import ExtractiveDrafter

        return ExtractiveDrafter(embedder)
    from bythebook.drafting.openai_agents import AgentDrafter, AgentOptions
    from bythebook.drafting.openai_agents_calls import OPENAI_URL
    from bythebook.drafting.prompts import SYSTEM_PROMPT

    return AgentDrafter(
        AgentOptions(
            api_key=settings.openai_api_key.value if settings.openai_api_key else "",
            base_url=settings.openai_base_url or OPENAI_URL,
            model=settings.openai_model,
            system_prompt=settings.system_prompt or SYSTEM_PROMPT,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            tool_name=settings.tool_name,
            tool_choice=settings.tool_choice,
        )
    )


async def _open_index(settings: Settings, data_dir: Path) -> VectorIndex:
    if settings.qdrant_url:
        from bythebook.index.qdrant_server import ServerIndex

        key = settings.qdrant_api_key.value if settings.qdrant_api_key else ""
        return await ServerIndex.open(settings.qdrant_url, key)
    from bythebook.index.qdrant_edge import EdgeIndex

    return await EdgeIndex.open(data_dir / "index")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFailure(
            f"The data folder {folder} cannot be made ({error.strerror}). Choose another with --data-dir or BYTHEBOOK_DATA_DIR."
        ) from error


def _secret(key: object, variable: str, user: str) -> str:
    value = getattr(key, "value", "")
    if not value:
        raise InvalidSettings(f"{variable} is not set, and {user} needs it. Set it, or unset BYTHEBOOK_EMBEDDER.")
    return str(value)
