"""OpenAI's embeddings, and those of any server that speaks its `POST /embeddings` (Ollama, vLLM, llama.cpp, …)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bythebook.embedding.http import RemoteEmbedder, sendable

BATCH_TEXTS = 256
# OpenAI's limits are 8,191 tokens a text and 300,000 a request. Its tokenizer never makes more tokens than there are bytes.
TEXT_BYTES_MAX = 8_191
BATCH_BYTES_MAX = 250_000


class OpenAIEmbedder(RemoteEmbedder):
    """An `Embedder` by OpenAI's `POST /embeddings`, on OpenAI's server or a compatible one."""

    vendor = "openai"
    url = "https://api.openai.com/v1"
    default_model = "text-embedding-3-small"
    key_variable = "OPENAI_API_KEY"

    @staticmethod
    def batches(texts: Sequence[str]) -> Iterator[list[str]]:
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

    async def request(self, texts: Sequence[str], *, question: bool) -> Any:
        """A question is embedded as a lesson is."""
        answer = await self.server.post("embeddings", {"model": self.model, "input": texts, "encoding_format": "float"})
        try:
            return [entry["embedding"] for entry in sorted(answer["data"], key=lambda entry: int(entry["index"]))]
        except (KeyError, TypeError, ValueError) as error:
            raise self.server.nonsense("no embeddings") from error


def cut(text: str) -> str:
    return sendable(text).encode()[:TEXT_BYTES_MAX].decode("utf-8", "ignore")
