"""How long a search takes, and how much of what an exact search finds it finds."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench.alone import opened
from bench.large_index import BOOK, MODULES, fill, real_chunks
from bench.material import CURRICULUM_QUESTIONS, curriculum_questions, sample_questions
from bench.table import Table, verdict
from bench.timing import milliseconds, percentile
from bench.workshop import Workshop
from bythebook.index.qdrant_edge.shard import CHUNKS_KEPT, TEXTS_KEPT
from bythebook.index.state import IngestionState
from bythebook.index.vectors import IndexedChunk
from bythebook.retrieval.query import SearchQuery
from bythebook.retrieval.search import DEPTH, LOOKED_AT
from bythebook.settings import read_settings
from bythebook.wiring.author import Resources
from bythebook.wiring.reader import Library

SMALL_TARGET_SECONDS, LARGE_TARGET_SECONDS, EMBEDDING_TARGET_SECONDS = 0.005, 0.015, 0.030
WARM_UP = 20
RESULTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    query: SearchQuery
    embedding: NDArray[np.float32]


def latency(workshop: Workshop) -> Table:
    chunks = real_chunks(workshop)
    small, large = workshop.sizes.index_chunks
    rows = asyncio.run(_measured(workshop, chunks, small, SMALL_TARGET_SECONDS, EMBEDDING_TARGET_SECONDS))
    rows += asyncio.run(_measured(workshop, chunks, large, LARGE_TARGET_SECONDS, None))
    return Table(
        title="Search",
        columns=("chunks", "what", "p50", "p95", "target", ""),
        rows=tuple(rows),
        note=f"{workshop.sizes.searches} real questions one after another, {RESULTS} results each, tier 2 and one of four "
        f"modules: an eighth of the chunks pass. {len(chunks):,} chunks are of real books with granite's embeddings; the others "
        "are copies, each embedding pushed aside at random to a cosine of about 0.89. Hybrid: candidates, fusion, a close look "
        f"at {LOOKED_AT} of them, the results and the count of what passes. They are read ahead, as by a server when it "
        f"starts: up to {CHUNKS_KEPT:,}, and {TEXTS_KEPT:,} texts, are kept in memory. Recall is the mean share of an exact "
        "search's results that the default search has too.",
    )


async def _measured(
    workshop: Workshop, chunks: Sequence[IndexedChunk], size: int, target: float, embedding_target: float | None
) -> list[tuple[str, ...]]:
    folder = workshop.empty_dir(f"large-{size}")
    async with opened(folder) as resources:
        state = await fill(resources, chunks, size)
        asked = [await _asked(resources, text, number) for number, text in enumerate(_questions(workshop.sizes.searches))]
    async with opened(folder) as resources:
        times = await _embedded_times(resources, state, asked)
        rows = [_row(size, "filtered hybrid, question embedded before, nothing read ahead", times, None)]
    async with opened(folder) as resources:
        await resources.read_ahead()
        times = await _embedded_times(resources, state, asked)
        rows.append(_row(size, "filtered hybrid, question embedded before", times, target))
        times = await _whole_times(resources, asked)
        rows.append(_row(size, "filtered hybrid, with embedding the question", times, embedding_target))
        for what, filtered in (("filtered", True), ("unfiltered", False)):
            recall = await _recall(resources, state, asked, filtered=filtered)
            rows.append((f"{size:,}", f"recall of the {RESULTS} results, {what}", f"{recall:.3f}", "", "", ""))
        recall = await _dense_recall(resources, state, asked)
        rows.append((f"{size:,}", f"recall of the {DEPTH} dense candidates, unfiltered", f"{recall:.3f}", "", "", ""))
    return rows


def _row(size: int, what: str, times: Sequence[float], target: float | None) -> tuple[str, ...]:
    middle, slow = percentile(times, 0.5), percentile(times, 0.95)
    held = (f"p95 <= {milliseconds(target)}", verdict(slow <= target)) if target else ("", "")
    return f"{size:,}", what, milliseconds(middle), milliseconds(slow), *held


def _questions(count: int) -> list[str]:
    questions = sample_questions() + (curriculum_questions() if CURRICULUM_QUESTIONS.exists() else [])
    texts = [question.text for question in questions]
    return [*texts * (count // len(texts)), *random.Random(0).sample(texts, count % len(texts))]


async def _asked(resources: Resources, text: str, number: int) -> Asked:
    module = f"module-{number % MODULES}"
    query = SearchQuery(text=text, book_id=BOOK, hardware_tier_filter=2, module_filter=module, limit=RESULTS)
    return Asked(query=query, embedding=await resources.embedder.embed_question(text))


async def _embedded_times(resources: Resources, state: IngestionState, asked: Sequence[Asked]) -> list[float]:
    searching, times = resources.book_search, []
    for one in [*asked[:WARM_UP], *asked]:
        started = time.perf_counter()
        await searching.search_embedded(one.query, state, one.embedding)
        times.append(time.perf_counter() - started)
    return times[WARM_UP:]


async def _whole_times(resources: Resources, asked: Sequence[Asked]) -> list[float]:
    searching, times = resources.book_search, []
    for one in asked:
        started = time.perf_counter()
        await searching.search(one.query)
        times.append(time.perf_counter() - started)
    return times


async def _recall(resources: Resources, state: IngestionState, asked: Sequence[Asked], *, filtered: bool) -> float:
    settings = read_settings(data_dir=resources.settings.data_dir, exact_search=True)
    exact = Library(settings=settings, index=resources.index, embedder=resources.embedder, data_dir=resources.data_dir)
    shares = []
    for one in asked:
        query = one.query if filtered else replace(one.query, hardware_tier_filter=None, module_filter=None)
        wanted = await _found(exact, query, state, one)
        shares.append(len(wanted & await _found(resources, query, state, one)) / len(wanted))
    return sum(shares) / len(shares)


async def _found(resources: Library, query: SearchQuery, state: IngestionState, one: Asked) -> set[str]:
    response = await resources.book_search.search_embedded(query, state, one.embedding)
    return {result.id for result in response.results}


async def _dense_recall(resources: Resources, state: IngestionState, asked: Sequence[Asked]) -> float:
    shares = []
    for one in asked:
        everything = replace(one.query, hardware_tier_filter=None, module_filter=None).filters
        ask = partial(resources.index.candidates, state.collection_name, embedding=one.embedding, terms=None, depth=DEPTH)
        wanted = {candidate.id for candidate in await ask(filters=everything, exact=True)}
        found = {candidate.id for candidate in await ask(filters=everything, exact=False)}
        shares.append(len(wanted & found) / len(wanted))
    return sum(shares) / len(shares)
