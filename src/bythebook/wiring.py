"""Settings in, opened resources out. The only place that constructs an adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bythebook.database.engine import Database, database_url
from bythebook.errors import InvalidSettings, StorageFailure
from bythebook.index.cache import EmbeddingCache
from bythebook.index.embedding import Embedder
from bythebook.index.ingest import Ingestion
from bythebook.index.records import Records
from bythebook.index.vectors import VectorIndex
from bythebook.retrieval.search import Search
from bythebook.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Everything that was opened, for as long as the context lasts."""

    settings: Settings
    database: Database
    records: Records
    index: VectorIndex
    embedder: Embedder

    @property
    def ingestion(self) -> Ingestion:
        return Ingestion(
            index=self.index,
            records=self.records,
            cache=EmbeddingCache(self.database),
            embedder=self.embedder,
            collection_name=self.settings.qdrant_collection_name,
            max_file_bytes=self.settings.max_file_bytes,
        )

    @property
    def search(self) -> Search:
        return Search(
            index=self.index,
            records=self.records,
            embedder=self.embedder,
            manifest=self.ingestion.manifest(),
            exact=self.settings.exact_search,
        )


@asynccontextmanager
async def open_resources(settings: Settings, *, rehearsal: bool = False) -> AsyncIterator[Resources]:
    """Open database, index and embedder; close them in any case. A rehearsal on a data folder that does not exist yet
    uses a temporary one, so that it leaves nothing behind."""
    async with AsyncExitStack() as stack:
        data_dir = settings.data_dir.expanduser()
        if rehearsal and not data_dir.exists():
            data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="bythebook-")))
        embedder = open_embedder(settings)
        stack.push_async_callback(embedder.close)
        _make_folder(data_dir)
        url = settings.database_url.get_secret_value() if settings.database_url else None
        database = await Database.open(database_url(url, data_dir))
        stack.push_async_callback(database.close)
        index = await _open_index(settings, data_dir)
        stack.push_async_callback(index.close)
        yield Resources(
            settings=settings, database=database, records=Records(database), index=index, embedder=embedder
        )


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
            key = settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else ""
            return OpenAIEmbedder(key, base_url=settings.embedder_url, model=settings.embedder_model)


async def _open_index(settings: Settings, data_dir: Path) -> VectorIndex:
    if settings.qdrant_url:
        from bythebook.index.qdrant_server import ServerIndex

        key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
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
    value = getattr(key, "get_secret_value", lambda: "")()
    if not value:
        raise InvalidSettings(f"{variable} is not set, and {user} needs it. Set it, or unset BYTHEBOOK_EMBEDDER.")
    return str(value)
