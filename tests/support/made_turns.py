"""Turns made for the tests of the store: what an answering would have ended with."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from bythebook.answering.answer import Answer, Section, Sentence
from bythebook.books.model import Span
from bythebook.drafting.draft import ToolCall
from bythebook.grounding.citations import Citation
from bythebook.grounding.verdict import ConfidenceLevel, ConfidenceMetrics
from bythebook.threads.model import NewTurn
from bythebook.threads.store import Threads
from bythebook.threads.transcript import opening, spoken

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
NEAREST = Section(
    page_title="Wicks and oil",
    heading_path=("Wicks and oil", "Trimming"),
    source_url="https://light.example/wicks",
    module="lamp",
    chapter=1,
    lesson=1,
    hardware_tier=1,
    proficiency_level="A2",
    layer="L1",
    relevance=0.25,
)


def citation(label: int = 1, chunk_id: str = "c1", title: str = "Wicks and oil", section: str = "Trimming") -> Citation:
    return Citation(
        label=label,
        source_url="https://light.example/wicks#trimming",
        chapter="Chapter 1: The light",
        section=section,
        score=0.75,
        relevance=0.9,
        chunk_index=0,
        chunk_id=chunk_id,
        source_file="wicks.md",
        page_title=title,
        quote="The keeper trims the wick\nevery four hours.",
        span=Span(start=10, end=52, first_line=3, last_line=4),
    )


def answer(
    query: str = "How often is the wick trimmed?",
    *,
    book_id: str = "light",
    citations: tuple[Citation, ...] = (citation(),),
    level: ConfidenceLevel = "high",
    at: datetime = NOON,
    **given: Any,
) -> Answer:
    confidence = ConfidenceMetrics(
        average_similarity=0.875,
        min_similarity=0.5,
        max_similarity=1.0,
        num_chunks=5,
        chunk_diversity=0.25,
        confidence_level=level,
        should_answer=level != "insufficient",
    )
    said = Sentence(text="The keeper trims the wick every four hours.", kind="sentence", citations=citations)
    fields = {
        "answer": said.marked,
        "sentences": (said,),
        "citations": tuple({one.label: one for one in reversed(citations)}.values())[::-1],
        "question": query,
        "grounded": True,
        "refused": False,
        "reason": None,
        "detail": "",
        "disclaimer": None,
        "nearest": (),
        "filter_applied": None,
        "model": "extractive",
        "tokens_used": 0,
        "retrieval_count": 5,
        "tool_calls": (ToolCall(tool_name="search_textbook", query=query, results_count=5, avg_similarity=0.875, timestamp=at),),
        "dropped": (),
        "retrieval_time_ms": 12.5,
        "generation_time_ms": 2.25,
    }
    return Answer(query=query, book_id=book_id, confidence=confidence, created_at=at, **{**fields, **given})


def refusal(query: str = "What is a bank?", **given: Any) -> Answer:
    ended: dict[str, Any] = {"sentences": (), "grounded": False, "refused": True, "reason": "off_topic", "nearest": (NEAREST,)}
    return answer(query, citations=(), level="insufficient", **{**ended, "answer": "Not in this book.", **given})


def new_turn(ended: Answer, number: int = 1, **given: Any) -> NewTurn:
    asked_at = ended.created_at - timedelta(seconds=1)
    messages = spoken(ended, (), turn=number, asked_at=asked_at)
    if number == 1:
        messages = (opening("Answer from the book.", asked_at), *messages)
    return NewTurn(answer=ended, messages=messages, **given)


async def keep(
    threads: Threads,
    *answers: Answer,
    thread_id: str | None = None,
    key_id: str | None = None,
    book_id: str = "light",
    user_id: str | None = None,
) -> str:
    """A thread in which these turns follow."""
    thread_id = thread_id or str(uuid4())
    for ended in answers:
        lease = await threads.lease(thread_id, str(uuid4()), book_id=book_id, key_id=key_id)
        assert lease is not None
        made = new_turn(ended, lease.turn_count + 1)
        await threads.append(lease, replace(made, metadata={"user_id": user_id}) if user_id else made)
    return thread_id
