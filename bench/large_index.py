"""Indexes of any size that look like real ones: the chunks of real books, and copies of them pushed aside in the space of
embeddings, spread over lessons of four modules and four tiers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from bench.alone import opened
from bench.standin import unit
from bench.workshop import Workshop
from bythebook.books.model import sha256
from bythebook.index.manifest import wanted_manifest
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, IndexedChunk, Replacement
from bythebook.wiring.author import Resources

BOOK = "large"
COLLECTION = "large"
MODULES = 4
TIERS = 4
PUSH = 0.5
"""Length of the noise beside an embedding of length 1: a copy's cosine to its original is about 0.89."""
CHUNKS_PER_WRITE = 1_000


def real_chunks(workshop: Workshop) -> list[IndexedChunk]:
    """All chunks of the sample book, and of the curriculum where it is at hand, with embeddings and terms."""
    workshop.sample()
    names = ["sample", "curriculum"] if workshop.curriculum() else ["sample"]
    return [indexed for name in names for indexed in asyncio.run(_held(workshop, name))]


async def _held(workshop: Workshop, name: str) -> list[IndexedChunk]:
    async with opened(workshop.data_dir(name)) as resources:
        state = (await resources.records.books())[0]
        found = resources.index.scan(state.collection_name, Filters(book_id=state.book_id), with_vectors=True)
        return [indexed async for indexed in found]


async def fill(resources: Resources, chunks: Sequence[IndexedChunk], size: int) -> IngestionState:
    """The index made, filled, settled and recorded, as an ingestion leaves it."""
    await resources.index.create(COLLECTION, wanted_manifest(resources.embedder.name, await resources.embedder.dimension()))
    for some in _writes(lessons(chunks, size)):
        await resources.index.replace(COLLECTION, BOOK, some)
    await resources.index.settle(COLLECTION)
    state = IngestionState(
        book_id=BOOK, title="Large", language="en", collection_name=COLLECTION, source_root="", total_chunks=size
    )
    await resources.records.save_book(state)
    manifest = (await resources.index.collections())[COLLECTION]
    await resources.index.save_manifest(COLLECTION, manifest.serving(state))
    return state


def lessons(chunks: Sequence[IndexedChunk], size: int) -> Iterator[Replacement]:
    noise = np.random.default_rng(0)
    endless = ((copy, indexed) for copy in itertools.count() for indexed in chunks)
    by_lesson = itertools.groupby(itertools.islice(endless, size), key=lambda pair: (pair[0], pair[1].chunk.source_file))
    for number, ((copy, source_file), pairs) in enumerate(by_lesson):
        path = f"{copy}/{number}/{source_file}"
        copies = tuple(_copy(indexed, path, number, noise if copy else None) for _, indexed in pairs)
        yield Replacement(source_file=path, chunks=copies)


def _copy(indexed: IndexedChunk, path: str, number: int, noise: np.random.Generator | None) -> IndexedChunk:
    assert indexed.embedding is not None
    name, embedding = f"{path}:{indexed.chunk.id}", indexed.embedding
    if noise is not None:
        embedding = unit(embedding + PUSH * unit(noise.standard_normal(len(embedding), dtype=np.float32)))
    chunk = replace(
        indexed.chunk,
        id=str(uuid5(NAMESPACE_OID, name)),
        book_id=BOOK,
        module=f"module-{number % MODULES}",
        hardware_tier=number // MODULES % TIERS + 1,
        source_file=path,
        content_hash=sha256(name),
    )
    return replace(indexed, chunk=chunk, embedding=embedding)


def _writes(replacements: Iterable[Replacement]) -> Iterator[list[Replacement]]:
    some: list[Replacement] = []
    for replacement in replacements:
        some.append(replacement)
        if sum(len(one.chunks) for one in some) >= CHUNKS_PER_WRITE:
            yield some
            some = []
    if some:
        yield some
