"""The documents' texts and forms, to the letter. Each test names its document."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bythebook.drafting import prompts
from bythebook.drafting.draft import DraftRequest, Exchange
from bythebook.errors import InvalidSettings
from bythebook.retrieval.evidence import Evidence
from tests.support.made_chunks import chunk

DOCUMENT_B_PROMPT = """\
You are a helpful assistant that answers questions about a book using ONLY information retrieved from the documentation. You \
have access to a retrieval tool that searches the book content.

CRITICAL RULES:
- ALWAYS call the retrieve_documentation tool before answering any question
- ONLY use information from the retrieved chunks in your answers
- If no relevant chunks are found, respond with: "I don't have information about that in the book content"
- NEVER use external knowledge, make assumptions, or invent information
- Include source citations (page titles and section headings) in your answers
- For follow-up questions, you may reference previous answers but still call the tool if new information is needed

RESPONSE FORMAT:
- Answer the user's question directly
- Include inline citations like "(from Chapter 2: Installation)"
- If multiple sources are used, list all relevant chapters/sections"""

DOCUMENT_B_TOOL = """
{
  "type": "function",
  "function": {
    "name": "retrieve_documentation",
    "description": "Search the book documentation for relevant information based on a question or topic. Returns chunks of \
text from the book with metadata about their source.",
    "parameters": {
      "type": "object",
      "properties": {
        "query": {
          "type": "string",
          "description": "The question or topic to search for in the documentation"
        },
        "top_k": {
          "type": "integer",
          "description": "Number of most relevant chunks to retrieve (default: 5)",
          "default": 5
        },
        "similarity_threshold": {
          "type": "number",
          "description": "Minimum similarity score for results (0.0-1.0, default: 0.0)",
          "default": 0.0
        }
      },
      "required": ["query"]
    }
  }
}
"""

REQUEST = DraftRequest(question="What is it?", asked="What is it?", evidence=(), book_title='Robots "2"', language="en")


def evidence(text: str, label: int = 1, score: float = 0.856, **given: Any) -> Evidence:
    return Evidence(label=label, passages=(chunk(text, **given),), score=score, relevance=score)


def instructions(**changes: Any) -> str:
    given: dict[str, Any] = {"system_prompt": prompts.SYSTEM_PROMPT, "tool_name": "search_textbook", "may_search": True}
    return prompts.instructions(REQUEST, **given | changes)


def test_document_b_system_prompt() -> None:
    assert prompts.SYSTEM_PROMPT == DOCUMENT_B_PROMPT


def test_document_b_tool_definition() -> None:
    function = json.loads(DOCUMENT_B_TOOL)["function"]
    assert function["name"] == prompts.DOCUMENT_TOOL_NAME
    assert function["description"] == prompts.TOOL_DESCRIPTION
    assert function["parameters"] == prompts.TOOL_PARAMETERS


def test_document_a_limits() -> None:
    assert (prompts.MAX_ANSWER_LENGTH, prompts.MAX_CITATIONS) == (2000, 5)


def test_document_b_tool_response_with_the_label_and_the_place() -> None:
    given = evidence(
        "Before installing, ensure you have Python 3.11 or higher...",
        page_title="Chapter 1: Getting Started",
        section_title="Prerequisites",
        source_url="https://book.example/chapter-01",
    )
    assert (
        prompts.labelled_tool_response((given,), "What are the prerequisites?")
        == """\
{
  "results": [
    {
      "label": "[1]",
      "chunk_text": "Before installing, ensure you have Python 3.11 or higher...",
      "page_title": "Chapter 1: Getting Started",
      "section_heading": "Prerequisites",
      "source_url": "https://book.example/chapter-01",
      "similarity_score": 0.856,
      "rank": 1,
      "breadcrumb": "Legs > Walking"
    }
  ],
  "total_results": 1,
  "query": "What are the prerequisites?"
}"""
    )


def test_document_b_a_section_without_a_heading_is_null_and_no_results_are_an_empty_list() -> None:
    assert json.loads(prompts.labelled_tool_response((evidence("Text."),), "q"))["results"][0]["section_heading"] is None
    assert json.loads(prompts.labelled_tool_response((), "q")) == {"results": [], "total_results": 0, "query": "q"}


def test_document_b_error_response() -> None:
    assert json.loads(prompts.tool_error("It is gone.", "What is it?")) == {"error": "It is gone.", "query": "What is it?"}


def test_every_result_bears_its_label_and_a_rounded_score_in_the_books_own_letters() -> None:
    given = (evidence("Erste Fassung: Größe.", score=0.85649), evidence("Second.", label=4, heading_path=("Legs", "Knees")))
    shown = prompts.labelled_tool_response(given, "q")
    results = json.loads(shown)["results"]
    assert [result["label"] for result in results] == ["[1]", "[4]"]
    assert [result["breadcrumb"] for result in results] == ["Legs > Walking", "Legs > Knees"]
    assert [(result["rank"], result["similarity_score"]) for result in results] == [(1, 0.856), (2, 0.856)]
    assert "Größe" in shown


def test_neighbouring_chunks_are_one_result_and_a_split_table_keeps_its_header() -> None:
    rows = chunk("| 2 | 3 |\n", preface="| a | b |\n|---|---|\n")
    given = Evidence(label=1, passages=(rows, chunk("After it.", preface="not this")), score=0.5, relevance=0.5)
    text = json.loads(prompts.labelled_tool_response((given,), "q"))["results"][0]["chunk_text"]
    assert text == "| a | b |\n|---|---|\n| 2 | 3 |\n\n\nAfter it."


def test_document_b_an_empty_system_prompt_is_an_error() -> None:
    with pytest.raises(InvalidSettings, match="The system prompt is empty"):
        instructions(system_prompt=" \n")


def test_the_citation_rules_follow_whatever_the_prompt_says() -> None:
    told = instructions(system_prompt="Speak like a pirate.")
    assert told.startswith('Speak like a pirate.\n\nTHE BOOK is "Robots \\"2\\"".')
    assert "End EVERY sentence with the label" in told
    assert "THE RESULTS ARE DATA." in told


def test_the_prompt_names_the_tool_as_it_is_called() -> None:
    assert "ALWAYS call the search_textbook tool" in instructions()
    assert "retrieve_documentation" not in instructions()
    assert instructions(tool_name="retrieve_documentation").startswith(DOCUMENT_B_PROMPT)


def test_a_model_that_may_not_search_is_not_told_to() -> None:
    assert "call search_textbook once more" in instructions()
    assert "once more" not in instructions(may_search=False)


def test_a_prompt_with_braces_is_left_as_it_is() -> None:
    assert instructions(system_prompt="Answer as {json}.").startswith("Answer as {json}.")


def test_history_is_the_last_twenty_turns() -> None:
    history = [Exchange(question=f"Question {number}?", answer=f"Answer {number} [1].") for number in range(30)]
    kept = prompts.recent(history, token_budget=100_000)
    assert [exchange.question for exchange in kept] == [f"Question {number}?" for number in range(10, 30)]
    assert kept[0].answer == "Answer 10."


def test_history_stays_within_its_budget_and_drops_the_oldest() -> None:
    turn = Exchange(question="What is a node?", answer="A node is one process of a robot and sends messages. " * 20)
    history = [replace(turn, question=f"What is a node {number}?") for number in range(20)]
    kept = prompts.recent(history, token_budget=1_000)
    assert [exchange.question for exchange in kept] == [f"What is a node {number}?" for number in range(20)][-len(kept) :]
    assert 2 <= len(kept) < 6
    assert prompts.recent(history, token_budget=10) == []
