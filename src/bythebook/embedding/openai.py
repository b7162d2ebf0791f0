"""OpenAI's embeddings, and those of any server that speaks its `POST /embeddings` (Ollama, vLLM, llama.cpp, …)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Vectors
from bythebook.embedding.http import REQUESTS_AT_ONCE, EmbeddingServer, in_order, join, sendable
from bythebook.retry import Patience

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
MODEL = "text-embedding-3-small"
BATCH_TEXTS = 256
# OpenAI's limits are 8,191 tokens a text and 300,000 a request. Its tokenizer never makes more tokens than there are bytes.
TEXT_BYTES_MAX = 8_191
BATCH_BYTES_MAX = 250_000


class OpenAIEmbedder:
    """An `Embedder`. Its dimension is the one of the server's first answer."""

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = OPENAI_URL,
        model: str = MODEL,
        key_variable: str = "OPENAI_API_KEY",
        requests_at_once: int = REQUESTS_AT_ONCE,
        patience: Patience | None = None,
    ) -> None:
        self._server = EmbeddingServer(base_url, key=api_key, key_variable=key_variable, patience=patience)
        self._model = model
        self._dimension: int | None = None
        self._requests_at_once = requests_at_once

    @property
    def name(self) -> str:
        return f"{'openai' if self._server.host == OPENAI_HOST else self._server.host}:{self._model}"

    async def dimension(self) -> int:
        if self._dimension is None:
            await self._embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    async def load(self) -> None:
        """Nothing is opened ahead: the server has its model loaded, or loads it at the first question."""

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        parts = await in_order(self._embed, list(batches(texts)), at_once=self._requests_at_once)
        return join(parts, self._dimension)

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = (await self._embed([cut(text)]))[0]
        return vector

    async def close(self) -> None:
        await self._server.close()

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        answer = await self._server.post("embeddings", body)
        try:
            rows = [entry["embedding"] for entry in sorted(answer["data"], key=lambda entry: int(entry["index"]))]
        except (KeyError, TypeError, ValueError) as error:
            raise self._server.nonsense("no embeddings") from error
        vectors = self._server.unit_rows(rows, count=len(texts), dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return vectors


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yields the texts in order, as many at a time as a request may have."""
    batch: list[str] = []
    size = 0
    for text in map(cut, texts):
        length = len(text.encode())
        if batch and (len(batch) == BATCH_TEXTS or size + length > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def cut(text: str) -> str:
    return sendable(text).encode()[:TEXT_BYTES_MAX].decode("utf-8", "ignore")
