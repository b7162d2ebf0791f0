"""Embeds texts batch by batch and caches each batch at once, so that a kill costs no more than the batches in flight."""

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
"""Texts embedded between two reports of progress, by this process or by a server."""
SPREAD_BATCH_TEXTS = 8
"""Half a second of one core: small enough for all workers to end at about the same time, large enough to make sending it
negligible."""
BATCHES_PER_SLOT = 2
"""Batches per worker: the next one is already there when one is done, so no worker waits for this process."""

Embedded = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    embedder: Embedder
    cache: EmbeddingCache

    async def embed(self, texts: Mapping[str, str]) -> AsyncGenerator[Embedded]:
        """Yields vectors by the texts' keys, the longest texts first. Each batch is in the cache before it is yielded, even if
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
        """Returns how many texts a batch has, and how many batches are in flight."""
        if isinstance(self.embedder, SpreadEmbedder):
            return SPREAD_BATCH_TEXTS, BATCHES_PER_SLOT * self.embedder.slots
        return BATCH_TEXTS, 1

    def _begin(self, keys: Sequence[str], texts: Mapping[str, str]) -> asyncio.Task[Embedded]:
        return asyncio.create_task(self._embed(keys, [texts[key] for key in keys]))

    async def _embed(self, keys: Sequence[str], texts: Sequence[str]) -> Embedded:
        return dict(zip(keys, await self.embedder.embed_lessons(texts), strict=True))


def _failed(task: asyncio.Task[Embedded]) -> bool:
    return task.cancelled() or task.exception() is not None
