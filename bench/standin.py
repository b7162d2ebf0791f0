"""An embedder that costs next to nothing, for what is measured around the embedder. It bears granite's name, so that the
product takes its index for a real one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Vectors
from bythebook.embedding.granite import DIMENSION, GraniteEmbedder


class StandIn:
    """An `Embedder`: a random direction for each text, always the same. `really` texts go to granite first, so that its
    weights and working memory are there as they would be."""

    name = GraniteEmbedder.name

    def __init__(self, *, really: int = 0) -> None:
        self._granite = GraniteEmbedder()
        self._really = really
        self.embedded = 0

    async def dimension(self) -> int:
        return DIMENSION

    async def load(self) -> None:
        pass

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        if self._really > 0:
            self._really -= len(texts)
            return await self._granite.embed_lessons(texts)
        return np.stack([direction(text) for text in texts]) if texts else np.empty((0, DIMENSION), np.float32)

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        return direction(text)

    async def close(self) -> None:
        await self._granite.close()


def direction(text: str) -> NDArray[np.float32]:
    random = np.random.default_rng(zlib.crc32(text.encode("utf-8", "surrogatepass")))
    return unit(random.standard_normal(DIMENSION, dtype=np.float32))


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length: np.float32 = np.linalg.norm(vector)
    return vector / length
