"""Hybrid search: embedding and BM25 terms asked at once, their scores fused, duplicates dropped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk
from bythebook.errors import NotFound
from bythebook.index.embedding import Embedder
from bythebook.index.lexical import query_terms
from bythebook.index.manifest import served_books
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Candidate, IndexedChunk, VectorIndex
from bythebook.index.versions import wanted_manifest
from bythebook.retrieval.fusion import CLOSENESS_WEIGHT, Closeness, fuse
from bythebook.retrieval.query import SearchQuery, SearchResponse, SearchResult

DEPTH = 50
"""Candidates asked of each retrieval."""
LOOKED_AT = 40
"""How many of them are read closely: twice the highest limit, so that dropped duplicates leave no gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk that was found. `score` orders the hits; it means nothing from one question to the next."""

    chunk: Chunk
    cosine: float
    lexical: float
    closeness: float
    score: float
    embedding: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """All that one search found: the candidates of both retrievals, and the hits, best first."""

    query: SearchQuery
    state: IngestionState
    embedding: NDArray[np.float32]
    candidates: tuple[Candidate, ...]
    hits: tuple[Hit, ...]


class Search:
    """Searches one book at a time. Never crosses from one book into another."""

    def __init__(self, *, index: VectorIndex, embedder: Embedder, exact: bool = False) -> None:
        self._index = index
        self._embedder = embedder
        self._exact = exact

    async def search(self, query: SearchQuery) -> SearchResponse:
        state = await self.book(query.book_id)
        return await self.search_embedded(query, state, await self._embedder.embed_question(query.text))

    async def search_embedded(self, query: SearchQuery, state: IngestionState, embedding: NDArray[np.float32]) -> SearchResponse:
        """The same when the question's embedding is known already."""
        found = await self.retrieve(query, state, embedding)
        levels = [None] * len(found.hits)
        return SearchResponse(
            query=query.text,
            results=tuple(
                to_result(rank, hit, level)
                for rank, (hit, level) in enumerate(zip(found.hits[: query.limit], levels, strict=False), start=1)
            ),
            total_found=await self._index.count(state.collection_name, query.filters),
            hardware_tier_filter=query.hardware_tier_filter,
            module_filter=query.module_filter,
            book_id=query.book_id,
            filter_applied=query.prefix_filter,
        )

    async def retrieve(
        self,
        query: SearchQuery,
        state: IngestionState,
        embedding: NDArray[np.float32],
        *,
        with_vectors: bool = False,
        without: Collection[str] = (),
    ) -> Retrieval:
        """The best hits, best first, each text once. `without` are chunks to search as if they were not there."""
        candidates = await self._index.candidates(
            state.collection_name,
            embedding=embedding,
            terms=query_terms(query.text, state.language),
            filters=query.filters,
            depth=DEPTH + len(without),
            exact=self._exact,
        )
        candidates = [candidate for candidate in candidates if candidate.id not in without]
        best = {candidate.id: (candidate, score) for candidate, score in fuse(candidates)[:LOOKED_AT]}
        held = await self._index.chunks(state.collection_name, query.book_id, list(best), with_vectors=with_vectors)
        hits = _read_closely(query.text, state.language, [(one, *best[one.chunk.id]) for one in held])
        return Retrieval(query=query, state=state, embedding=embedding, candidates=tuple(candidates), hits=hits)

    async def book(self, book_id: str) -> IngestionState:
        """The book's state, once it is sure that this program can search it."""
        collections = await self._index.collections()
        served = served_books(collections)
        if book_id not in served:
            there = f"There is: {', '.join(served)}." if served else "Bring one in: bythebook ingest FOLDER"
            raise NotFound(f"There is no book '{book_id}'. {there}")
        state = served[book_id]
        collections[state.collection_name].require(wanted_manifest(self._embedder), book_id=book_id)
        return state


def _read_closely(question: str, language: str, found: Sequence[tuple[IndexedChunk, Candidate, float]]) -> tuple[Hit, ...]:
    """Best first, each text once: of two chunks that say the same, the better one stays."""
    measure = Closeness(question, language)
    hits = []
    for held, candidate, fused in found:
        closeness = measure.of("\n".join((*_headings(held.chunk), held.chunk.text)))
        hits.append(
            Hit(
                chunk=held.chunk,
                cosine=min(1.0, max(0.0, candidate.cosine)),
                lexical=candidate.lexical,
                closeness=closeness,
                score=fused + CLOSENESS_WEIGHT * closeness,
                embedding=held.embedding,
            )
        )
    first: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)):
        first.setdefault(hit.chunk.content_hash, hit)
    return tuple(first.values())


def _headings(chunk: Chunk) -> tuple[str, ...]:
    return chunk.page_title, *chunk.heading_path


def to_result(rank: int, hit: Hit, relevance: float | None) -> SearchResult:
    chunk = hit.chunk
    return SearchResult(
        rank=rank,
        id=chunk.id,
        text=chunk.text,
        preface=chunk.preface,
        score=hit.cosine,
        relevance=relevance,
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
