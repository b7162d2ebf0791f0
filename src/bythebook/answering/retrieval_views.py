"""What a turn found, in the forms of the design documents: A's GroundingContext and AssembledContext, C's RetrievalContext and
sources, E's RetrievalResult. Made from the results and the answer when a client asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bythebook.answering.answer import Answer
from bythebook.retrieval.query import SearchResult

SUFFICIENT_SCORE, SUFFICIENT_CHUNKS = 0.75, 3
"""Document E: from here on a retrieval has sufficient context."""
NOTHING = "No relevant content found in the book."


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedChunk:
    """Document A's RetrievedChunk, with the relevance that thresholds are measured on."""

    text: str
    score: float
    relevance: float
    source_url: str
    chunk_index: int
    chunk_id: str
    chapter: str
    section: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingContext:
    """Document A's GroundingContext: what an answer may rest on, and whether there may be one. `max_score` is the best
    relevance, because that decides."""

    chunks: tuple[RetrievedChunk, ...]
    formatted_text: str
    should_refuse: bool
    refusal_reason: str
    max_score: float
    query: str
    source_count: int
    has_context: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledContext:
    """Document A's AssembledContext."""

    formatted_text: str
    chunk_count: int
    total_chars: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalContext:
    """Document C's RetrievalContext. Its results have their relevance beside the score."""

    query: str
    results: tuple[Mapping[str, Any], ...]
    retrieved_at: datetime
    filter_applied: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkMetadata:
    """Document E's ChunkMetadata."""

    chapter: str
    section: str
    url: str
    chunk_index: int
    content_hash: str
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalResult:
    """Document E's RetrievalResult. `scores` are cosines and `average_score` is their mean; whether there is enough is decided
    on relevance, as every threshold is. `query_embedding` has the embedder's dimension, and is there if it was asked for."""

    chunks: tuple[str, ...]
    scores: tuple[float, ...]
    metadata: tuple[ChunkMetadata, ...]
    average_score: float
    has_sufficient_context: bool
    query_embedding: tuple[float, ...] | None = None


def grounding_context(answer: Answer, results: Sequence[SearchResult]) -> GroundingContext:
    return GroundingContext(
        chunks=tuple(_chunk(one) for one in results),
        formatted_text="" if answer.refused else formatted(results),
        should_refuse=answer.refused,
        refusal_reason=answer.detail if answer.refused else "",
        max_score=answer.confidence.max_similarity,
        query=answer.query,
        source_count=len({one.source_url for one in results}),
        has_context=bool(results) and not answer.refused,
    )


def assembled_context(results: Sequence[SearchResult]) -> AssembledContext:
    text = formatted(results)
    sources = tuple(dict.fromkeys(one.source_url for one in results))
    return AssembledContext(formatted_text=text, chunk_count=len(results), total_chars=len(text), sources=sources)


def retrieval_context(answer: Answer, results: Sequence[SearchResult]) -> RetrievalContext:
    found = tuple(
        {
            "rank": one.rank,
            "score": one.score,
            "relevance": _relevance(one),
            "source_url": one.source_url,
            "content": one.preface + one.text,
        }
        for one in results
    )
    at = answer.tool_calls[0].timestamp if answer.tool_calls else answer.created_at
    return RetrievalContext(query=answer.query, results=found, retrieved_at=at, filter_applied=answer.filter_applied)


def retrieval_result(results: Sequence[SearchResult], embedding: Iterable[float] | None = None) -> RetrievalResult:
    scores = tuple(one.score for one in results)
    levels = [_relevance(one) for one in results]
    relevant = bool(levels) and sum(levels) / len(levels) >= SUFFICIENT_SCORE
    return RetrievalResult(
        chunks=tuple(one.preface + one.text for one in results),
        scores=scores,
        metadata=tuple(
            ChunkMetadata(
                chapter=_chapter(one),
                section=one.section_title or "",
                url=one.source_url,
                chunk_index=one.chunk_index,
                content_hash=one.content_hash,
                relevance=_relevance(one),
            )
            for one in results
        ),
        average_score=sum(scores) / len(scores) if scores else 0.0,
        has_sufficient_context=relevant and len(results) >= SUFFICIENT_CHUNKS,
        query_embedding=None if embedding is None else tuple(float(one) for one in embedding),
    )


def sources(answer: Answer, results: Sequence[SearchResult]) -> list[dict[str, Any]]:
    """Document C's `sources`: the chunk behind each label, with its text and the words quoted from it."""
    texts = {one.id: one.preface + one.text for one in results}
    return [
        {
            "rank": one.label,
            "score": one.score,
            "relevance": one.relevance,
            "source_url": one.source_url,
            "content": texts.get(one.chunk_id, one.quote),
            "quote": one.quote,
        }
        for one in answer.citations
    ]


def formatted(results: Sequence[SearchResult]) -> str:
    """Document C's text of what was retrieved."""
    if not results:
        return NOTHING
    lines = []
    for number, one in enumerate(results, start=1):
        lines += [
            f"[{number}] Source: {one.source_url}",
            f"    Score: {one.score:.2f}",
            f"    Content: {one.preface}{one.text}",
            "",
        ]
    return "\n".join(lines)


def _chunk(one: SearchResult) -> RetrievedChunk:
    return RetrievedChunk(
        text=one.preface + one.text,
        score=one.score,
        relevance=_relevance(one),
        source_url=one.source_url,
        chunk_index=one.chunk_index,
        chunk_id=one.id,
        chapter=_chapter(one),
        section=one.section_title or "",
        title=one.page_title,
    )


def _relevance(one: SearchResult) -> float:
    """The relevance of a result; its cosine where the book is not calibrated."""
    return one.score if one.relevance is None else one.relevance


def _chapter(one: SearchResult) -> str:
    return f"Chapter {one.chapter}: {one.chapter_title}" if one.chapter_title else ""
