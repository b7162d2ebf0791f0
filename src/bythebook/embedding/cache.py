"""The embedding cache: vectors by embedder and text, so that unchanged text is never embedded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, select

from bythebook.books.model import sha256
from bythebook.database.engine import Database
from bythebook.database.statements import slices, upsert
from bythebook.database.tables import embeddings
from bythebook.embedding.embedder import Embedder, Vectors


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
