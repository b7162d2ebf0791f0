"""Batches of texts: how many are in hand at once, and what is kept when one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from bythebook.embedding.batches import BATCH_TEXTS, BATCHES_PER_SLOT, SPREAD_BATCH_TEXTS, Batches, EmbeddingCache
from bythebook.embedding.parallel import Spread, SpreadEmbedder
from bythebook.errors import Unavailable
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import open_library

TEXTS = {f"key {number}": f"text {number} " + "word " * number for number in range(100)}


def make_small() -> SmallEmbedder:
    return SmallEmbedder()


class Patient(Executor):
    """Does nothing until it is told to, and keeps what it was given."""

    def __init__(self, *, enough: int) -> None:
        self.given: list[Future[Any]] = []
        self.has_enough = asyncio.Event()
        self._enough = enough
        self._works: list[Callable[[], Any]] = []

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        self.given.append(Future())
        self._works.append(lambda: work(*given, **named))
        if len(self.given) == self._enough:
            self.has_enough.set()
        return self.given[-1]

    async def done(self, number: int) -> Any:
        return await asyncio.to_thread(self._works[number])


def test_two_batches_lie_with_every_worker_and_the_next_is_sent_when_one_is_done(folder: Path) -> None:
    async def story() -> None:
        slots = 3
        executor = Patient(enough=BATCHES_PER_SLOT * slots)
        embedder = SpreadEmbedder(SmallEmbedder(), make_small, Spread(executor=executor, slots=slots))
        async with open_library(folder / "data") as library:
            embedding = Batches(embedder=embedder, cache=EmbeddingCache(library.database)).embed(TEXTS)
            first = asyncio.ensure_future(anext(embedding))
            await executor.has_enough.wait()
            executor.given[4].set_result(await executor.done(4))
            assert len(await first) == SPREAD_BATCH_TEXTS
            assert len(executor.given) == BATCHES_PER_SLOT * slots
            executor.given[0].set_result(await executor.done(0))
            assert len(await anext(embedding)) == SPREAD_BATCH_TEXTS
            assert len(executor.given) == BATCHES_PER_SLOT * slots + 1
            await embedding.aclose()

    asyncio.run(story())


def test_what_was_embedded_is_kept_when_another_batch_fails(folder: Path) -> None:
    async def story() -> None:
        executor = Patient(enough=BATCHES_PER_SLOT)
        embedder = SpreadEmbedder(SmallEmbedder(), make_small, Spread(executor=executor, slots=1))
        async with open_library(folder / "data") as library:
            cache = EmbeddingCache(library.database)
            embedding = Batches(embedder=embedder, cache=cache).embed(TEXTS)
            first = asyncio.ensure_future(anext(embedding))
            await executor.has_enough.wait()
            vectors = await executor.done(1)
            executor.given[0].set_exception(Unavailable("gone"))
            executor.given[1].set_result(vectors)
            with pytest.raises(Unavailable):
                await first
            assert len(await cache.get(list(TEXTS))) == SPREAD_BATCH_TEXTS

    asyncio.run(story())


def test_one_that_embeds_here_is_asked_for_a_batch_at_a_time_the_longest_texts_first(folder: Path) -> None:
    async def story() -> None:
        embedder = SmallEmbedder()
        async with open_library(folder / "data") as library:
            batches = Batches(embedder=embedder, cache=EmbeddingCache(library.database)).embed(TEXTS)
            sizes = [len(some) async for some in batches]
        assert sizes == [BATCH_TEXTS] * 3 + [100 - 3 * BATCH_TEXTS]
        assert embedder.embedded == sorted(TEXTS.values(), key=len, reverse=True)

    asyncio.run(story())
