"""Each embedder that can be configured, from its settings through to a search. Remote ones tell their dimension themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from bythebook.errors import Mismatch, Rejected
from bythebook.index.manifest import Manifest
from bythebook.retrieval.query import SearchQuery, SearchResponse
from bythebook.settings import read_settings
from bythebook.wiring.author import open_resources
from tests.support.fakes.embedding_servers import CohereServer, EmbeddingServer, OpenAIServer, running

KEY = "key-4815162342"


def configure(patch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in variables.items():
        patch.setenv(name, value)


async def ingested(data_dir: Path, book: Path) -> Mapping[str, Manifest]:
    async with open_resources(read_settings(data_dir=data_dir)) as resources:
        report = await resources.ingestion.run(book)
        assert report.total_chunks > 0
        return await resources.index.collections()


async def found(data_dir: Path) -> SearchResponse:
    """By another process, which has not spoken to the server yet."""
    async with open_resources(read_settings(data_dir=data_dir), embeds=True) as resources:
        return await resources.book_search.search(SearchQuery(text="How does a node publish?", book_id="small"))


def searched(data_dir: Path, book: Path) -> Manifest:
    async def story() -> Manifest:
        (manifest,) = (await ingested(data_dir, book)).values()
        assert (await found(data_dir)).results
        return manifest

    return asyncio.run(story())


def test_granite_needs_no_setting(folder: Path, book: Path) -> None:
    assert searched(folder / "data", book).dimension == 384


@pytest.mark.parametrize(("model", "dimension"), [("", 1536), ("text-embedding-3-large", 3072)])
def test_openai_with_any_of_its_models(
    monkeypatch: pytest.MonkeyPatch, folder: Path, book: Path, model: str, dimension: int
) -> None:
    with running(OpenAIServer(key=KEY, dimension=dimension, model=model)) as server:
        configure(
            monkeypatch,
            BYTHEBOOK_EMBEDDER="openai",
            OPENAI_API_KEY=KEY,
            BYTHEBOOK_EMBEDDER_MODEL=model,
            BYTHEBOOK_EMBEDDER_URL=f"{server.url}/v1",
        )
        assert searched(folder / "data", book).dimension == dimension


@pytest.mark.parametrize(("model", "dimension"), [("", 1024), ("embed-multilingual-light-v3.0", 384), ("embed-v4.0", 1024)])
def test_cohere_with_any_of_its_models(
    monkeypatch: pytest.MonkeyPatch, folder: Path, book: Path, model: str, dimension: int
) -> None:
    with running(CohereServer(key=KEY, dimension=dimension, model=model if "v3" in model else "")) as server:
        configure(
            monkeypatch,
            BYTHEBOOK_EMBEDDER="cohere",
            COHERE_API_KEY=KEY,
            COHERE_MODEL=model,
            BYTHEBOOK_EMBEDDER_URL=server.url,
        )
        assert searched(folder / "data", book).dimension == dimension


@pytest.mark.parametrize("dimension", [48, 768])
def test_a_compatible_server_of_any_dimension(monkeypatch: pytest.MonkeyPatch, folder: Path, book: Path, dimension: int) -> None:
    with running(OpenAIServer(key="", dimension=dimension, model="nomic-embed-text")) as server:
        compatible(monkeypatch, server)
        assert searched(folder / "data", book).dimension == dimension


def test_a_server_with_another_model_of_the_same_name_is_a_mismatch(
    monkeypatch: pytest.MonkeyPatch, folder: Path, book: Path
) -> None:
    with running(OpenAIServer(key="", dimension=48, model="nomic-embed-text")) as server:
        compatible(monkeypatch, server)
        asyncio.run(ingested(folder / "data", book))
        server.dimension = 64
        with pytest.raises(Mismatch, match=r"64 dimensions does not fit the index of 'small', which has 48\. .*--mode recreate"):
            asyncio.run(found(folder / "data"))


def test_a_book_is_shown_while_the_embedding_server_is_away(monkeypatch: pytest.MonkeyPatch, folder: Path, book: Path) -> None:
    async def chunks() -> int:
        async with open_resources(read_settings(data_dir=folder / "data")) as resources:
            return (await resources.search.book("small")).total_chunks

    with running(OpenAIServer(key="", dimension=48, model="nomic-embed-text")) as server:
        compatible(monkeypatch, server)
        asyncio.run(ingested(folder / "data", book))
    assert asyncio.run(chunks()) > 0


@pytest.mark.parametrize(
    ("key", "variable"),
    [({"BYTHEBOOK_EMBEDDER_API_KEY": "wrong"}, "BYTHEBOOK_EMBEDDER_API_KEY"), ({}, "BYTHEBOOK_EMBEDDER_API_KEY")],
)
def test_a_key_that_is_not_accepted_names_the_setting_that_is_read(
    monkeypatch: pytest.MonkeyPatch, folder: Path, book: Path, key: dict[str, str], variable: str
) -> None:
    with running(OpenAIServer(key=KEY, dimension=48, model="nomic-embed-text")) as server:
        compatible(monkeypatch, server)
        configure(monkeypatch, **key)
        with pytest.raises(Rejected, match=f"set {variable} to one it accepts"):
            asyncio.run(ingested(folder / "data", book))


def compatible(patch: pytest.MonkeyPatch, server: EmbeddingServer) -> None:
    configure(
        patch,
        BYTHEBOOK_EMBEDDER="compatible",
        BYTHEBOOK_EMBEDDER_URL=f"{server.url}/v1",
        BYTHEBOOK_EMBEDDER_MODEL=server.model,
    )
