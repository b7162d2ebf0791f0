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


def opening(system_prompt: str, asked_at: datetime) -> Message:
    """The message every transcript begins with."""
    return Message(role="system", content=system_prompt, timestamp=asked_at, turn=0)


def spoken(answer: Answer, results: Sequence[SearchResult], *, turn: int, asked_at: datetime) -> tuple[Message, ...]:
    """`results`: what the program's own search gave. Of a model's further searches it is known how many they were."""
    made = [Message(role="user", content=answer.query, timestamp=asked_at, turn=turn)]
    for number, call in enumerate(answer.tool_calls, start=1):
        call_id = f"call_{turn}_{number}"
        output = _output(call, results if number == 1 else None)
        made += [
            Message(role="assistant", content="", timestamp=call.timestamp, turn=turn, tool_calls=(_call(call, call_id),)),
            Message(
                role="tool", content=output, timestamp=call.timestamp, turn=turn, tool_name=call.tool_name, tool_call_id=call_id
            ),
        ]
    confidence = answer.confidence.average_similarity
    made.append(Message(role="assistant", content=answer.answer, timestamp=answer.created_at, turn=turn, confidence=confidence))
    return tuple(made)


def _call(call: ToolCall, call_id: str) -> Mapping[str, Any]:
    """In the form that chat completions have."""
    arguments = json.dumps({"query": call.query}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": call.tool_name, "arguments": arguments}}


def _output(call: ToolCall, results: Sequence[SearchResult] | None) -> str:
    if call.error is not None:
        return tool_error(call.error, call.query)
    if results is None:
        return json.dumps({"total_results": call.results_count, "query": call.query}, ensure_ascii=False)
    found = [
        {
            "chunk_text": result.preface + result.text,
            "page_title": result.page_title,
            "section_heading": result.section_title,
            "source_url": result.source_url,
            "similarity_score": result.score if result.relevance is None else result.relevance,
            "rank": result.rank,
        }
        for result in results
    ]
    return json.dumps({"results": found, "total_results": len(found), "query": call.query}, ensure_ascii=False)
