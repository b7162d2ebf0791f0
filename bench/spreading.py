"""Two Dask workers against one: the same book brought in by both in turn, with the scheduler and workers that a person starts."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.alone import opened
from bench.table import verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.embedding.batches import EmbeddingCache
from bythebook.embedding.granite import GraniteEmbedder, open_lone_granite
from bythebook.embedding.parallel import Spread, SpreadEmbedder, embed_there
from bythebook.ingestion.ingest import Ingestion

SPREAD_TARGET = 1.7
SECTIONS = 5
START_SECONDS = 60

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """`workers`: processor time of each; `here`: of the process that plans, keeps and stores."""

    seconds: float
    here: float
    workers: tuple[float, ...]


def spread_over_dask(workshop: Workshop) -> Row:
    book = workshop.made(workshop.sizes.throughput_lessons, SECTIONS)
    folder = workshop.empty_dir("jobs-dask")
    folder.mkdir(parents=True)
    ones, twos = [], []
    with _cluster(folder) as client:
        addresses = sorted(client.scheduler_info()["workers"])
        _open_models(client, addresses)
        for number in range(workshop.sizes.throughput_pairs):
            ones.append(asyncio.run(_spent(client, addresses[:1], book, folder / f"one-{number}")))
            twos.append(asyncio.run(_spent(client, addresses, book, folder / f"two-{number}")))
    ratio = median([one.seconds / two.seconds for one, two in zip(ones, twos, strict=True)])
    measured = f"{ratio:.2f} times as fast ({_told(ones)}; {_told(twos)})"
    return "two Dask workers against one", measured, f">= {SPREAD_TARGET}", verdict(ratio >= SPREAD_TARGET)


@contextmanager
def _cluster(folder: Path) -> Iterator[Any]:
    """A scheduler and two workers of one thread each, in processes of their own, and a client of them."""
    from distributed import Client

    file = folder / "scheduler.json"
    program = [str(Path(sys.executable).with_name("dask"))]
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen([*program, "scheduler", "--port", "0", *here], stderr=subprocess.DEVNULL)
    try:
        address = _address(file)
        workers = subprocess.Popen([*program, "worker", *here, "--nworkers", "2", "--nthreads", "1"], stderr=subprocess.DEVNULL)
        try:
            with Client(address, set_as_default=False, timeout=START_SECONDS) as client:  # type: ignore[no-untyped-call]
                client.wait_for_workers(2, timeout=START_SECONDS)
                yield client
        finally:
            workers.terminate()
            workers.wait()
    finally:
        scheduler.terminate()
        scheduler.wait()


def _open_models(client: Any, addresses: list[str]) -> None:
    """Each worker opens its own once, before anything is measured."""
    texts = ["opens the model"]
    client.gather([client.submit(embed_there, open_lone_granite, texts, workers=[one], pure=False) for one in addresses])


def _address(file: Path) -> str:
    """The scheduler says where it is as soon as it is there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            return str(json.loads(file.read_text("utf-8"))["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise AssertionError("the Dask scheduler does not start")


async def _spent(client: Any, addresses: list[str], book: Path, data_dir: Path) -> Spent:
    """An ingestion by these workers and no others; nothing of it is known before."""
    spread = Spread(executor=client.get_executor(pure=False, workers=addresses), slots=len(addresses))
    async with opened(data_dir) as resources:
        ingestion = Ingestion(
            index=resources.index,
            records=resources.records,
            cache=EmbeddingCache(resources.database),
            embedder=SpreadEmbedder(GraniteEmbedder(), open_lone_granite, spread),
            collection_name="textbook_chunks",
            spread=spread,
        )
        before = await asyncio.to_thread(client.run, time.process_time, workers=addresses)
        began, here = time.perf_counter(), time.process_time()
        await ingestion.run(book)
        seconds, here = time.perf_counter() - began, time.process_time() - here
        after = await asyncio.to_thread(client.run, time.process_time, workers=addresses)
    return Spent(seconds=seconds, here=here, workers=tuple(after[one] - before[one] for one in addresses))


def _told(spent: list[Spent]) -> str:
    """Medians: the time, and where processor time went."""
    workers = " + ".join(f"{median(list(of)):.1f}" for of in zip(*(one.workers for one in spent), strict=True))
    seconds, here = median([one.seconds for one in spent]), median([one.here for one in spent])
    return f"{seconds:.1f} s, of processor {workers} s and here {here:.1f} s"
