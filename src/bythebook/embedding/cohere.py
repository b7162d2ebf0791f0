"""Cohere's embeddings, by `POST /v2/embed`, which distinguishes lessons from questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Vectors
from bythebook.embedding.http import REQUESTS_AT_ONCE, EmbeddingServer, in_order, join, sendable
from bythebook.retry import Patience

COHERE_URL = "https://api.cohere.com"
COHERE_HOST = "api.cohere.com"
MODEL = "embed-english-v3.0"
BATCH_TEXTS = 96
# Models since v4 have several dimensions to choose from and are asked for this one; older ones refuse to be asked.
CHOOSES_DIMENSION = "embed-v4"
CHOSEN_DIMENSION = 1024


class CohereEmbedder:
    """An `Embedder`. Its dimension is the one of the server's first answer; the server cuts texts past the model's limit."""

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = COHERE_URL,
        model: str = MODEL,
        key_variable: str = "COHERE_API_KEY",
        requests_at_once: int = REQUESTS_AT_ONCE,
        patience: Patience | None = None,
    ) -> None:
        self._server = EmbeddingServer(base_url, key=api_key, key_variable=key_variable, patience=patience)
        self._model = model
        self._dimension: int | None = None
        self._requests_at_once = requests_at_once

    @property
    def name(self) -> str:
        return f"{'cohere' if self._server.host == COHERE_HOST else self._server.host}:{self._model}"

    async def dimension(self) -> int:
        if self._dimension is None:
            await self._embed(["dimension"], "search_document")
        assert self._dimension is not None
        return self._dimension

    async def load(self) -> None:
        """Nothing is opened ahead: the model runs at Cohere."""

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        batches = [texts[start : start + BATCH_TEXTS] for start in range(0, len(texts), BATCH_TEXTS)]
        parts = await in_order(self._embed_documents, batches, at_once=self._requests_at_once)
        return join(parts, self._dimension)

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = (await self._embed([text], "search_query"))[0]
        return vector

    async def close(self) -> None:
        await self._server.close()

    async def _embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts, "search_document")

    async def _embed(self, texts: Sequence[str], input_type: Literal["search_document", "search_query"]) -> Vectors:
        body: dict[str, Any] = {
            "model": self._model,
            "texts": [sendable(text) for text in texts],
            "input_type": input_type,
            "embedding_types": ["float"],
            "truncate": "END",
        }
        if self._model.startswith(CHOOSES_DIMENSION):
            body["output_dimension"] = CHOSEN_DIMENSION
        answer = await self._server.post("v2/embed", body)
        try:
            rows = answer["embeddings"]["float"]
        except (KeyError, TypeError) as error:
            raise self._server.nonsense("no embeddings") from error
        vectors = self._server.unit_rows(rows, count=len(texts), dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return vectors
