"""Lessons parsed and embedded by others: the index is the same, and workers that go away are waited for like a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bythebook.embedding.batches import EmbeddingCache
from bythebook.embedding.dask import open_cluster
from bythebook.embedding.parallel import Spread, SpreadEmbedder
from bythebook.errors import Unavailable
from bythebook.ingestion.ingest import Ingestion
from bythebook.ingestion.progress import IngestReport
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import Library, open_library


def make_small() -> SmallEmbedder:
    return SmallEmbedder()


async def ingest(library: Library, root: Path, spread: Spread) -> IngestReport:
    ingestion = Ingestion(
        index=library.index,
        records=library.records,
        cache=EmbeddingCache(library.database),
        embedder=SpreadEmbedder(library.embedder, make_small, spread),
        collection_name="textbook_chunks",
        spread=spread,
    )
    return await ingestion.run(root)


@asynccontextmanager
async def threads() -> AsyncIterator[Spread]:
    with ThreadPoolExecutor(3) as executor:
        yield Spread(executor=executor, slots=3)


@asynccontextmanager
async def dask() -> AsyncIterator[Spread]:
    """A real scheduler and worker that speak over the loopback."""
    from distributed import LocalCluster

    cluster = await LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1", dashboard_address=None,
        asynchronous=True,
    )  # fmt: skip
    async with cluster, open_cluster(cluster.scheduler_address) as spread:
        assert spread.slots == 2
        yield spread


@pytest.mark.parametrize("spreading", [threads, dask])
def test_the_index_is_what_it_would_be(folder: Path, book: Path, spreading: Callable[[], Any]) -> None:
    async def story() -> None:
        async with spreading() as spread, open_library(folder / "spread") as library, open_library(folder / "plain") as plain:
            report = await ingest(library, book, spread)
            assert report == await _as(report, plain.ingest(book))
            assert await library.snapshot() == await plain.snapshot()
            assert await library.problems() == ()

    asyncio.run(story())


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_text_gets_its_own_vector(count: int) -> None:
    async def story() -> None:
        async with threads() as spread:
            texts = [f"text number {number} of {count}" for number in range(count)]
            near = SmallEmbedder()
            embedder = SpreadEmbedder(near, make_small, spread)
            assert np.array_equal(await embedder.embed_lessons(texts), await SmallEmbedder().embed_lessons(texts))
            assert near.embedded == []
            assert np.array_equal(await embedder.embed_question("one"), await near.embed_question("one"))

    asyncio.run(story())


class Gone(Executor):
    """Its workers have died, or its scheduler has dropped the work."""

    def __init__(self, *, dropped: bool) -> None:
        self._dropped = dropped

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self._dropped:
            future.cancel()
        else:
            future.set_exception(BrokenExecutor("a worker died"))
        return future


@pytest.mark.parametrize("dropped", [True, False])
def test_workers_that_are_gone_are_a_server_that_is_away(folder: Path, book: Path, dropped: bool) -> None:
    async def story() -> None:
        spread = Spread(executor=Gone(dropped=dropped), slots=2)
        with pytest.raises(Unavailable, match="Start them again"):
            await SpreadEmbedder(SmallEmbedder(), make_small, spread).embed_lessons(["one", "two"])
        async with open_library(folder / "data") as library:
            with pytest.raises(Unavailable, match="Start them again"):
                await ingest(library, book, spread)

    asyncio.run(story())


async def _as(report: IngestReport, other: Awaitable[IngestReport]) -> IngestReport:
    """The other's report with this one's times."""
    return replace(await other, started_at=report.started_at, completed_at=report.completed_at)
