"""Hybrid retrieval: searches by embedding and by BM25 terms, fuses the scores, reads the best texts closely, and drops
duplicates.

The weights of the fusion were measured on quiz questions of a 325-lesson textbook and on SQuAD (see docs/benchmarks.md): fusing
scores beats fusing ranks, and the density of the question's words in the closest 120 characters adds two points of recall@1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk, ChunkSection
from bythebook.embedding.embedder import Embedder
from bythebook.errors import NotFound, StorageFailure, no_such_book
from bythebook.index.lexical import query_terms, words
from bythebook.index.manifest import Manifest, served_books
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Candidate, ChunkText, Filters, VectorIndex
from bythebook.retrieval.query import SearchQuery, SearchResult
from bythebook.retrieval.ranker import asks_meaning, defines, ranks

Read = TypeVar("Read")
DEPTH = 50
"""Candidates asked of each retrieval."""
LOOKED_AT = 40
"""How many of the candidates are read closely: twice the highest limit, so that dropped duplicates leave no gap."""

DENSE_WEIGHT = 0.4
CLOSENESS_WEIGHT = 0.5
DEFINITION_WEIGHT = 0.6
"""The bonus for a text that defines what the question asks the meaning of. In some books "What is WAL?" has its words in every
chapter, and its definition in one."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WINDOW_CHARACTERS = 120


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
        looks = {look.candidate.id: look for look in _read_closely(query.text, state.language, texts, best, most=most)}
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


@dataclass(frozen=True, slots=True)
class _Look:
    """The result of a close look at a candidate."""

    candidate: Candidate
    closeness: float
    score: float
    defines: bool = False

    @property
    def place(self) -> tuple[float, bool, str]:
        """A sort key; the smaller, the better."""
        return -self.score, not self.defines, self.candidate.id


def _read_closely(
    question: str, language: str, texts: Sequence[ChunkText], best: Mapping[str, tuple[Candidate, float]], *, most: int
) -> list[_Look]:
    """The best `most` candidates, each text once: of two chunks that say the same, the better one stays. A candidate is skipped
    if it could not be among them even with all its words of the question side by side."""
    measure = Closeness(question, language)
    meaning = ranks(language) and asks_meaning(question)
    first: dict[str, _Look] = {}
    scores: list[float] = []  # a heap of the best `most` so far
    for text in texts:
        candidate, fused = best[text.id]
        if len(scores) == most and not meaning and fused + CLOSENESS_WEIGHT * measure.at_most(text.folded) < scores[0]:
            continue
        closeness = measure.of(text.folded)
        defined = meaning and any(defines(question, one) for one in SENTENCE.split(text.folded))
        look = _Look(candidate, closeness, fused + CLOSENESS_WEIGHT * closeness, defined)
        known = first.get(text.content_hash)
        if known is None:
            (heappush if len(scores) < most else heappushpop)(scores, look.score)
        if known is None or look.place < known.place:
            first[text.content_hash] = look
    # No higher than the best: how far a score stands above the others says how sure the find is, and a form does not.
    top = max((look.score for look in first.values()), default=0.0)
    looks = (replace(one, score=min(top, one.score + DEFINITION_WEIGHT)) if one.defines else one for one in first.values())
    return sorted(looks, key=lambda look: look.place)[:most]


def similarity(cosine: float) -> float:
    """Document D's score: the cosine, clamped to 0-1."""
    return min(1.0, max(0.0, cosine))


def _hit(chunk: Chunk, look: _Look, embedding: NDArray[np.float32] | None, measure: Closeness) -> RankedChunk:
    return RankedChunk(
        chunk=chunk,
        cosine=similarity(look.candidate.cosine),
        lexical=look.candidate.lexical,
        closeness=look.closeness,
        score=look.score,
        embedding=embedding,
        section=_nearest_section(chunk, measure),
    )


def _nearest_section(chunk: Chunk, measure: Closeness) -> ChunkSection:
    """The section that has most of the question; of two that have the same, the one that leads the chunk, else the first."""
    if not chunk.sections:
        return chunk.section_at(0)
    ends = [*(section.start for section in chunk.sections[1:]), len(chunk.text)]
    texts = {section: chunk.text[section.start : end] for section, end in zip(chunk.sections, ends, strict=True)}
    return max(texts, key=lambda section: (measure.of(texts[section].casefold()), section.heading_path == chunk.heading_path))


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


def fuse(candidates: Sequence[Candidate]) -> list[tuple[Candidate, float]]:
    """Fuses the scores: each side is stretched to 0 to 1 over the candidates, then weighted. Best first, ties by id."""
    dense = _stretched([candidate.cosine for candidate in candidates])
    lexical = _stretched([candidate.lexical for candidate in candidates])
    fused = [
        (candidate, DENSE_WEIGHT * one + (1 - DENSE_WEIGHT) * other)
        for candidate, one, other in zip(candidates, dense, lexical, strict=True)
    ]
    return sorted(fused, key=lambda pair: (-pair[1], pair[0].id))


def _stretched(scores: Sequence[float]) -> list[float]:
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]


class Closeness:
    """How much of a question stands close together in a text, 0-1. Longer words weigh more."""

    def __init__(self, question: str, language: str) -> None:
        self._beginnings = list(dict.fromkeys(_beginning(stem) for _, _, stem in words(question, language)))
        self._anywhere = [not beginning[0].isascii() for beginning in self._beginnings]
        self._weights = [math.sqrt(len(beginning)) for beginning in self._beginnings]
        self._total = sum(self._weights)

    def at_most(self, folded: str) -> float:
        """An upper bound, found in a fifth of the time."""
        there = (weight for beginning, weight in zip(self._beginnings, self._weights, strict=True) if beginning in folded)
        return sum(there) / self._total if self._total else 0.0

    def of(self, folded: str) -> float:
        """The heaviest set of different words of the question within one window of a text, which must be case folded already."""
        found = self._places(folded)
        found.sort()
        weights, inside = self._weights, [0] * len(self._weights)
        first, weight, best = 0, 0.0, 0.0
        for position, word in found:
            if not inside[word]:
                weight += weights[word]
            inside[word] += 1
            while position - found[first][0] > WINDOW_CHARACTERS:
                left = found[first][1]
                inside[left] -= 1
                if not inside[left]:
                    weight -= weights[left]
                first += 1
            if weight > best:
                best = weight
        return best / self._total if found else 0.0

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where words begin with a stem of the question, and which stem that is. In scripts without spaces a stem may be
        anywhere. (One regular expression for all stems takes ten times as long.)"""
        places = []
        for word, beginning in enumerate(self._beginnings):
            at = text.find(beginning)
            while at >= 0:
                if at == 0 or self._anywhere[word] or not ((before := text[at - 1]).isalnum() or before == "_"):
                    places.append((at, word))
                at = text.find(beginning, at + 1)
        return places


def _beginning(stem: str) -> str:
    """The letters that a stem has in common with its words: "happi" with "happy", "cours" with "course"."""
    return stem[:-1] if len(stem) > 3 and stem[-1] in "ie" else stem
