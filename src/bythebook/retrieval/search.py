"""Hybrid search: embedding and BM25 terms asked at once, their scores fused, duplicates dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bythebook.errors import NotFound
from bythebook.index.embedding import Embedder
from bythebook.index.lexical import query_terms
from bythebook.index.manifest import Manifest
from bythebook.index.records import IngestionState, Records
from bythebook.index.vectors import IndexedChunk, VectorIndex
from bythebook.retrieval.fusion import CLOSENESS_WEIGHT, Closeness, fuse
from bythebook.retrieval.query import SearchQuery, SearchResponse, SearchResult

DEPTH = 50
"""Candidates asked of each retrieval."""
LOOKED_AT = 20
"""How many of them are read closely. Twice the limit at least, so that dropped duplicates leave no gap."""


class Search:
    """Searches one book at a time. Never crosses from one book into another."""

    def __init__(
        self, *, index: VectorIndex, records: Records, embedder: Embedder, manifest: Manifest, exact: bool = False
    ) -> None:
        self._index = index
        self._records = records
        self._embedder = embedder
        self._manifest = manifest
        self._exact = exact

    async def search(self, query: SearchQuery) -> SearchResponse:
        state = await self.book(query.book_id)
        embedding = await self._embedder.embed_question(query.text)
        return await self.search_embedded(query, state, embedding)

    async def search_embedded(self, query: SearchQuery, state: IngestionState, embedding: NDArray[np.float32]) -> SearchResponse:
        """The same when the question's embedding is known already."""
        collection = state.collection_name
        candidates = await self._index.candidates(
            collection,
            embedding=embedding,
            terms=query_terms(query.text, state.language),
            filters=query.filters,
            depth=DEPTH,
            exact=self._exact,
        )
        best = fuse(candidates)[: max(LOOKED_AT, 2 * query.limit)]
        scores = {candidate.id: (candidate.cosine, fused) for candidate, fused in best}
        held = await self._index.chunks(collection, query.book_id, list(scores))
        kept = _by_closeness(query.text, state.language, held, {id: fused for id, (_, fused) in scores.items()})
        return SearchResponse(
            query=query.text,
            results=tuple(_result(rank, one, scores[one.chunk.id][0]) for rank, one in enumerate(kept[: query.limit], start=1)),
            total_found=await self._index.count(collection, query.filters),
            hardware_tier_filter=query.hardware_tier_filter,
            module_filter=query.module_filter,
            book_id=query.book_id,
            filter_applied=query.prefix_filter,
        )

    async def book(self, book_id: str) -> IngestionState:
        """The book's state, once it is sure that this program can search it."""
        state = await self._records.book(book_id)
        if state is None:
            raise NotFound(await _no_such_book(self._records, book_id))
        manifest = (await self._index.collections()).get(state.collection_name)
        if manifest is None:
            raise NotFound(
                f"The index of '{book_id}' (collection {state.collection_name}) is gone. "
                "Bring it back from a backup, or build it anew: bythebook ingest FOLDER --mode recreate"
            )
        manifest.require(self._manifest, book_id=book_id)
        return state


async def _no_such_book(records: Records, book_id: str) -> str:
    there = [state.book_id for state in await records.books()]
    if not there:
        return f"There is no book '{book_id}' yet. Bring one in: bythebook ingest FOLDER"
    return f"There is no book '{book_id}'. There is: {', '.join(there)}."


def _by_closeness(question: str, language: str, held: Sequence[IndexedChunk], fused: Mapping[str, float]) -> list[IndexedChunk]:
    """Best first, each text once: of two chunks that say the same, the better one stays."""
    closeness = Closeness(question, language)
    rated = {
        one.chunk.id: fused[one.chunk.id] + CLOSENESS_WEIGHT * closeness.of("\n".join((*_headings(one), one.chunk.text)))
        for one in held
    }
    ordered = sorted(held, key=lambda one: (-rated[one.chunk.id], one.chunk.id))
    first: dict[str, IndexedChunk] = {}
    for one in ordered:
        first.setdefault(one.chunk.content_hash, one)
    return list(first.values())


def _headings(held: IndexedChunk) -> tuple[str, ...]:
    return held.chunk.page_title, *held.chunk.heading_path


def _result(rank: int, held: IndexedChunk, cosine: float) -> SearchResult:
    chunk = held.chunk
    return SearchResult(
        rank=rank,
        id=chunk.id,
        text=chunk.text,
        preface=chunk.preface,
        score=min(1.0, max(0.0, cosine)),
        source_file=chunk.source_file,
        source_url=chunk.source_url,
        section_title=chunk.section_title,
        page_title=chunk.page_title,
        chapter_title=chunk.chapter_title,
        heading_path=chunk.heading_path,
        module=chunk.module,
        chapter=chunk.chapter,
        lesson=chunk.lesson,
        hardware_tier=chunk.hardware_tier,
        proficiency_level=chunk.proficiency_level,
        layer=chunk.layer,
        chunk_index=chunk.chunk_index,
        total_chunks=chunk.total_chunks,
        parent_doc_id=chunk.parent_doc_id,
        prev_chunk_id=chunk.prev_chunk_id,
        next_chunk_id=chunk.next_chunk_id,
        content_hash=chunk.content_hash,
        span=chunk.span,
    )
