"""The protocol of an embedder: the embedded one, OpenAI's, Cohere's and any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into L2-normalised float32 rows."""

    @property
    def name(self) -> str:
        """Names the weights exactly; two embedders with one name give the same vectors. Part of the cache key and manifest."""

    async def dimension(self) -> int:
        """How many numbers a vector has. A remote server is asked once, where none of its answers has told it yet."""

    async def load(self) -> None:
        """Prepares what the first embedding needs. What cannot be prepared fails at the first embedding."""

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        """Embeds texts of a book, in any number; the embedder decides about batches and order."""

    async def embed_question(self, text: str) -> NDArray[np.float32]: ...

    async def close(self) -> None: ...
