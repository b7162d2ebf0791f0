"""What an embedder is. The embedded one, OpenAI's, Cohere's and any OpenAI-compatible server are all this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, L2-normalised float32 rows out."""

    @property
    def name(self) -> str:
        """Names the weights exactly; two embedders with one name give the same vectors. Part of the cache key and manifest."""

    async def dimension(self) -> int:
        """How many numbers a vector has. A remote server is asked once, where none of its answers has told it yet."""

    async def load(self) -> None:
        """Make ready what the first embedding needs. Failing is left to that."""

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        """Texts of a book, in any number: batching and order of work are the embedder's own affair."""

    async def embed_question(self, text: str) -> NDArray[np.float32]: ...

    async def close(self) -> None: ...
