"""Response bodies: document E's ChatResponse, its thread, and a turn's events, made from our own values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Literal

from fastapi import Response
from pydantic import TypeAdapter

from bythebook.answering.answer import Answer, Answered, Found, Refused, SearchBegun, Sentence, TurnEvent, with_disclaimer
from bythebook.answering.retrieval_views import AssembledContext, GroundingContext, RetrievalContext, RetrievalResult
from bythebook.answering.trace import Trace
from bythebook.grounding.citations import Citation
from bythebook.grounding.verdict import ConfidenceLevel
from bythebook.threads.conversation import Opened
from bythebook.threads.model import StoredTurn, Thread
from bythebook.threads.reactions import Rating

CHUNK_TEXT = 500
"""Document E: the most characters of a chunk that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Document E's Source, under the label that its sentences carry. `similarity_score` is the chunk's cosine; thresholds are on
    `relevance`."""

    label: int
    chunk_text: str
    quote: str
    similarity_score: float
    relevance: float
    chapter: str
    section: str
    url: str
    chunk_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """Document E's ChatResponse, and the whole answer with the passage of every sentence. `html`, and what the answer was made
    from, where they were asked for."""

    response: str
    confidence: float
    sources: tuple[Source, ...]
    session_id: str
    timestamp: datetime
    confidence_level: ConfidenceLevel
    should_answer: bool
    turn: int
    answer: Answer
    html: tuple[str, ...] | None = None
    """The HTML of each sentence of the answer."""
    retrieval: RetrievalResult | None = None
    grounding_context: GroundingContext | None = None
    assembled_context: AssembledContext | None = None
    retrieval_context: RetrievalContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceView:
    """A checked sentence as it is streamed."""

    text: str
    kind: str
    citations: tuple[Citation, ...]
    html: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """Document E's Message."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn as it ended. Only authors get its `trace`."""

    number: int
    created_at: datetime
    stale: bool
    """Whether the book no longer has what the citations `stale_labels` quote."""
    stale_since: datetime | None
    stale_labels: tuple[int, ...]
    answer: Answer
    trace: Trace | None
    html: tuple[str, ...] | None = None
    rating: Rating | None = None
    """Its reader's rating."""
    shared: bool = False
    """Whether there is a link to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """A thread in a list."""

    thread_id: str
    book_id: str
    title: str | None
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    topic_summary: str | None
    metadata: Mapping[str, Any]
    turn_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView(ThreadSummary):
    """Document E's ConversationThread: its last 50 messages, and the turns they belong to. `model` drafted the last of these."""

    model: str | None
    messages: tuple[MessageView, ...]
    turns: tuple[TurnView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadList:
    """Threads, newest first. `next` is the `before` of the next page; None at the end."""

    threads: tuple[ThreadSummary, ...]
    next: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The last event of every turn that did not fail."""

    thread_id: str
    turn: int


StreamedValue = Opened | SearchBegun | Found | SentenceView | ChatResponse | Done


def chat_response(
    answer: Answer, opened: Opened, texts: Mapping[str, str], *, whole: bool, html: tuple[str, ...] | None = None
) -> ChatResponse:
    """`texts` are those of the cited chunks, as far as they are known. `whole`: with the sentences that were dropped, which
    readers do not see."""
    return ChatResponse(
        response=with_disclaimer(answer.answer, answer.disclaimer),
        confidence=answer.confidence.average_similarity,
        sources=tuple(source(citation, texts.get(citation.chunk_id, citation.quote)) for citation in answer.citations),
        session_id=opened.thread_id,
        timestamp=answer.created_at,
        confidence_level=answer.confidence.confidence_level,
        should_answer=not answer.refused,
        turn=opened.turn,
        answer=answer if whole else replace(answer, dropped=()),
        html=html,
    )


def source(citation: Citation, text: str) -> Source:
    return Source(
        label=citation.label,
        chunk_text=excerpt(text, citation.quote),
        quote=citation.quote,
        similarity_score=citation.score,
        relevance=citation.relevance,
        chapter=citation.chapter,
        section=citation.section,
        url=citation.source_url,
        chunk_index=citation.chunk_index,
    )


def excerpt(text: str, quote: str) -> str:
    """At most as much of the chunk as document E shows, with as much of the quote as fits."""
    if quote in text[:CHUNK_TEXT]:
        return text[:CHUNK_TEXT]
    start = text.find(quote)
    return text[max(0, start) :][:CHUNK_TEXT] if start >= 0 else quote[:CHUNK_TEXT]


def summary(thread: Thread) -> dict[str, Any]:
    names = "thread_id book_id title created_at updated_at archived_at topic_summary metadata turn_count"
    return {name: getattr(thread, name) for name in names.split()}


def past_events(stored: StoredTurn) -> list[TurnEvent]:
    """The events of a turn that has ended, as far as they are stored; the trace has what was found."""
    answer = stored.answer
    ended = Refused(answer=answer) if answer.refused else Answered(answer=answer)
    return [SearchBegun(asked=answer.query, question=answer.question), *answer.sentences, ended]


def rendered(sentences: tuple[Sentence, ...]) -> tuple[str, ...]:
    from bythebook.web.render.html import render_sentence  # late: it brings a highlighter for every language

    return tuple(render_sentence(sentence) for sentence in sentences)


def write(value: Any) -> bytes:
    kind: Any = type(value)
    return _adapter(kind).dump_json(value)


def json_response(value: Any, status: int = 200) -> Response:
    return Response(write(value), status, media_type="application/json")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
