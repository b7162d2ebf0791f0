"""A turn as messages: the question, the searches and their results, the answer. Document B's state transitions. And the whole
transcript of a thread, in the forms of documents B and C."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from bythebook.answering.answer import Answer
from bythebook.drafting.draft import ToolCall
from bythebook.drafting.prompts import tool_error
from bythebook.retrieval.query import SearchResult
from bythebook.threads.model import Message, Thread

if TYPE_CHECKING:
    from bythebook.threads.store import Threads

METADATA = (
    "score", "relevance", "source_file", "content_hash",
    "module", "chapter", "lesson", "hardware_tier", "proficiency_level", "layer",
)  # fmt: skip
"""The fields of a result, besides its id, that document B's RetrievalResult has."""


def opening(system_prompt: str, asked_at: datetime) -> Message:
    """The message every transcript begins with."""
    return Message(role="system", content=system_prompt, timestamp=asked_at, turn=0)


def spoken(answer: Answer, found: Sequence[Sequence[SearchResult]], *, turn: int, asked_at: datetime) -> tuple[Message, ...]:
    """The messages of one turn. `found`: the results of each search that succeeded, the program's own search first."""
    given = iter(found)
    made = [Message(role="user", content=answer.query, timestamp=asked_at, turn=turn)]
    for number, call in enumerate(answer.tool_calls, start=1):
        call_id = f"call_{turn}_{number}"
        output = _output(call, call_id, next(given, ()) if call.error is None else ())
        made += [
            Message(role="assistant", content="", timestamp=call.timestamp, turn=turn, tool_calls=(_call(call, call_id),)),
            Message(
                role="tool", content=output, timestamp=call.timestamp, turn=turn, tool_name=call.tool_name, tool_call_id=call_id
            ),
        ]
    confidence = answer.confidence.average_similarity
    made.append(Message(role="assistant", content=answer.answer, timestamp=answer.created_at, turn=turn, confidence=confidence))
    return tuple(made)


def found_texts(messages: Sequence[Message]) -> dict[str, str]:
    """The text of every chunk that these messages found, by its id. Messages stored by an earlier version have no ids."""
    outputs = [json.loads(message.content) for message in messages if message.role == "tool"]
    found = [one for output in outputs for one in output.get("results", ())]
    return {one["metadata"]["chunk_id"]: one["chunk_text"] for one in found if "metadata" in one}


View = Literal["spoken", "all", "openai"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Document B's ConversationState and document C's Conversation. `model` is the one that answered last."""

    session_id: str
    id: str
    book_id: str
    model: str
    created_at: datetime
    started_at: datetime
    turn_count: int
    messages: tuple[Mapping[str, Any], ...]
    retrieval_history: tuple[ToolCall, ...]


async def read_transcript(threads: Threads, thread: Thread, *, view: View = "all") -> Transcript:
    """The whole transcript. `spoken`: only questions and answers. `openai`: in the form of chat completions."""
    turns = await threads.turns(thread.thread_id)
    messages = await threads.messages(thread.thread_id, archived=True)
    write = openai_message if view == "openai" else stored_message
    return Transcript(
        session_id=thread.thread_id,
        id=thread.thread_id,
        book_id=thread.book_id,
        model=turns[-1].answer.model,
        created_at=thread.created_at,
        started_at=thread.created_at,
        turn_count=thread.turn_count,
        messages=tuple(write(one) for one in messages if view != "spoken" or one.spoken),
        retrieval_history=tuple(call for turn in turns for call in turn.answer.tool_calls),
    )


def openai_message(message: Message) -> dict[str, Any]:
    """Document C's `to_openai_messages`, with the id that chat completions want in a tool's message."""
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = list(message.tool_calls)
    if message.tool_call_id:
        written["tool_call_id"] = message.tool_call_id
    return written


def stored_message(message: Message) -> dict[str, Any]:
    """The message with everything stored about it."""
    more = {"name": message.tool_name, "confidence": message.confidence}
    return {
        **openai_message(message),
        **{name: value for name, value in more.items() if value is not None},
        "timestamp": message.timestamp,
        "turn": message.turn,
        "archived": message.archived,
    }


def _call(call: ToolCall, call_id: str) -> Mapping[str, Any]:
    """A tool call in the form of chat completions."""
    arguments = json.dumps({"query": call.query}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": call.tool_name, "arguments": arguments}}


def _output(call: ToolCall, call_id: str, results: Sequence[SearchResult]) -> str:
    if call.error is not None:
        return tool_error(call.error, call.query)
    found = [
        {
            "chunk_text": result.preface + result.text,
            "page_title": result.page_title,
            "section_heading": result.section_title,
            "source_url": result.source_url,
            "similarity_score": result.score if result.relevance is None else result.relevance,
            "rank": result.rank,
            "query_id": call_id,
            "breadcrumb": " > ".join(result.heading_path),
            "chunk_index": result.chunk_index,
            "metadata": {"chunk_id": result.id, **{name: getattr(result, name) for name in METADATA}},
        }
        for result in results
    ]
    return json.dumps({"results": found, "total_results": len(found), "query": call.query}, ensure_ascii=False)
