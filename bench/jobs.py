"""What jobs cost: the machinery around an ingestion, a claim from a long queue, and two Dask workers against one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import insert

from bench.alone import opened
from bench.table import Table, verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.database.engine import Database, database_url
from bythebook.database.tables import jobs as job_rows
from bythebook.index.cache import EmbeddingCache
from bythebook.index.dask import open_cluster
from bythebook.index.granite import GraniteEmbedder, open_lone_granite
from bythebook.index.ingest import Ingestion
from bythebook.index.spreading import Spread, SpreadEmbedder
from bythebook.jobs.model import Folder, Order
from bythebook.jobs.rows import new_row
from bythebook.jobs.store import Jobs
from bythebook.wiring import Resources

Row = tuple[str, ...]
OVERHEAD_TARGET = 0.03
CLAIM_TARGET_SECONDS = 0.010
SPREAD_TARGET = 1.7
QUEUED = 10_000
CLAIMS = 50
SECTIONS = 5


def jobs(workshop: Workshop) -> Table:
    return asyncio.run(_jobs(workshop))


async def _jobs(workshop: Workshop) -> Table:
    rows = [await _overhead(workshop), await _claiming(workshop), await _spreading(workshop)]
    return Table(
        title="Jobs",
        columns=("what", "measured", "target", ""),
        rows=tuple(rows),
        note="Overhead: processor time of the same ingestion with and without a job around it, in turns, calibration left out. "
        f"Claiming: SQLite, {QUEUED:,} queued jobs of as many books. Dask: worker processes of one thread each on this machine.",
    )


async def _overhead(workshop: Workshop) -> Row:
    book = workshop.made(workshop.sizes.throughput_lessons, SECTIONS)
    embedder = GraniteEmbedder()
    await embedder.load()
    ratios = []
    for number in range(workshop.sizes.throughput_pairs + 1):
        async with opened(workshop.empty_dir(f"jobs-plain-{number}"), embedder) as resources:
            plain = await _cpu_seconds(resources.publishing.run(book, calibrate=False))
        async with opened(workshop.empty_dir(f"jobs-job-{number}"), embedder) as resources:
            job = await _cpu_seconds(resources.attended.run(book, calibrate=False))
        ratios.append(job / plain - 1)
    await embedder.close()
    overhead = median(ratios[1:])  # the first pair warms everything up
    return ("a job around an ingestion", f"{overhead:+.1%}", f"<= {OVERHEAD_TARGET:.0%}", verdict(overhead <= OVERHEAD_TARGET))


async def _claiming(workshop: Workshop) -> Row:
    folder = workshop.empty_dir("jobs-queue")
    folder.mkdir(parents=True)
    database = await Database.open(database_url(None, folder))
    now = datetime.now(UTC)
    orders = [Order(book_id=f"book-{number}", source=Folder(path=Path("/book"))) for number in range(QUEUED)]
    async with database.transaction() as connection:
        await connection.execute(insert(job_rows), [new_row(order, now) for order in orders])
    took = []
    for number in range(CLAIMS):
        started = time.perf_counter()
        if await Jobs(database).claim(f"bench:1:{number}", "bench") is None:
            raise AssertionError("nothing to claim")
        took.append(time.perf_counter() - started)
    await database.close()
    middle = median(took)
    return (
        f"claiming one of {QUEUED:,} queued jobs",
        f"{middle * 1000:.1f} ms",
        "< 10 ms",
        verdict(middle < CLAIM_TARGET_SECONDS),
    )


async def _spreading(workshop: Workshop) -> Row:
    book = workshop.made(workshop.sizes.throughput_lessons, SECTIONS)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for number in range(workshop.sizes.throughput_pairs):
        for workers in (1, 2):
            folder = workshop.empty_dir(f"jobs-dask-{workers}-{number}")
            async with _cluster(workers) as spread, opened(folder) as resources:
                seconds[workers].append(await _spread_seconds(resources, book, spread))
    ratio = median([one / two for one, two in zip(seconds[1], seconds[2], strict=True)])
    measured = f"{ratio:.2f} times as fast"
    return ("two Dask workers against one", measured, f">= {SPREAD_TARGET}", verdict(ratio >= SPREAD_TARGET))


@asynccontextmanager
async def _cluster(workers: int) -> AsyncIterator[Spread]:
    from distributed import LocalCluster

    cluster = await LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, asynchronous=True
    )
    async with cluster, open_cluster(cluster.scheduler_address) as spread:
        await SpreadEmbedder(GraniteEmbedder(), open_lone_granite, spread).embed_lessons(["warm"] * spread.lanes)
        yield spread


async def _spread_seconds(resources: Resources, book: Path, spread: Spread) -> float:
    ingestion = Ingestion(
        index=resources.index,
        records=resources.records,
        cache=EmbeddingCache(resources.database),
        embedder=SpreadEmbedder(resources.embedder, open_lone_granite, spread),
        collection_name="textbook_chunks",
        spread=spread,
    )
    started = time.perf_counter()
    async for _ in ingestion.run(book):
        pass
    return time.perf_counter() - started


async def _cpu_seconds(events: AsyncIterator[object]) -> float:
    started = time.process_time()
    async for _ in events:
        pass
    return time.process_time() - started
