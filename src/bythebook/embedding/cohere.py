"""Cohere's embeddings, by `POST /v2/embed`, which distinguishes lessons from questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bythebook.embedding.http import RemoteEmbedder, sendable

BATCH_TEXTS = 96
# Models since v4 have several dimensions to choose from and are asked for this one; older ones refuse to be asked.
CHOOSES_DIMENSION = "embed-v4"
CHOSEN_DIMENSION = 1024


class CohereEmbedder(RemoteEmbedder):
    """An `Embedder` on Cohere's server, which cuts texts that are longer than the model's limit."""

    vendor = "cohere"
    url = "https://api.cohere.com"
    default_model = "embed-english-v3.0"
    key_variable = "COHERE_API_KEY"

    @staticmethod
    def batches(texts: Sequence[str]) -> Iterator[list[str]]:
        for start in range(0, len(texts), BATCH_TEXTS):
            yield [sendable(text) for text in texts[start : start + BATCH_TEXTS]]

    async def request(self, texts: Sequence[str], *, question: bool) -> Any:
        body: dict[str, Any] = {
            "model": self.model,
            "texts": list(texts),
            "input_type": "search_query" if question else "search_document",
            "embedding_types": ["float"],
            "truncate": "END",
        }
        if self.model.startswith(CHOOSES_DIMENSION):
            body["output_dimension"] = CHOSEN_DIMENSION
        answer = await self.server.post("v2/embed", body)
        try:
            return answer["embeddings"]["float"]
        except (KeyError, TypeError) as error:
            raise self.server.nonsense("no embeddings") from error
