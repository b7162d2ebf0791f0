"""Cohere's embedder against a server as strict as Cohere's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bythebook.embedding.cohere import CohereEmbedder
from bythebook.embedding.embedder import Embedder
from bythebook.errors import Rejected, Unavailable
from bythebook.retry import Patience
from tests.support.fakes.embedding_servers import Answer, CohereServer, direction, json_answer, running

KEY = "co-test-4815162342"
DIMENSION = 16


@pytest.fixture
def cohere() -> Iterator[CohereServer]:
    with running(CohereServer(key=KEY, dimension=DIMENSION)) as server:
        yield server


def with_embedder(server: CohereServer, use: Callable[[CohereEmbedder], Awaitable[Any]], **changes: Any) -> Any:
    async def using() -> Any:
        patience = Patience(first_delay_seconds=0)
        settings: dict[str, Any] = {
            "api_key": KEY,
            "base_url": server.url,
            "patience": patience,
        } | changes
        embedder = CohereEmbedder(**settings)
        try:
            return await use(embedder)
        finally:
            await embedder.close()

    return asyncio.run(using())


def test_lessons_are_documents_in_batches_of_96(cohere: CohereServer) -> None:
    texts = [f"lesson {number}" for number in range(200)]
    vectors = with_embedder(cohere, lambda embedder: embedder.embed_lessons(texts))
    expected = np.array([direction(f"search_document {text}", DIMENSION) for text in texts]) / 3
    assert vectors.dtype == np.float32
    assert np.abs(vectors - expected).max() < 1e-6
    assert sorted(len(body["texts"]) for body in cohere.bodies) == [8, 96, 96]


def test_a_question_is_a_query(cohere: CohereServer) -> None:
    vector = with_embedder(cohere, lambda embedder: embedder.embed_question("What is a node?"))
    assert np.abs(vector - np.array(direction("search_query What is a node?", DIMENSION)) / 3).max() < 1e-6
    assert cohere.bodies[0]["input_type"] == "search_query"


def test_no_texts_and_empty_texts(cohere: CohereServer) -> None:
    assert len(with_embedder(cohere, lambda embedder: embedder.embed_lessons([]))) == 0
    assert cohere.bodies == []
    assert with_embedder(cohere, lambda embedder: embedder.embed_lessons(["", " ", "\udc00"])).shape == (3, DIMENSION)


def test_newer_models_are_asked_for_one_of_their_dimensions(cohere: CohereServer) -> None:
    vector = with_embedder(cohere, lambda embedder: embedder.embed_question("a text"), model="embed-v4.0")
    assert vector.shape == (1024,)
    assert cohere.bodies[0]["output_dimension"] == 1024


def test_older_models_tell_their_dimension(cohere: CohereServer) -> None:
    async def learn(embedder: CohereEmbedder) -> tuple[int, int]:
        return await embedder.dimension(), await embedder.dimension()

    assert with_embedder(cohere, learn) == (DIMENSION, DIMENSION)
    assert len(cohere.bodies) == 1


def test_a_rate_limit_and_a_cut_connection_lose_nothing(cohere: CohereServer) -> None:
    cohere.answers.append(json_answer(429, {"message": "You are using a Trial key"}, {"Retry-After": "0"}))
    cohere.answers.append(Answer(body=b'{"embeddings"', missing_bytes=90))
    assert with_embedder(cohere, lambda embedder: embedder.embed_lessons(["one", "two"])).shape == (2, DIMENSION)
    assert len(cohere.bodies) == 3


def test_a_wrong_key_names_the_variable(cohere: CohereServer) -> None:
    with pytest.raises(Rejected, match="does not accept the key it was sent; set COHERE_API_KEY") as caught:
        with_embedder(cohere, lambda embedder: embedder.embed_question("a text"), api_key="co-wrong")
    assert "co-wrong" not in str(caught.value)


def test_a_wrong_model(cohere: CohereServer) -> None:
    with pytest.raises(Rejected, match="model 'embed-x' not found"):
        with_embedder(cohere, lambda embedder: embedder.embed_question("a text"), model="embed-x")


@pytest.mark.parametrize(
    "body", [{}, {"embeddings": []}, {"embeddings": {"int8": [[1]]}}, {"embeddings": {"float": [[1.0], [1.0]]}}]
)
def test_nonsense_is_never_taken_for_embeddings(cohere: CohereServer, body: dict[str, Any]) -> None:
    cohere.answers.append(json_answer(200, body))
    with pytest.raises(Unavailable, match=r"^127\.0\.0\.1 answered with .*; check that its address"):
        with_embedder(cohere, lambda embedder: embedder.embed_question("a text"))


def test_it_is_an_embedder_named_after_its_model() -> None:
    embedder: Embedder = CohereEmbedder(KEY)
    assert embedder.name == "cohere:embed-english-v3.0"
    asyncio.run(embedder.close())
