"""A turn as messages: the question, the searches and their results, the answer. Document B's state transitions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bythebook.answering.answer import Answer
from bythebook.drafting.draft import ToolCall
from bythebook.drafting.prompts import tool_error
from bythebook.retrieval.query import SearchResult
from bythebook.threads.model import Message

METADATA = ("score", "relevance", "source_file", "module", "chapter", "lesson", "hardware_tier", "proficiency_level", "layer")
"""What document B's RetrievalResult takes along of a result, besides its id."""


def opening(system_prompt: str, asked_at: datetime) -> Message:
    """The message every transcript begins with."""
    return Message(role="system", content=system_prompt, timestamp=asked_at, turn=0)


def spoken(answer: Answer, found: Sequence[Sequence[SearchResult]], *, turn: int, asked_at: datetime) -> tuple[Message, ...]:
    """`found`: what each search gave that did not fail, the program's own first."""
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
    """The text of every chunk that these messages say was found, by its id. What an earlier version stored has no ids."""
    outputs = [json.loads(message.content) for message in messages if message.role == "tool"]
    found = [one for output in outputs for one in output.get("results", ())]
    return {one["metadata"]["chunk_id"]: one["chunk_text"] for one in found if "metadata" in one}


def _call(call: ToolCall, call_id: str) -> Mapping[str, Any]:
    """In the form that chat completions have."""
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
