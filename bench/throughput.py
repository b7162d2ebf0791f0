"""What ingestion costs beside embedding: its chunks per second over the bare embedder's, on the same texts."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bench.alone import ingest, opened
from bench.table import Table, verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.books.chunker import embedded_text
from bythebook.embedding.granite import GraniteEmbedder
from bythebook.index.vectors import Filters

TARGET = 0.85
SECTIONS = 5


def throughput(workshop: Workshop) -> Table:
    return asyncio.run(_throughput(workshop))


async def _throughput(workshop: Workshop) -> Table:
    sizes = workshop.sizes
    book = workshop.made(sizes.throughput_lessons, SECTIONS)
    embedder = GraniteEmbedder()
    await embedder.load()
    texts = await _texts(workshop, book, embedder)
    rows: list[tuple[str, ...]] = []
    ratios: list[float] = []
    for number in range(1, sizes.throughput_pairs + 1):
        # Whichever comes second meets a warmer processor: they take turns.
        ingested_first = number % 2 == 0
        early = await _ingesting(workshop, book, embedder, number) if ingested_first else 0.0
        bare = await _embedding(embedder, texts)
        ingesting = early or await _ingesting(workshop, book, embedder, number)
        ratios.append(bare / ingesting)
        rows.append(
            (f"run {number}", f"{len(texts) / ingesting:.1f}", f"{len(texts) / bare:.1f}", f"{bare / ingesting:.1%}", "", "")
        )
    await embedder.close()
    ratio = median(ratios)
    rows.append(("median", "", "", f"{ratio:.1%}", f">= {TARGET:.0%}", verdict(ratio >= TARGET)))
    return Table(
        title="Ingestion against the bare embedder",
        columns=("run", "ingestion, chunks/s", "bare embedder, texts/s", "ratio", "target", ""),
        rows=tuple(rows),
        note=f"{len(texts):,} chunks of {sizes.throughput_lessons} lessons, granite; from the files to the settled index. "
        "Bare: the same texts in one call. The two take turns in one process.",
    )


async def _texts(workshop: Workshop, book: Path, embedder: GraniteEmbedder) -> list[str]:
    """What an ingestion embeds, read off the index it makes; this first run also warms everything up."""
    async with opened(workshop.empty_dir("throughput-0"), embedder) as resources:
        report = await ingest(resources, book)
        chunks = resources.index.scan(report.collection_name, Filters(book_id=report.book_id))
        texts = [embedded_text(indexed.chunk) async for indexed in chunks]
    if len(set(texts)) != report.chunks_embedded:
        raise AssertionError(f"{report.chunks_embedded} texts were embedded, but the index holds {len(set(texts))}")
    return list(dict.fromkeys(texts))


async def _ingesting(workshop: Workshop, book: Path, embedder: GraniteEmbedder, number: int) -> float:
    async with opened(workshop.empty_dir(f"throughput-{number}"), embedder) as resources:
        started = time.perf_counter()
        await ingest(resources, book)
        return time.perf_counter() - started


async def _embedding(embedder: GraniteEmbedder, texts: list[str]) -> float:
    started = time.perf_counter()
    await embedder.embed_lessons(texts)
    return time.perf_counter() - started
