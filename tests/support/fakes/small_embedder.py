"""An embedder for tests that are not about embeddings: words hashed into a few dimensions, and a count of what it was asked."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Vectors


class SmallEmbedder:
    """An `Embedder`. Texts that share words are near each other. `before_batch` may raise, to fail half-way."""

    def __init__(
        self, name: str = "small@1", *, dimension: int = 32, before_batch: Callable[[Sequence[str]], None] | None = None
    ) -> None:
        self.name = name
        self._dimension = dimension
        self.embedded: list[str] = []
        self._before_batch = before_batch

    async def dimension(self) -> int:
        return self._dimension

    async def load(self) -> None:
        pass

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        if self._before_batch:
            self._before_batch(texts)
        self.embedded.extend(texts)
        return np.stack([self._vector(text) for text in texts])

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    async def close(self) -> None:
        pass

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self._dimension, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(f"{self.name} {word}".encode()) % self._dimension] += 1
        return vector / np.float32(np.linalg.norm(vector))
