"""The story of one question, from what a reader types to words of the book that prove the answer, with nothing but real parts:
the sample book, the real embedder, the drafter that needs no model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from bythebook.answering.answer import Answer, Answered, Found, Refused, SearchBegun, Sentence, TurnEvent
from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question
from bythebook.cli.demo import sample_book
from bythebook.drafting.draft import DraftEvent, DraftRequest, Exchange
from bythebook.retrieval.query import Scope
from bythebook.settings import read_settings
from bythebook.wiring.author import Resources, open_resources
from tests.support.sample_library import sample_library

POLYGON = "What is the support polygon?"
BALANCE = "module-2-gazebo/chapter-4-simulated-robots/03-balance-and-walking.md"


class Silent:
    """A drafter for the turns in which none may be called."""

    model = "silent"

    def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        raise AssertionError(f"a drafter was called for {request.question!r}")

    async def close(self) -> None:
        pass


def test_the_path_of_a_question(folder: Path) -> None:
    asyncio.run(_story(sample_library(folder)))


async def _story(data: Path) -> None:
    async with open_resources(read_settings(data_dir=data)) as resources:
        # It is searched for as it was asked, and five results come with their relevance.
        events = await _ask(resources.answerer, POLYGON)
        searching, found, *sentences, last = events
        assert searching == SearchBegun(asked=POLYGON, question=POLYGON)
        assert isinstance(found, Found)
        assert found.results[0].source_file == BALANCE
        assert [result.rank for result in found.results] == [1, 2, 3, 4, 5]
        assert found.confidence.confidence_level == "high"

        # The answer comes sentence by sentence, each with the words of the book that carry it, at the place where they stand.
        assert all(isinstance(sentence, Sentence) for sentence in sentences)
        assert isinstance(last, Answered)
        answer = last.answer
        assert answer.answer.startswith(
            "The support polygon is the convex hull of all points at which the robot touches the ground. [1]"
        )
        _prove(answer)
        assert (answer.model, answer.tool_calls[0].tool_name) == ("extractive", "search_textbook")

        # The reader goes on, and says "it". The question is made whole before it is searched for.
        history = (Exchange(question=POLYGON, answer=answer.answer, sources=("Balance and walking in simulation",)),)
        follow_up = await _ask(resources.answerer, "How large is it when the robot stands on one foot?", history=history)
        assert isinstance(follow_up[0], SearchBegun)
        assert "support polygon" in follow_up[0].question
        assert isinstance(follow_up[-1], Answered)
        _prove(follow_up[-1].answer)

        # A beginner is told where the answer stands, and gets none. No drafter is called, here and below.
        quiet = _without_drafter(resources)
        beginner = await _refusal(quiet, POLYGON, levels=("A1", "A2", "B1"))
        assert beginner.reason == "outside_filters"
        assert beginner.nearest[0].page_title == "Balance and walking in simulation"
        assert beginner.nearest[0].proficiency_level == "C1"

        # What the book is not about, and what it is about without saying it, are refused with the reason and what is nearest.
        foreign = await _refusal(quiet, "Which wine goes with grilled fish?")
        assert foreign.reason == "off_topic"
        assert foreign.answer.startswith(
            "This question appears to be outside the scope of the Physical AI & Humanoid Robotics textbook. The whole book"
        )
        near = await _refusal(quiet, "Can I run micro-ROS on an ESP32 to read a foot pressure sensor?")
        assert near.reason == "not_in_book"
        assert all(section.source_url.startswith("https://physical-ai.example/") for section in (*near.nearest, *foreign.nearest))
        assert len(near.nearest) == 3


async def _ask(
    answerer: Answerer, text: str, *, history: tuple[Exchange, ...] = (), levels: tuple[str, ...] | None = None
) -> list[TurnEvent]:
    scope = Scope(book_id="physical-ai-robotics", proficiency_levels=levels)
    return [event async for event in answerer.answer(Question(text=text, scope=scope, history=history))]


async def _refusal(answerer: Answerer, text: str, *, levels: tuple[str, ...] | None = None) -> Answer:
    last = (await _ask(answerer, text, levels=levels))[-1]
    assert isinstance(last, Refused)
    return last.answer


def _without_drafter(resources: Resources) -> Answerer:
    return Answerer(
        search=resources.search,
        assessor=resources.assessor,
        embedder=resources.embedder,
        drafter=Silent(),
    )


def _prove(answer: Answer) -> None:
    """Whoever opens the lesson at the span finds the quote, character for character."""
    assert 1 <= len(answer.citations) <= 5
    assert len(answer.answer) <= 2000
    for sentence in answer.sentences:
        assert sentence.citations
        for citation in sentence.citations:
            source = (sample_book() / citation.source_file).read_bytes().decode()
            assert source[citation.span.start : citation.span.end] == citation.quote
            assert source.count("\n", 0, citation.span.start) + 1 == citation.span.first_line
            assert f"[{citation.label}]" in sentence.marked
