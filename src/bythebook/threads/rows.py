"""Rows of the threads' tables as values, and values as rows. No SQL here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row

from bythebook.answering.answer import Answer, without_disclaimer
from bythebook.answering.trace import Trace
from bythebook.drafting.draft import Exchange
from bythebook.errors import StorageFailure
from bythebook.grounding.citations import Citation
from bythebook.plain import from_plain, to_plain
from bythebook.threads.model import CitedChunk, Message, StoredQuote, StoredTurn, Thread, archived_at


def thread_of(row: Row[Any], now: datetime) -> Thread:
    return Thread(
        thread_id=row.thread_id,
        book_id=row.book_id,
        key_id=row.key_id,
        title=row.title,
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived_at=archived_at(row.updated_at, now),
        topic_summary=row.topic_summary,
        metadata=row.metadata,
        turn_count=row.turn_count,
    )


def message_of(row: Row[Any]) -> Message:
    return Message(
        role=row.role,
        content=row.content,
        timestamp=row.timestamp,
        turn=row.turn,
        confidence=row.confidence,
        tool_calls=None if row.tool_calls is None else tuple(row.tool_calls),
        tool_name=row.tool_name,
        tool_call_id=row.tool_call_id,
        archived=row.archived,
    )


def message_row(message: Message, thread_id: str, position: int) -> dict[str, Any]:
    return {
        "thread_id": thread_id,
        "position": position,
        "turn": message.turn,
        "role": message.role,
        "content": message.content,
        "tool_calls": None if message.tool_calls is None else to_plain(message.tool_calls),
        "tool_name": message.tool_name,
        "tool_call_id": message.tool_call_id,
        "timestamp": message.timestamp,
        "confidence": message.confidence,
        "archived": message.archived,
    }


def turn_of(row: Row[Any]) -> StoredTurn:
    try:
        return StoredTurn(
            thread_id=row.thread_id,
            number=row.number,
            answer=from_plain(Answer, row.answer),
            trace=from_plain(Trace | None, row.trace),
            created_at=row.created_at,
            stale_since=row.stale_since,
            stale_labels=tuple(sorted({int(label) for label in (row.stale_labels or "").split(",") if label})),
        )
    except ValueError as error:
        raise StorageFailure(
            f"Turn {row.number} of the thread {row.thread_id} was stored by another version of By the Book and cannot be read "
            f"({error}). Upgrade By the Book, or delete the thread."
        ) from error


def quoted_of(row: Row[Any]) -> StoredQuote:
    cited = CitedChunk(**{name: getattr(row, name) for name in ("thread_id", "turn", "label", "chunk_id", "stale_since")})
    citations = [one for sentence in row.answer["sentences"] for one in sentence["citations"]]
    here = [one for one in citations if (one["label"], one["chunk_id"]) == (row.label, row.chunk_id)]
    return StoredQuote(
        cited=cited, question=row.answer["query"], citations=tuple(dict.fromkeys(from_plain(Citation, one) for one in here))
    )


def exchange_of(answer: dict[str, Any]) -> Exchange:
    """Reads what a follow-up may refer to from the stored columns: this runs before every turn."""
    places = ((one["page_title"], one["section"]) for one in answer["citations"])
    sources = tuple(" › ".join(filter(None, place)) for place in places)
    said = without_disclaimer(answer["answer"], answer.get("disclaimer"))
    return Exchange(question=answer["query"], answer=said, sources=sources, refused=answer.get("refused", False))
