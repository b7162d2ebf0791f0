"""OpenAI's embedder against a server as strict as OpenAI's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.embedding.embedder import Embedder
from bythebook.embedding.openai import BATCH_BYTES_MAX, BATCH_TEXTS, TEXT_BYTES_MAX, OpenAIEmbedder
from bythebook.errors import Rejected, Unavailable
from tests.support.fakes.embedding_servers import Answer, OpenAIServer, direction, json_answer, running

KEY = "sk-test-4815162342"
DIMENSION = 16


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with running(OpenAIServer(key=KEY, dimension=DIMENSION)) as server:
        yield server


def with_embedder(server: OpenAIServer, use: Callable[[OpenAIEmbedder], Awaitable[Any]], **changes: Any) -> Any:
    async def using() -> Any:
        settings: dict[str, Any] = {"api_key": KEY, "base_url": f"{server.url}/v1"} | changes
        embedder = OpenAIEmbedder(**settings)
        try:
            return await use(embedder)
        finally:
            await embedder.close()

    return asyncio.run(using())


def expected(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([direction(text, DIMENSION) for text in texts]) / 3


def test_texts_come_back_in_order_and_normalised(openai: OpenAIServer) -> None:
    texts = [f"lesson {number}" for number in range(600)]
    vectors = with_embedder(openai, lambda embedder: embedder.embed_lessons(texts))
    assert vectors.dtype == np.float32
    assert np.abs(vectors - expected(texts)).max() < 1e-6
    assert sorted(len(body["input"]) for body in openai.bodies) == [88, 256, 256]


def test_a_question_is_one_text(openai: OpenAIServer) -> None:
    vector = with_embedder(openai, lambda embedder: embedder.embed_question("What is a node?"))
    assert vector.shape == (DIMENSION,)
    assert np.abs(vector - expected(["What is a node?"])[0]).max() < 1e-6
    assert openai.bodies == [{"model": "text-embedding-3-small", "input": ["What is a node?"], "encoding_format": "float"}]


def test_no_texts_ask_nothing(openai: OpenAIServer) -> None:
    assert len(with_embedder(openai, lambda embedder: embedder.embed_lessons([]))) == 0
    assert openai.bodies == []


def test_texts_the_server_would_refuse_are_made_acceptable(openai: OpenAIServer) -> None:
    texts = ["", " \n", "half a pair \ud83e", "é" * 10_000, *["x" * 9_000] * 40]
    vectors = with_embedder(openai, lambda embedder: embedder.embed_lessons(texts), requests_at_once=1)
    assert len(vectors) == len(texts)
    assert openai.bodies[0]["input"][:4] == ["-", "-", "half a pair ?", "é" * 4_095]
    assert len(openai.bodies) == 2


def test_a_rate_limit_in_the_middle_loses_nothing(openai: OpenAIServer) -> None:
    openai.answers.append(Answer(status=429, headers={"Retry-After": "0"}))
    texts = [f"lesson {number}" for number in range(300)]
    vectors = with_embedder(openai, lambda embedder: embedder.embed_lessons(texts))
    assert np.abs(vectors - expected(texts)).max() < 1e-6


def test_a_compatible_server_without_key_tells_its_dimension() -> None:
    with running(OpenAIServer(key="", dimension=DIMENSION)) as server:

        async def learn(embedder: OpenAIEmbedder) -> Any:
            assert await embedder.dimension() == DIMENSION
            return len(await embedder.embed_lessons(["a text"])), await embedder.dimension()

        assert with_embedder(server, learn, api_key="") == (1, DIMENSION)
        assert [body["input"] for body in server.bodies] == [["dimension"], ["a text"]]  # asked once


def test_any_answer_tells_the_dimension(openai: OpenAIServer) -> None:
    async def learn(embedder: OpenAIEmbedder) -> int:
        await embedder.embed_question("a text")
        return await embedder.dimension()

    assert with_embedder(openai, learn) == DIMENSION
    assert len(openai.bodies) == 1


def test_a_server_that_changes_its_model_meanwhile(openai: OpenAIServer) -> None:
    async def ask(embedder: OpenAIEmbedder) -> None:
        await embedder.embed_question("a text")
        openai.dimension = 24
        await embedder.embed_question("a text")

    with pytest.raises(Rejected, match=r"^The model at 127\.0\.0\.1 answered with 16 dimensions before, and with 24 now"):
        with_embedder(openai, ask)


def test_a_wrong_model_or_address_is_refused_in_the_servers_words(openai: OpenAIServer) -> None:
    with pytest.raises(Rejected, match=r"status 404 \(The model `text-embedding-9` does not exist"):
        with_embedder(openai, lambda embedder: embedder.embed_question("a text"), model="text-embedding-9")
    with pytest.raises(Rejected, match=r"status 404 \(Invalid URL \(POST /embeddings\)\)"):
        with_embedder(openai, lambda embedder: embedder.embed_question("a text"), base_url=openai.url)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": None},
        {"data": [{"index": 0}]},
        {"data": ["text"]},
        {"data": []},
        {"data": [{"index": 0, "embedding": [0.0] * DIMENSION}]},
        {"data": [{"index": 0, "embedding": [None] * DIMENSION}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": 1.5}]},
        {"data": [{"index": number, "embedding": [1.0] * DIMENSION} for number in range(2)]},
    ],
)
def test_nonsense_is_never_taken_for_embeddings(openai: OpenAIServer, body: dict[str, Any]) -> None:
    openai.answers.append(json_answer(200, body))
    with pytest.raises(Unavailable, match=r"^127\.0\.0\.1 answered with .*; check that its address"):
        with_embedder(openai, lambda embedder: embedder.embed_question("a text"))


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://api.openai.com/v1", "openai:text-embedding-3-small"),
        ("http://user:secret@gpu.school.example:8000/v1", "gpu.school.example:text-embedding-3-small"),
    ],
)
def test_it_is_an_embedder_named_after_host_and_model(base_url: str, name: str) -> None:
    embedder: Embedder = OpenAIEmbedder(KEY, base_url=base_url)
    assert embedder.name == name
    asyncio.run(embedder.close())


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(min_value=0, max_value=5_000)), max_size=300))
def test_batches_keep_order_and_limits(parts: list[tuple[str, int]]) -> None:
    texts = [text * times for text, times in parts]
    made = list(OpenAIEmbedder.batches(texts))
    sent = [text for batch in made for text in batch]
    assert len(sent) == len(texts)
    assert all(text.startswith(cut) for text, cut in zip(texts, sent, strict=True) if text.strip())
    for batch in made:
        sizes = [len(text.encode()) for text in batch]
        assert 1 <= len(batch) <= BATCH_TEXTS
        assert sum(sizes) <= BATCH_BYTES_MAX
        assert 1 <= min(sizes) <= max(sizes) <= TEXT_BYTES_MAX
