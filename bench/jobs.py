"""What jobs cost: the machinery around an ingestion, a claim from a long queue, two Dask workers against one, and how long an
author waits for an edit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import insert

from bench.alone import opened
from bench.edits import pushed, watched
from bench.spreading import spread_over_dask
from bench.table import Table, verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.database.engine import Database, database_url
from bythebook.database.tables import jobs as job_rows
from bythebook.embedding.granite import GraniteEmbedder
from bythebook.ingestion.request import IngestionRequest
from bythebook.jobs.model import Folder, Order
from bythebook.jobs.store import Jobs, new_row

Row = tuple[str, ...]
OVERHEAD_TARGET = 0.03
CLAIM_TARGET_SECONDS = 0.010
QUEUED = 10_000
CLAIMS = 50
SECTIONS = 5


def jobs(workshop: Workshop) -> Table:
    rows = [asyncio.run(_overhead(workshop)), asyncio.run(_claiming(workshop))]
    rows += [spread_over_dask(workshop), pushed(workshop), watched(workshop)]
    return Table(
        title="Jobs",
        columns=("what", "measured", "target", ""),
        rows=tuple(rows),
        note="Overhead: processor time of the same ingestion with and without a job around it, in turns, calibration left out. "
        f"Claiming: SQLite, {QUEUED:,} queued jobs of as many books. Dask: one scheduler and two workers of one thread each, as "
        "processes on this machine; one worker and both in turn, nothing known before; medians. Edits: a real `serve` told of a "
        "push by the webhook and asked until it finds the new sentence; a real `ingest --watch`, until it says the lesson is "
        "in. Each edit comes as soon as the one before is found; the target holds the slowest.",
    )


async def _overhead(workshop: Workshop) -> Row:
    book = workshop.made(workshop.sizes.throughput_lessons // 2, SECTIONS)
    embedder = GraniteEmbedder()
    await embedder.load()
    ratios = []
    for number in range(workshop.sizes.throughput_pairs + 1):
        async with opened(workshop.empty_dir(f"jobs-plain-{number}"), embedder) as resources:
            plain = await _cpu_seconds(resources.publisher.run(book, IngestionRequest(calibrate=False)))
        async with opened(workshop.empty_dir(f"jobs-job-{number}"), embedder) as resources:
            job = await _cpu_seconds(resources.foreground_job.run(book, IngestionRequest(calibrate=False)))
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
    rows = [new_row(order, now) for order in orders]
    await database.run(lambda connection: connection.execute(insert(job_rows), rows))
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


async def _cpu_seconds(work: Awaitable[object]) -> float:
    started = time.process_time()
    await work
    return time.process_time() - started
