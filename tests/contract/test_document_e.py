"""Document E, the chat API: its confidence metrics and what it takes as a question. Its HTTP side comes later."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

import pytest

from bythebook.answers import Found
from bythebook.errors import InvalidInput
from bythebook.grounding.confidence import RULES, ConfidenceLevel, ConfidenceMetrics, assess
from bythebook.retrieval.query import SearchQuery
from bythebook.turn import Question
from tests.lighthouse import FOREIGN, WICK, Lighthouse, tell

QUERY = SearchQuery(text="standing in")


def test_confidence_metrics_have_the_documents_fields() -> None:
    names = "average_similarity min_similarity max_similarity num_chunks chunk_diversity confidence_level should_answer"
    assert [field.name for field in dataclasses.fields(ConfidenceMetrics)] == names.split()
    assert get_args(ConfidenceLevel) == ("high", "medium", "low", "insufficient")


def test_the_scoring_rules() -> None:
    assert RULES == ((0.85, 5, "high"), (0.75, 3, "medium"), (0.60, 2, "low"))


def test_the_documents_example() -> None:
    metrics = assess([0.94, 0.92, 0.88, 0.83, 0.78], [])
    assert metrics.average_similarity == pytest.approx(0.87)
    assert (metrics.min_similarity, metrics.max_similarity, metrics.num_chunks) == (0.78, 0.94, 5)
    assert (metrics.confidence_level, metrics.should_answer) == ("high", True)


def test_the_documents_other_example_has_too_few_chunks_for_more_than_low() -> None:
    metrics = assess([0.92, 0.85], [])
    assert metrics.average_similarity == pytest.approx(0.885)
    assert (metrics.confidence_level, metrics.should_answer) == ("low", True)  # answered with a disclaimer


def test_low_answers_with_a_disclaimer_and_insufficient_refuses(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        low = await light.ask("Who designed the Fresnel lens?")
        assert (low.confidence.confidence_level, low.refused, bool(low.disclaimer)) == ("low", False, True)
        insufficient = await light.ask(FOREIGN)
        assert (insufficient.confidence.confidence_level, insufficient.refused) == ("insufficient", True)
        assert not insufficient.confidence.should_answer

    tell(folder, story)


def test_on_the_literal_scale_the_numbers_are_cosines(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        _, found, *_ = await light.events(WICK, score_scale="cosine")
        assert isinstance(found, Found)
        scores = [result.score for result in found.results]
        metrics = found.confidence
        assert metrics.average_similarity == pytest.approx(sum(scores) / len(scores))
        assert (metrics.min_similarity, metrics.max_similarity) == (min(scores), max(scores))
        assert all(0.0 <= score <= 1.0 for score in scores)

    tell(folder, story)


@pytest.mark.parametrize("length", [1, 1000])
def test_a_message_has_1_to_1000_characters(length: int) -> None:
    assert len(Question(text="w" * length, query=QUERY).text) == length
    assert Question(text=f"  {'w' * length}\n", query=QUERY).text.strip() == "w" * length


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "w" * 1001])
def test_other_messages_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="A question takes 1 to 1,000 characters"):
        Question(text=text, query=QUERY)


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_the_similarity_threshold_is_from_0_to_1(value: float) -> None:
    with pytest.raises(InvalidInput, match="similarity threshold must be from"):
        Question(text=WICK, query=QUERY, similarity_threshold=value)


def test_of_two_chunks_that_say_the_same_the_better_one_stays(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        copy = (folder / "book" / "module-1-lamp/chapter-1-the-light/01-wicks.md").read_text()
        (folder / "book" / "copy.md").write_text(copy)
        await light.library.ingest(folder / "book")
        _, found, *_ = await light.events(WICK, limit=8)
        assert isinstance(found, Found)
        hashes = [result.content_hash for result in found.results]
        assert len(hashes) == len(set(hashes))

    tell(folder, story)
