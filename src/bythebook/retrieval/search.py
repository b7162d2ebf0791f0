"""Hybrid retrieval: searches a book by embedding and by BM25 terms together, and returns the chunks, best first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk, ChunkSection
from bythebook.embedding.embedder import Embedder
from bythebook.errors import NotFound, StorageFailure, no_such_book
from bythebook.index.lexical import query_terms
from bythebook.index.manifest import Manifest, served_books
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Candidate, Filters, VectorIndex
from bythebook.retrieval.fusion import CloseLook, Closeness, fuse, nearest_section, read_closely
from bythebook.retrieval.query import SearchQuery, SearchResult

Read = TypeVar("Read")
DEPTH = 50
"""Candidates asked of each retrieval."""
LOOKED_AT = 40
"""How many of the candidates are read closely: twice the highest limit, so that dropped duplicates leave no gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChunk:
    """A chunk that was found. `score` orders the hits; it means nothing from one question to the next."""

    chunk: Chunk
    cosine: float
    lexical: float
    closeness: float
    score: float
    embedding: NDArray[np.float32] | None
    section: ChunkSection
    """The one of the chunk's sections that has most of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """All that one search found: the candidates of both retrievals, and the hits, best first."""

    query: SearchQuery
    state: IngestionState
    embedding: NDArray[np.float32]
    candidates: tuple[Candidate, ...]
    hits: tuple[RankedChunk, ...]


class Search:
    """Searches one book at a time. Never crosses from one book into another."""

    def __init__(self, *, index: VectorIndex, embedder: Embedder, exact: bool = False) -> None:
        self._index = index
        self._embedder = embedder
        self._exact = exact

    async def retrieve(
        self,
        query: SearchQuery,
        state: IngestionState,
        embedding: NDArray[np.float32],
        *,
        most: int = LOOKED_AT,
        embedded: int = 0,
        without: Collection[str] = (),
    ) -> Retrieval:
        """The best hits, best first, each text once; the first `embedded` of them with their embedding. `without` are chunks to
        search as if they were not there."""
        candidates = await self._index.candidates(
            state.collection_name,
            embedding=embedding,
            terms=query_terms(query.text, state.language),
            filters=query.filters,
            depth=DEPTH + len(without),
            exact=self._exact,
        )
        candidates = [candidate for candidate in candidates if candidate.id not in without]
        best = {candidate.id: (candidate, fused) for candidate, fused in fuse(candidates)[:LOOKED_AT]}
        texts = await self._index.texts(state.collection_name, query.book_id, list(best))
        looks = {look.candidate.id: look for look in read_closely(query.text, state.language, texts, best, most=most)}
        held = await self._index.chunks(state.collection_name, query.book_id, list(looks))
        first = [one.chunk.id for one in held[:embedded]]
        whole = await self._index.chunks(state.collection_name, query.book_id, first, with_vectors=True) if first else []
        embeddings = {one.chunk.id: one.embedding for one in whole}
        measure = Closeness(query.text, state.language)
        hits = tuple(_hit(one.chunk, looks[one.chunk.id], embeddings.get(one.chunk.id), measure) for one in held)
        if not hits and await self._has_moved(state):
            raise NotFound(f"The book '{query.book_id}' was rebuilt while it was searched. Search again.")
        return Retrieval(query=query, state=state, embedding=embedding, candidates=tuple(candidates), hits=hits)

    async def _has_moved(self, state: IngestionState) -> bool:
        """Whether the collection no longer holds the book, and another one serves it. A book that is fitted before it is served
        from a new collection has not moved: the new one holds it while the old one serves it."""
        if await self._index.count(state.collection_name, Filters(book_id=state.book_id)):
            return False
        now = served_books(await self._index.collections()).get(state.book_id)
        return now is not None and now.collection_name != state.collection_name

    async def read(self, state: IngestionState, read: Callable[[IngestionState], Awaitable[Read]]) -> Read:
        """Calls `read` on the book as it is served, and once more if the book was rebuilt meanwhile."""
        try:
            return await read(state)
        except (NotFound, StorageFailure):
            now = await self.book(state.book_id)
            if now.collection_name == state.collection_name:
                raise
            return await read(now)

    async def embed(self, text: str) -> NDArray[np.float32]:
        return await self._embedder.embed_question(text)

    async def book(self, book_id: str) -> IngestionState:
        """The book's state, once it is sure that this program can search it."""
        return (await self.served(book_id))[0]

    async def served(self, book_id: str) -> tuple[IngestionState, Manifest]:
        """The book's state, and the manifest of the collection that serves it."""
        collections = await self._index.collections()
        served = served_books(collections)
        if book_id not in served:
            raise NotFound(no_such_book(book_id, served))
        state = served[book_id]
        manifest = collections[state.collection_name]
        manifest.require(self._embedder.name, book_id=book_id)
        return state, manifest


def similarity(cosine: float) -> float:
    """Document D's score: the cosine, clamped to 0-1."""
    return min(1.0, max(0.0, cosine))


def _hit(chunk: Chunk, look: CloseLook, embedding: NDArray[np.float32] | None, measure: Closeness) -> RankedChunk:
    return RankedChunk(
        chunk=chunk,
        cosine=similarity(look.candidate.cosine),
        lexical=look.candidate.lexical,
        closeness=look.closeness,
        score=look.score,
        embedding=embedding,
        section=nearest_section(chunk, measure),
    )


def to_result(rank: int, hit: RankedChunk, relevance: float | None) -> SearchResult:
    chunk = hit.chunk
    return SearchResult(
        rank=rank,
        id=chunk.id,
        text=chunk.text,
        preface=chunk.preface,
        score=hit.cosine,
        relevance=relevance,
        source_file=chunk.source_file,
        source_url=hit.section.source_url,
        section_title=hit.section.title,
        page_title=chunk.page_title,
        chapter_title=chunk.chapter_title,
        heading_path=hit.section.heading_path,
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
