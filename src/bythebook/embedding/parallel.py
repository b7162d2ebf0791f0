"""Spreads work over an executor's workers, on this machine or on many: lessons are parsed and embedded in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Embedder, Vectors
from bythebook.errors import Unavailable

MakeEmbedder = Callable[[], Embedder]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """An executor. `slots` is how much it can do in parallel, `failures` what it raises when its workers are gone."""

    executor: Executor
    slots: int
    failures: tuple[type[Exception], ...] = (BrokenExecutor,)

    @contextmanager
    def minding(self) -> Iterator[None]:
        """Turns lost workers into Unavailable, so that callers that can wait do."""
        gone: tuple[type[Exception], ...] = (*self.failures, CancelledError)
        try:
            yield
        except gone as error:
            raise Unavailable(f"The workers that parse and embed lessons are gone ({error}). Start them again.") from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            raise Unavailable(
                "The workers that parse and embed lessons stopped before they were done. Start them again."
            ) from error


class SpreadEmbedder:
    """An `Embedder` whose lessons are embedded by workers. Questions are embedded by `near`, in this process, because a reader
    waits for them."""

    def __init__(self, near: Embedder, make: MakeEmbedder, spread: Spread) -> None:
        """`make` opens the same embedder in a worker; it travels there by name, so it is a function of a module."""
        self._near = near
        self._make = make
        self._spread = spread

    @property
    def name(self) -> str:
        return self._near.name

    async def dimension(self) -> int:
        return await self._near.dimension()

    async def load(self) -> None:
        await self._near.load()

    @property
    def slots(self) -> int:
        return self._spread.slots

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        """Embeds with one worker; a caller with many texts makes several calls at once."""
        loop = asyncio.get_running_loop()
        with self._spread.minding():
            return await loop.run_in_executor(self._spread.executor, embed_there, self._make, list(texts))

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        return await self._near.embed_question(text)

    async def close(self) -> None:
        await self._near.close()


def embed_there(make: MakeEmbedder, texts: Sequence[str]) -> Vectors:
    """Runs in a worker, which opens the embedder once."""
    return asyncio.run(_opened(make).embed_lessons(texts))


@cache
def _opened(make: MakeEmbedder) -> Embedder:
    return make()
