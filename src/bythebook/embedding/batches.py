"""Embeds texts batch by batch. Each batch is cached at once, so that a kill costs no more than the batches in flight; the cache
keeps vectors by embedder and text, so that unchanged text is never embedded again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, select

from bythebook.books.model import sha256
from bythebook.database.engine import Database, slices, upsert
from bythebook.database.tables import embeddings
from bythebook.embedding.embedder import Embedder, Vectors
from bythebook.embedding.parallel import SpreadEmbedder

BATCH_TEXTS = 32
"""Texts embedded between two reports of progress, by this process or by a server."""
SPREAD_BATCH_TEXTS = 8
"""Half a second of one core: small enough for all workers to end at about the same time, large enough to make sending it
negligible."""
BATCHES_PER_SLOT = 2
"""Batches per worker: the next one is already there when one is done, so no worker waits for this process."""

Embedded = dict[str, NDArray[np.float32]]


def cache_key(embedder: str, text: str) -> str:
    return sha256(f"{embedder}\0{text}")


class EmbeddingCache:
    """Vectors by the hash of embedder and text. What was embedded once is never embedded again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        def read(connection: Connection) -> dict[str, NDArray[np.float32]]:
            statements = [select(embeddings).where(embeddings.c.key.in_(some)) for some in slices(keys)]
            rows = [row for statement in statements for row in connection.execute(statement)]
            return {row.key: np.frombuffer(row.vector, dtype=np.float32) for row in rows}

        return await self._database.run(read)

    async def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        rows = [{"key": key, "vector": vector.astype(np.float32).tobytes()} for key, vector in vectors.items()]
        await self._database.run(lambda connection: upsert(connection, embeddings, rows, keys=("key",)))

    async def forget(self, keys: Sequence[str]) -> None:
        def remove(connection: Connection) -> None:
            for some in slices(keys):
                connection.execute(delete(embeddings).where(embeddings.c.key.in_(some)))

        await self._database.run(remove)


class CachedEmbedder:
    """An embedder that never embeds the same text twice, not even in another process: for texts that recur."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._cache = cache

    @property
    def name(self) -> str:
        return self._embedder.name

    async def dimension(self) -> int:
        return await self._embedder.dimension()

    async def load(self) -> None:
        await self._embedder.load()

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        keys = {text: cache_key(self.name, text) for text in texts}
        known = await self._cache.get(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in known]
        if missing:
            new = dict(zip((keys[text] for text in missing), await self._embedder.embed_lessons(missing), strict=True))
            await self._cache.put(new)
            known |= new
        return np.array([known[keys[text]] for text in texts], dtype=np.float32)

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        key = cache_key(f"{self.name}, question", text)
        known = await self._cache.get([key])
        if key not in known:
            known = {key: await self._embedder.embed_question(text)}
            await self._cache.put(known)
        return known[key]

    async def close(self) -> None:
        """Does nothing: the embedder belongs to somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Embeds many texts for an ingestion, batch by batch, and caches each batch."""

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
