"""An ingestion in a process of its own, so that its peak memory is its own: `python -m bench.alone BOOK DATA_DIR`."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.machine import peak_memory
from bench.standin import StandIn
from bythebook.embedding.embedder import Embedder
from bythebook.ingestion.progress import IngestReport
from bythebook.settings import read_settings
from bythebook.wiring.author import Resources, open_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What came of it. `seconds` is the ingestion alone; `peak_bytes` is the whole process."""

    book_id: str
    lessons: int
    chunks: int
    embedded: int
    seconds: float
    peak_bytes: int


@asynccontextmanager
async def opened(data_dir: Path, embedder: Embedder | None = None) -> AsyncIterator[Resources]:
    """The product's own resources, with another embedder where one is given."""
    async with open_resources(read_settings(data_dir=data_dir), embedder=embedder) as resources:
        yield resources


async def ingest(resources: Resources, book: Path) -> IngestReport:
    return await resources.ingestion.run(book)


def ingest_alone(book: Path, data_dir: Path, *, really: int | None = None) -> Ingested:
    """With granite; or with the stand-in, of whose texts granite sees the first `really`."""
    command = [sys.executable, "-m", "bench.alone", str(book), str(data_dir)]
    if really is not None:
        command += ["--really", str(really)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1])
    return Ingested(**json.loads(ended.stdout))


async def _run(book: Path, data_dir: Path, really: int | None) -> Ingested:
    embedder = None if really is None else StandIn(really=really)
    async with opened(data_dir, embedder) as resources:
        started = time.perf_counter()
        report = await ingest(resources, book)
        seconds = time.perf_counter() - started
    return Ingested(
        book_id=report.book_id,
        lessons=report.files_discovered,
        chunks=report.total_chunks,
        embedded=report.chunks_embedded,
        seconds=seconds,
        peak_bytes=peak_memory(),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.alone")
    parser.add_argument("book", type=Path)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--really", type=int, help="use the stand-in; granite sees so many texts before")
    given = parser.parse_args()
    print(json.dumps(asdict(asyncio.run(_run(given.book, given.data_dir, given.really)))))
