"""A turn as messages."""

from __future__ import annotations

import json
from dataclasses import replace

from bythebook.books.model import Span
from bythebook.drafting.draft import ToolCall
from bythebook.retrieval.query import SearchResult
from bythebook.threads.transcript import found_texts, spoken
from tests.support.made_turns import NOON, answer

RESULT = SearchResult(
    rank=1,
    id="c1",
    text="The keeper trims the wick.",
    preface="",
    score=0.7,
    relevance=0.9,
    source_file="wicks.md",
    source_url="https://light.example/wicks",
    section_title=None,
    page_title="Wicks and oil",
    chapter_title="The light",
    heading_path=("Wicks and oil",),
    module="lamp",
    chapter=1,
    lesson=1,
    hardware_tier=1,
    proficiency_level="A2",
    layer="L1",
    chunk_index=0,
    total_chunks=1,
    parent_doc_id="p1",
    prev_chunk_id=None,
    next_chunk_id=None,
    content_hash="h",
    span=Span(start=0, end=26, first_line=1, last_line=1),
)


def test_the_programs_search_stands_in_document_bs_form() -> None:
    _, call, output, _ = spoken(answer("Why is it trimmed?"), [(RESULT,)], turn=3, asked_at=NOON)
    (asked,) = call.tool_calls or ()
    assert asked["function"] == {"name": "search_textbook", "arguments": '{"query": "Why is it trimmed?"}'}
    assert json.loads(output.content) == {
        "results": [
            {
                "chunk_text": "The keeper trims the wick.",
                "page_title": "Wicks and oil",
                "section_heading": None,
                "source_url": "https://light.example/wicks",
                "similarity_score": 0.9,
                "rank": 1,
                "query_id": "call_3_1",
                "breadcrumb": "Wicks and oil",
                "chunk_index": 0,
                "metadata": {
                    "chunk_id": "c1",
                    "score": 0.7,
                    "relevance": 0.9,
                    "source_file": "wicks.md",
                    "module": "lamp",
                    "chapter": 1,
                    "lesson": 1,
                    "hardware_tier": 1,
                    "proficiency_level": "A2",
                    "layer": "L1",
                    "content_hash": "h",
                },
            }
        ],
        "total_results": 1,
        "query": "Why is it trimmed?",
    }


def test_further_searches_and_failed_ones_are_told_too() -> None:
    calls = (
        ToolCall(tool_name="search_textbook", query="wick", results_count=1, avg_similarity=0.9, timestamp=NOON),
        ToolCall(tool_name="search_textbook", query="oil", results_count=2, avg_similarity=0.5, timestamp=NOON),
        ToolCall(
            tool_name="search_textbook",
            query="",
            results_count=0,
            avg_similarity=0.0,
            error="The query must not be empty.",
            timestamp=NOON,
        ),
    )
    other = replace(RESULT, id="c2", text="The reservoir holds nine litres.")
    messages = spoken(answer(tool_calls=calls), [(RESULT,), (RESULT, other)], turn=2, asked_at=NOON)
    assert [message.role for message in messages] == ["user", *(("assistant", "tool") * 3), "assistant"]
    outputs = [message for message in messages if message.role == "tool"]
    assert [message.tool_call_id for message in outputs] == ["call_2_1", "call_2_2", "call_2_3"]
    told = json.loads(outputs[1].content)
    assert (told["total_results"], told["query"]) == (2, "oil")
    assert [one["chunk_text"] for one in told["results"]] == [RESULT.text, other.text]
    assert found_texts(messages) == {"c1": RESULT.text, "c2": other.text}
    assert json.loads(outputs[2].content) == {"error": "The query must not be empty.", "query": ""}
    assert [message.timestamp for message in outputs] == [call.timestamp for call in calls]
