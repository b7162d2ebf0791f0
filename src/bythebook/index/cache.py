"""Embeddings kept by what was embedded and by whom, so that unchanged text is never embedded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from bythebook.books.model import sha256
from bythebook.database.engine import Database
from bythebook.database.statements import slices, upsert
from bythebook.database.tables import embeddings


def cache_key(embedder: str, text: str) -> str:
    return sha256(f"{embedder}\0{text}")


class EmbeddingCache:
    """Vectors by the hash of embedder and text. What was embedded once is never embedded again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        async with self._database.transaction() as connection:
            for some in slices(keys):
                rows = await connection.execute(select(embeddings).where(embeddings.c.key.in_(some)))
                found.update({row.key: np.frombuffer(row.vector, dtype=np.float32) for row in rows})
        return found

    async def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        rows = [{"key": key, "vector": vector.astype(np.float32).tobytes()} for key, vector in vectors.items()]
        async with self._database.transaction() as connection:
            await upsert(connection, embeddings, rows, keys=("key",))
