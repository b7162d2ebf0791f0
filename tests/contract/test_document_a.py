"""Document A, the one-shot agent, rule by rule: its constants, texts, ranges, gate and formats."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest

from bythebook.answering import answer as answers
from bythebook.answering.answer import Answer, inline
from bythebook.answering.question import Question
from bythebook.cli import ask
from bythebook.cli.ask import agent_response
from bythebook.errors import InvalidSettings
from bythebook.grounding.citations import Citation
from bythebook.grounding.confidence import assess
from bythebook.grounding.verdict import (
    DEFAULT_SCORE_THRESHOLD,
    MIN_CHUNKS_FOR_ANSWER,
    Answerable,
    Unanswerable,
    decide,
)
from bythebook.settings import read_settings
from tests.support.lighthouse import ARC, FOREIGN, NEAR, WICK, Forbidden, Lighthouse, Scripted, tell

NO_CONTEXT = "I cannot answer this question based on the textbook content. No relevant information was found."
LOW_SCORE = "I cannot answer this question with confidence. The retrieved content has low relevance to your question."
OFF_TOPIC = "This question appears to be outside the scope of the Physical AI & Humanoid Robotics textbook."


def test_constants() -> None:
    assert (DEFAULT_SCORE_THRESHOLD, MIN_CHUNKS_FOR_ANSWER) == (0.3, 1)
    assert (ask.LEAST_K, ask.MOST_K) == (3, 8)
    assert (answers.MAX_ANSWER_LENGTH, answers.MAX_CITATIONS) == (2000, 5)


def test_refusal_texts() -> None:
    assert answers.REFUSAL_NO_CONTEXT == NO_CONTEXT
    assert answers.REFUSAL_LOW_SCORE == LOW_SCORE
    assert answers.REFUSAL_OFF_TOPIC.format(title="Physical AI & Humanoid Robotics") == OFF_TOPIC


def test_config_defaults() -> None:
    settings = read_settings()
    assert (settings.openai_model, settings.temperature, settings.agent_top_k) == ("gpt-4o-mini", 0.0, 5)
    assert (settings.agent_score_threshold, settings.tool_choice) == (0.3, "required")
    assert settings.qdrant_collection_name == "textbook_chunks"
    assert inspect.signature(Question).parameters["score_threshold"].default == 0.3


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("BYTHEBOOK_TEMPERATURE", ("0.0", "2.0"), ("-0.1", "2.1")),
        ("AGENT_SCORE_THRESHOLD", ("0.0", "1.0"), ("-0.01", "1.01")),
        ("BYTHEBOOK_TOOL_CHOICE", ("required", "auto", "none"), ("Required", "always")),
    ],
)
def test_config_ranges(monkeypatch: pytest.MonkeyPatch, name: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    for value in good:
        monkeypatch.setenv(name, value)
        read_settings()
    for value in bad:
        monkeypatch.setenv(name, value)
        with pytest.raises(InvalidSettings, match=name):
            read_settings()


def gate(*scores: float, threshold: float) -> Answerable | Unanswerable:
    return decide(assess(scores, []), score_threshold=threshold, shown=5, similarity_threshold=0.0)


def test_grounding_decision() -> None:
    """`max_score < threshold` refuses; equal does not. Both of the document's sentences are kept."""
    nothing, low = gate(threshold=0.3), gate(0.29, 0.1, threshold=0.3)
    assert isinstance(nothing, Unanswerable)
    assert nothing.detail == "No content retrieved from knowledge base"
    assert isinstance(low, Unanswerable)
    assert low.detail == "All retrieved content has low relevance (max score: 0.29 < threshold: 0.3)"
    assert isinstance(gate(0.9, 0.9, threshold=0.9), Answerable)


@pytest.mark.parametrize(
    ("text", "given", "wording"),
    [
        (FOREIGN, {"layer_filter": "L4"}, NO_CONTEXT),
        (ARC, {"hardware_tier_filter": 1}, NO_CONTEXT),
        (NEAR, {}, LOW_SCORE),
        (FOREIGN, {}, OFF_TOPIC.replace("Physical AI & Humanoid Robotics", "Keeping a Lighthouse")),
    ],
)
def test_a_refusal_begins_with_the_documents_words(folder: Path, text: str, given: dict[str, Any], wording: str) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(text, Forbidden(), **given)
        assert answer.answer.startswith(f"{wording} ")
        assert (answer.refused, answer.grounded) == (True, False)

    tell(folder, story)


def test_an_unsupported_draft_is_refused_in_the_documents_words(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(WICK, Scripted("Nothing of this is in the book."))
        assert answer.answer.startswith(f"{LOW_SCORE} ")

    tell(folder, story)


def test_the_response_has_the_documents_fields(folder: Path) -> None:
    names = "answer citations query grounded refused retrieval_time_ms generation_time_ms tool_calls"
    assert {field.name for field in dataclasses.fields(Answer)} >= set(names.split())
    assert {field.name for field in dataclasses.fields(Citation)} >= {"source_url", "chapter", "section", "score", "chunk_index"}

    async def story(light: Lighthouse) -> None:
        answer = await light.ask(WICK)
        assert answer.total_time_ms == answer.retrieval_time_ms + answer.generation_time_ms
        response = agent_response(answer)
        assert response["tool_calls"] == ["search_textbook"]  # a list of names, as the document has it
        assert response["total_time_ms"] == answer.total_time_ms

    tell(folder, story)


def test_the_inline_form_of_a_citation(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        (one,) = (await light.ask(WICK)).citations
        assert inline(one) == (
            f"[Source: {one.source_url} | Chapter: {one.chapter} | Section: {one.section} | Score: {one.score:.2f}]"
        )
        assert (one.section, one.chunk_index) == ("Trimming the wick", 0)
        assert one.chapter.startswith("Chapter 1: ")
        assert 0.0 <= one.score <= 1.0

    tell(folder, story)
