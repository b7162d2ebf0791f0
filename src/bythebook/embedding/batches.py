"""Texts embedded batch by batch, each kept as soon as it comes: a kill costs no more than the batches in hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.cache import EmbeddingCache
from bythebook.embedding.embedder import Embedder
from bythebook.embedding.parallel import SpreadEmbedder

BATCH_TEXTS = 32
"""Embedded between two signs of life, by this process or by a server that is asked."""
SPREAD_BATCH_TEXTS = 8
"""Half a second of one core: so little that all workers end at about the same time, so much that sending it is nothing."""
BATCHES_PER_SLOT = 2
"""The next one lies with the worker when it has done one: it need not wait for this process."""

Embedded = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    embedder: Embedder
    cache: EmbeddingCache

    async def embed(self, texts: Mapping[str, str]) -> AsyncGenerator[Embedded]:
        """The vectors by the texts' keys, the longest texts first. What comes is in the cache before it is told, also where
        another batch has failed meanwhile."""
        keys = sorted(texts, key=lambda key: len(texts[key]), reverse=True)
        size, at_once = self._measures()
        waiting = iter([keys[start : start + size] for start in range(0, len(keys), size)])
        running: set[asyncio.Task[Embedded]] = set()
        try:
            while running := running | {self._begin(some, texts) for some in islice(waiting, at_once - len(running))}:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                embedded = {key: row for task in done if not _failed(task) for key, row in task.result().items()}
                await self.cache.put(embedded)
                for task in done:
                    task.result()  # raises what went wrong
                yield embedded
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _measures(self) -> tuple[int, int]:
        """Texts in a batch, and batches in hand at once."""
        if isinstance(self.embedder, SpreadEmbedder):
            return SPREAD_BATCH_TEXTS, BATCHES_PER_SLOT * self.embedder.slots
        return BATCH_TEXTS, 1

    def _begin(self, keys: Sequence[str], texts: Mapping[str, str]) -> asyncio.Task[Embedded]:
        return asyncio.create_task(self._embed(keys, [texts[key] for key in keys]))

    async def _embed(self, keys: Sequence[str], texts: Sequence[str]) -> Embedded:
        return dict(zip(keys, await self.embedder.embed_lessons(texts), strict=True))


def _failed(task: asyncio.Task[Embedded]) -> bool:
    return task.cancelled() or task.exception() is not None
