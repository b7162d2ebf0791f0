"""Document A, the one-shot agent, rule by rule: its constants, texts, ranges, gate and formats."""

from __future__ import annotations

import dataclasses
import inspect
import json
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
from bythebook.grounding.verdict import (
    DEFAULT_SCORE_THRESHOLD,
    MIN_CHUNKS_FOR_ANSWER,
    Answerable,
    Unanswerable,
    assess,
    decide,
)
from bythebook.settings import read_settings
from bythebook.texts import texts
from tests.cli.conftest import Cli
from tests.contract.conftest import Asking
from tests.support.lighthouse import ARC, FOREIGN, NEAR, TRIMMED, WICK, Forbidden, Lighthouse, Scripted, tell

NO_CONTEXT = "I cannot answer this question based on the textbook content. No relevant information was found."
LOW_SCORE = "I cannot answer this question with confidence. The retrieved content has low relevance to your question."
OFF_TOPIC = "This question appears to be outside the scope of the Physical AI & Humanoid Robotics textbook."


def test_constants() -> None:
    assert (DEFAULT_SCORE_THRESHOLD, MIN_CHUNKS_FOR_ANSWER) == (0.3, 1)
    assert (ask.LEAST_K, ask.MOST_K) == (3, 8)
    assert (answers.MAX_ANSWER_LENGTH, answers.MAX_CITATIONS) == (2000, 5)


def test_refusal_texts() -> None:
    said = texts("en")
    assert (said.no_context, said.low_score) == (NO_CONTEXT, LOW_SCORE)
    assert said.off_topic.format(title="Physical AI & Humanoid Robotics") == OFF_TOPIC


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


def test_a_draft_that_nothing_backs_is_refused_in_words_that_are_true_of_it(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(WICK, Scripted("Nothing of this is in the book."))
        assert answer.confidence.max_similarity > 0.85
        assert answer.answer.startswith(f"I cannot answer this question with confidence. {texts('en').unsupported}")
        assert "low relevance" not in answer.answer

    tell(folder, story)


def test_the_response_has_the_documents_fields(folder: Path) -> None:
    names = "answer citations query grounded refused retrieval_time_ms generation_time_ms tool_calls"
    assert {field.name for field in dataclasses.fields(Answer)} >= set(names.split())
    assert {field.name for field in dataclasses.fields(Citation)} >= {"source_url", "chapter", "section", "score", "chunk_index"}

    async def story(light: Lighthouse) -> None:
        answer, found = await light.ask_with_results(WICK)
        assert answer.total_time_ms == answer.retrieval_time_ms + answer.generation_time_ms
        response = agent_response(answer, found)
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


def test_the_three_thresholds_have_each_an_effect(ask: Asking) -> None:
    """`--threshold` is for the best result, `--similarity-threshold` leaves results out, `--no-gate` lets these two decide."""
    near = ask(NEAR)
    best = near["confidence"]["max_similarity"]
    assert (near["reason"], near["confidence"]["confidence_level"]) == ("not_in_book", "insufficient")
    assert ask(NEAR, "--threshold", "0")["refused"]
    open_gate = ask(NEAR, "--no-gate", "--threshold", str(best - 0.01))
    assert (open_gate["refused"], open_gate["grounded"]) == (False, True)
    assert open_gate["confidence"]["confidence_level"] == "insufficient"
    assert open_gate["confidence"]["should_answer"] is True
    assert open_gate["answer"].endswith(texts("en").disclaimer)
    closed = ask(NEAR, "--no-gate", "--threshold", str(best + 0.01))
    assert closed["detail"].startswith("All retrieved content has low relevance (max score: ")
    levels = [one["relevance"] for one in ask(WICK, "--k", "8")["grounding_context"]["chunks"]]
    middle = (levels[0] + levels[-1]) / 2
    fewer = ask(WICK, "--k", "8", "--similarity-threshold", str(middle))
    assert fewer["retrieval_count"] == len([level for level in levels if level >= middle]) < 8
    assert all(one["relevance"] >= middle for one in fewer["sources"])


def test_inline_citations_in_text_and_json(shelf: Cli, ask: Asking) -> None:
    (one,) = ask(WICK)["citations"]
    form = f"[Source: {one['source_url']} | Chapter: {one['chapter']} | Section: {one['section']} | Score: {one['score']:.2f}]"
    assert ask(WICK, "--citations", "inline")["answer"] == f"{TRIMMED} {form}"
    printed = shelf("ask", WICK, "--citations", "inline").out
    assert form in printed
    assert "[1]" not in printed


def test_what_the_answer_was_made_from_is_in_the_json(ask: Asking) -> None:
    """GroundingContext and AssembledContext, under the document's names."""
    found = ask(WICK)
    grounding, assembled = found["grounding_context"], found["assembled_context"]
    chunks = grounding["chunks"]
    assert chunks[0].keys() >= {"text", "score", "source_url", "chunk_index", "chunk_id", "chapter", "section", "title"}
    assert (grounding["should_refuse"], grounding["refusal_reason"], grounding["has_context"]) == (False, "", True)
    assert grounding["source_count"] == len({one["source_url"] for one in chunks})
    assert (grounding["query"], grounding["max_score"]) == (WICK, found["confidence"]["max_similarity"])
    assert assembled["formatted_text"] == grounding["formatted_text"]
    assert (assembled["chunk_count"], assembled["total_chars"]) == (len(chunks), len(assembled["formatted_text"]))
    assert assembled["sources"] == list(dict.fromkeys(one["source_url"] for one in chunks))
    refused = ask(NEAR)["grounding_context"]
    assert (refused["should_refuse"], refused["has_context"], refused["formatted_text"]) == (True, False, "")
    assert refused["refusal_reason"]


ENERGY = """# Energy of an arm

An arm counts 2<sup>31</sup> ticks before its counter overflows.

## Formula

The formula for the kinetic energy of an arm is

```{math}
:label: kinetic
E = \\frac{1}{2} m v^2
```

```{note} The brake
The brake is closed before anybody enters the cell.
```
"""


def test_exponents_formulas_and_boxes_are_answered_as_what_they_are(cli: Cli, folder: Path) -> None:
    (folder / "energy").mkdir()
    (folder / "energy" / "01-energy.md").write_text(ENERGY)
    assert cli("ingest", folder / "energy").code == 0

    def said(question: str) -> list[tuple[str, str]]:
        answer = json.loads(cli("ask", question, "--no-gate", "--threshold", "0", "--json").out)
        return [(one["kind"], one["text"]) for one in answer["sentences"]]

    assert ("sentence", "An arm counts 2³¹ ticks before its counter overflows.") in said("How many ticks does an arm count?")
    assert ("maths", "$$\nE = \\frac{1}{2} m v^2\n$$") in said("What is the formula for the kinetic energy of an arm?")
    assert ("sentence", "The brake is closed before anybody enters the cell.") in said("When is the brake closed?")
