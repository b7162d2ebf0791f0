"""One turn, with a real index and a real checker: what is answered, what is refused and why, and what nobody gets to see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bythebook.answering import answerer as answering
from bythebook.answering.answer import (
    MAX_ANSWER_LENGTH,
    MAX_CITATIONS,
    Answer,
    Answered,
    Found,
    SearchBegun,
    Sentence,
)
from bythebook.answering.question import MAX_QUESTION, Question, check_question
from bythebook.books.statements import statements
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence, Exchange, NotInPassages, Quote, ToolCall, Usage
from bythebook.errors import InvalidInput, NotFound, Unavailable
from bythebook.ingestion.request import IngestionRequest
from bythebook.retrieval.evidence import Evidence
from bythebook.retrieval.query import Scope
from bythebook.texts import texts
from tests.support.library import with_embedder
from tests.support.lighthouse import (
    ARC,
    DOUBTFUL,
    FOREIGN,
    LAMP,
    NEAR,
    ROCK,
    TRIMMED,
    WICK,
    Forbidden,
    Lighthouse,
    Scripted,
    make_embedder,
    tell,
)
from tests.support.made_turns import NOON
from tests.support.small_book import write

BRAID = "A wick is a braid of cotton that lifts oil to the flame."
CRUMBS = "Scissors with a tray catch the charred crumbs before they fall into the burner."


def source(folder: Path, path: str) -> str:
    return (folder / "book" / path).read_bytes().decode()


def quoted(evidence: Evidence) -> DraftSentence:
    """The first sentence of an evidence, as the extractive drafter would quote it."""
    one = next(one for one in statements(evidence.first.preface, evidence.first.text) if one.kind == "sentence")
    quote = Quote(label=evidence.label, chunk_id=evidence.first.id, start=one.start, end=one.end)
    return DraftSentence(text=one.readable, labels=(evidence.label,), quotes=(quote,))


class SearchesAgain(Scripted):
    """Asks for more, then quotes the first sentence of everything it was given."""

    def __init__(self, *queries: str) -> None:
        super().__init__()
        self._queries = queries
        self.found: list[tuple[Evidence, ...]] = []

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        self.requests.append(request)
        assert request.search_again is not None
        known = {evidence.label: evidence for evidence in request.evidence}
        for query in self._queries:
            found = await request.search_again(query, 3, 0.0)
            self.found.append(found)
            known.update((evidence.label, evidence) for evidence in found)
            yield ToolCall(tool_name="search_textbook", query=query, results_count=len(found), avg_similarity=0.5, timestamp=NOON)
        for evidence in known.values():
            yield quoted(evidence)


def test_an_answer_tells_as_it_goes(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        events = await light.events(WICK)
        assert [type(event) for event in events[:3]] == [SearchBegun, Found, Sentence]
        assert events[0] == SearchBegun(asked=WICK, question=WICK)
        last = events[-1]
        assert isinstance(last, Answered)
        answer = last.answer
        assert answer.sentences == tuple(event for event in events if isinstance(event, Sentence))
        assert answer.answer.startswith(f"{TRIMMED} [1]")
        assert (answer.query, answer.book_id, answer.grounded, answer.refused, answer.reason) == (
            WICK,
            "light",
            True,
            False,
            None,
        )
        assert (answer.model, answer.tokens_used, answer.retrieval_count) == ("extractive", 0, 5)
        assert [(call.tool_name, call.query, call.results_count) for call in answer.tool_calls] == [("search_textbook", WICK, 5)]
        assert answer.total_time_ms == answer.retrieval_time_ms + answer.generation_time_ms > 0
        assert answer.created_at.tzinfo is not None

    tell(folder, story)


def test_every_quote_is_the_sources_own_characters(folder: Path) -> None:
    questions = (WICK, ARC, "What is the fog signal?", "Why do birds circle the lantern?", "What brings the relief boat?")

    async def story(light: Lighthouse) -> None:
        for text in questions:
            answer = await light.ask(text)
            assert answer.grounded, text
            citations = [citation for sentence in answer.sentences for citation in sentence.citations]
            assert citations
            for one in citations:
                whole = source(folder, one.source_file)
                assert whole[one.span.start : one.span.end] == one.quote
                assert whole.count("\n", 0, one.span.start) + 1 == one.span.first_line
            assert {label for sentence in answer.sentences for label in sentence.labels} == {
                one.label for one in answer.citations
            }

    tell(folder, story)


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        (FOREIGN, {"layer_filter": "L4"}, "nothing_found"),
        (FOREIGN, {}, "off_topic"),
        (NEAR, {}, "not_in_book"),
        (ARC, {"hardware_tier_filter": 1}, "outside_filters"),
        (ARC, {"module_filter": "rock"}, "outside_filters"),
        (ARC, {"layer_filter": "L4"}, "outside_filters"),
        (ARC, {"prefix_filter": ROCK}, "outside_filters"),
        (WICK, {"score_threshold": 1.0, "score_scale": "cosine"}, "not_in_book"),
    ],
)
def test_a_refusal_says_why_and_calls_no_drafter(folder: Path, text: str, given: dict[str, Any], reason: str) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(text, Forbidden(), **given)
        assert (answer.refused, answer.grounded, answer.reason) == (True, False, reason)
        assert (answer.sentences, answer.citations, answer.tokens_used) == ((), (), 0)
        assert answer.detail
        assert "The whole book was searched" in answer.answer
        assert len(answer.nearest) <= 3
        assert all(section.source_url.startswith("https://light.example/") for section in answer.nearest)
        assert bool(answer.nearest) == ("nearest sections" in answer.answer)
        assert bool(answer.nearest) == (reason != "nothing_found")

    tell(folder, story)


def test_a_draft_of_rubbish_is_refused_as_unsupported(folder: Path) -> None:
    rubbish = (
        "The keeper trims the wick every nine hours.",
        DraftSentence(text=TRIMMED, labels=(9,)),
        DraftSentence(text=TRIMMED, labels=()),
        "Bananas are blue and fly at night.",
    )

    async def story(light: Lighthouse) -> None:
        events = await light.events(WICK, Scripted(*rubbish))
        assert not any(isinstance(event, Sentence) for event in events)
        answer = await light.ask(WICK, Scripted(*rubbish))
        assert (answer.refused, answer.reason, answer.answer.count("hours")) == (True, "unsupported", 0)
        assert len(answer.dropped) == len(rubbish)
        assert all(dropped.reason for dropped in answer.dropped)
        assert answer.nearest[0].page_title == "Wicks and oil"

    tell(folder, story)


def test_what_is_not_backed_is_left_out_and_the_rest_is_released(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        drafter = Scripted(TRIMMED, "It is done with a silver knife from Norway.", Usage(prompt_tokens=30, completion_tokens=12))
        answer = await light.ask(WICK, drafter)
        assert answer.answer == f"{TRIMMED} [1]"
        assert [dropped.text for dropped in answer.dropped] == ["It is done with a silver knife from Norway."]
        assert (answer.tokens_used, answer.model) == (42, "scripted")

    tell(folder, story)


def test_where_the_filters_hide_it_the_reader_is_told_where_it_is(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(ARC, Forbidden(), hardware_tier_filter=1)
        first = answer.nearest[0]
        assert (first.page_title, first.hardware_tier, first.proficiency_level, first.layer) == (
            "The electric lamp",
            3,
            "B2",
            "L3",
        )
        assert first.source_url.startswith("https://light.example/module-1-lamp/chapter-1-the-light/electric")
        assert first.relevance > 0.6
        assert texts("en").outside_filters in answer.answer
        assert (await light.ask(ARC, hardware_tier_filter=3)).grounded

    tell(folder, story)


def test_the_prefix_is_recorded_as_the_filter_applied(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(WICK, prefix_filter=LAMP)
        assert (answer.grounded, answer.filter_applied) == (True, LAMP)
        assert {one.source_file.startswith(LAMP) for one in answer.citations} == {True}
        assert (await light.ask(WICK)).filter_applied is None

    tell(folder, story)


def test_the_literal_scale_is_the_cosine(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        _, found, *_ = await light.events(WICK, Scripted(TRIMMED), score_scale="cosine", score_threshold=0.0)
        assert isinstance(found, Found)
        assert [result.relevance for result in found.results] == [result.score for result in found.results]
        cosines = [result.score for result in found.results]
        assert found.confidence.average_similarity == pytest.approx(sum(cosines) / 5)
        assert found.confidence.max_similarity == max(cosines)
        literal = await light.ask(WICK, Forbidden(), score_scale="cosine", score_threshold=0.99)
        assert f"max score: {max(cosines):.2f} < threshold: 0.99" in literal.detail
        _, calibrated, *_ = await light.events(WICK)
        assert isinstance(calibrated, Found)
        assert calibrated.confidence.average_similarity > 0.85 > found.confidence.average_similarity

    tell(folder, story)


def test_results_below_the_similarity_threshold_are_left_out(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        _, everything, *_ = await light.events(WICK)
        assert isinstance(everything, Found)
        levels = [result.relevance or 0.0 for result in everything.results]
        middle = (levels[0] + levels[1]) / 2
        drafter = Scripted(TRIMMED)
        events = await light.events(WICK, drafter, similarity_threshold=middle)
        found, last = events[1], events[-1]
        assert isinstance(found, Found)
        assert isinstance(last, Answered)
        assert [result.id for result in found.results] == [everything.results[0].id]
        assert {evidence.label for evidence in drafter.requests[0].evidence} == {1}
        assert found.confidence == everything.confidence  # it is assessed on the pool, whatever is shown
        assert (last.answer.retrieval_count, last.answer.tool_calls[0].results_count) == (1, 1)

    tell(folder, story)


def test_a_similarity_threshold_nothing_reaches_finds_nothing(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        text = "Why is the lens heavy?"
        best = (await light.ask(text)).confidence
        assert best.should_answer
        assert best.max_similarity < 1
        answer = await light.ask(text, Forbidden(), similarity_threshold=(best.max_similarity + 1) / 2)
        assert answer.reason == "nothing_found"

    tell(folder, story)


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_confidence_is_assessed_on_the_same_pool_whatever_is_shown(folder: Path, limit: int) -> None:
    async def story(light: Lighthouse) -> None:
        found = (await light.events(WICK, limit=limit))[1]
        five = (await light.events(WICK))[1]
        assert isinstance(found, Found)
        assert isinstance(five, Found)
        assert found.confidence == five.confidence
        assert found.confidence.num_chunks == 5
        assert [result.rank for result in found.results] == list(range(1, limit + 1))

    tell(folder, story)


def test_low_confidence_answers_with_a_disclaimer(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        low = await light.ask(DOUBTFUL)
        assert (low.confidence.confidence_level, low.disclaimer) == ("low", texts("en").disclaimer)
        assert (await light.ask(WICK)).disclaimer is None

    tell(folder, story)


def test_a_long_draft_ends_with_a_whole_sentence(folder: Path) -> None:
    """The first that does not fit ends the answer: a shorter one after it would leave a gap nobody sees."""

    async def story(light: Lighthouse) -> None:
        fitting = [BRAID] * 32
        answer = await light.ask(WICK, Scripted(*fitting, CRUMBS, TRIMMED, Usage(prompt_tokens=1, completion_tokens=1)))
        assert answer.answer == " ".join(f"{text} [1]" for text in fitting)
        assert MAX_ANSWER_LENGTH - len(CRUMBS) - 5 < len(answer.answer) <= MAX_ANSWER_LENGTH
        assert answer.tokens_used == 2  # the draft was read to its end

    tell(folder, story)


def test_at_most_five_citations_and_no_marker_without_one(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        drafter = SearchesAgain("fog signal", "relief boat supplies", "iron shutters storm", "migrating birds")
        answer = await light.ask(WICK, drafter)
        assert max(evidence.label for found in drafter.found for evidence in found) > MAX_CITATIONS
        assert len(answer.citations) == MAX_CITATIONS
        assert {label for sentence in answer.sentences for label in sentence.labels} == {one.label for one in answer.citations}

    tell(folder, story)


def test_a_further_search_keeps_the_labels_and_the_checker_sees_what_it_found(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        drafter = SearchesAgain("Which birds strike the panes most often?", WICK)
        answer = await light.ask(WICK, drafter, limit=1)
        given = {evidence.first.id: evidence.label for evidence in drafter.requests[0].evidence}
        again = {evidence.first.id: evidence.label for found in drafter.found for evidence in found}
        assert {id: label for id, label in again.items() if id in given} == {id: given[id] for id in given if id in again}
        new = {label for id, label in again.items() if id not in given}
        assert new == set(range(len(given) + 1, len(given) + 1 + len(new)))
        assert drafter.found[0][0].first.page_title == "Birds at the lantern"
        birds = next(one for one in answer.citations if one.page_title == "Birds at the lantern")
        assert birds.label in new
        assert "Migrating birds circle the lantern" in answer.answer
        assert not answer.dropped
        assert [call.query for call in answer.tool_calls] == [WICK, "Which birds strike the panes most often?", WICK]

    tell(folder, story)


def test_a_further_search_stays_within_the_filters(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        drafter = SearchesAgain("Which birds strike the panes most often?")
        await light.ask(WICK, drafter, prefix_filter=LAMP)
        assert all(evidence.first.source_file.startswith(LAMP) for evidence in drafter.found[0])

    tell(folder, story)


def test_a_follow_up_is_asked_again_with_what_it_leans_on(folder: Path) -> None:
    history = (Exchange(question="What is a wick?", answer=f"{BRAID} [1]", sources=("Wicks and oil",)),)

    async def story(light: Lighthouse) -> None:
        drafter = Scripted(TRIMMED)
        searching, *_ = await light.events("How often is it trimmed?", drafter, history=history)
        assert isinstance(searching, SearchBegun)
        assert searching.asked == "How often is it trimmed?"
        assert "wick" in searching.question
        assert (drafter.requests[0].asked, drafter.requests[0].question) == (searching.asked, searching.question)
        assert drafter.requests[0].history == history
        answer = await light.ask("How often is it trimmed?", history=history)
        assert (answer.query, answer.question) == (searching.asked, searching.question)
        assert TRIMMED in answer.answer
        alone, after = [
            {one.id: one.score for one in event.results}
            for events in (
                await light.events(searching.question),
                await light.events("How often is it trimmed?", history=history),
            )
            for event in events
            if isinstance(event, Found)
        ]
        assert alone.keys() & after.keys()
        for id in alone.keys() & after.keys():
            assert after[id] == pytest.approx(alone[id], abs=1e-4), (
                "a score is the question's own, whatever is searched for beside it"
            )

    tell(folder, story)


def test_what_the_whole_book_is_about_is_not_searched_for(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        for asked, searched in (
            ("What is a wick in a lighthouse?", "What is a wick?"),
            ("What is a lens in a telescope?", "What is a lens in a telescope?"),
        ):
            searching, *_ = await light.events(asked)
            assert isinstance(searching, SearchBegun)
            assert (searching.asked, searching.question) == (asked, searched)

    tell(folder, story)


def test_instructions_in_a_lesson_are_text_and_nothing_else(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask("In which year was the page of the log book found?")
        assert answer.grounded
        for sentence in answer.sentences:
            (citation,) = sentence.citations
            assert sentence.text == " ".join(citation.quote.split())
            assert citation.page_title == "The log book"
        assert "cheese" not in (await light.ask(WICK)).answer

    tell(folder, story)


def test_a_question_in_another_language_is_told_the_books(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        german = await light.ask("Wie oft wird der Docht beschnitten?", Forbidden())
        assert german.refused
        assert "it is written in English" in german.answer
        for english in (NEAR, "Who was the first person to climb the mountain?"):
            assert "written in" not in (await light.ask(english, Forbidden())).answer

    tell(folder, story)


def test_another_books_text_is_never_evidence(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        path = folder / "other" / "lesson.md"
        path.parent.mkdir()
        path.write_text("# Wick\n\nThe keeper trims the wick every ninety hours, says the other book about the wick.\n")
        await light.library.ingest(path.parent, book_id="other")
        answer = await light.ask(WICK)
        assert "ninety" not in answer.answer
        assert TRIMMED in answer.answer
        with pytest.raises(NotFound, match=r"no book 'third'.*light, other"):
            await light.ask(WICK, Forbidden(), book_id="third")

    tell(folder, story)


@pytest.mark.parametrize("text", ["?", "ab", "§", "\n wick \t", "w" * MAX_QUESTION])
def test_odd_questions_end_with_a_result(folder: Path, text: str) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(text)
        assert isinstance(answer, Answer)
        assert answer.refused or answer.citations

    tell(folder, story)


def test_the_longest_follow_up_ends_with_a_result(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        history = (Exchange(question="What is a wick?", answer=BRAID),)
        assert (await light.ask("And it? " + "really " * 140, history=history)).query.startswith("And it?")

    tell(folder, story)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "A question takes 1 to 1,000 characters; this one has 0."),
        (" \n\t ", "this one has 0"),
        ("w" * 1001, "this one has 1,001"),
        ("wick\x00", "control characters"),
        ("wick\x1b[31m", "control characters"),
        ("wick\x7f", "control characters"),
        ("wick\x85", "control characters"),
        ("wick\udcff", "control characters"),
    ],
)
def test_what_cannot_be_asked(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told.replace(".", r"\.")):
        check_question(text)


@pytest.mark.parametrize("name", ["score_threshold", "similarity_threshold"])
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan")])
def test_thresholds_out_of_range(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=r"must be from 0\.0 to 1\.0, not"):
        Question(text=WICK, scope=Scope(book_id="light"), **{name: value})  # type: ignore[arg-type]
    Question(text=WICK, scope=Scope(book_id="light"), score_threshold=0.0, similarity_threshold=1.0)


class Endless(Scripted):
    """Says one sentence and never comes to an end."""

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        yield DraftSentence(text=TRIMMED, labels=(1,))
        await asyncio.Event().wait()


def test_a_draft_that_never_ends_is_given_up(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        with pytest.raises(Unavailable, match=r"0\.05 seconds"):
            await light.ask(WICK, Endless(), total_seconds=0.05)

    tell(folder, story)


def test_an_embedder_that_never_answers_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "EMBED_SECONDS", 0.05)
    silent = make_embedder()

    async def never(_: str) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(silent, "embed_question", never)

    async def story(light: Lighthouse) -> None:
        with pytest.raises(Unavailable, match="The search took longer than"):
            await replace(light, library=with_embedder(light.library, silent)).ask(WICK, Forbidden())

    tell(folder, story)


def test_the_limits_are_the_documents() -> None:
    assert (answering.EMBED_SECONDS, answering.SEARCH_SECONDS, answering.TOTAL_SECONDS) == (30.0, 30.0, 90.0)
    assert (MAX_QUESTION, MAX_ANSWER_LENGTH, MAX_CITATIONS) == (1000, 2000, 5)


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        (FOREIGN, {"layer_filter": "L4"}, "nothing_found"),
        (FOREIGN, {}, "off_topic"),
        (ARC, {"hardware_tier_filter": 1}, "outside_filters"),
        (NEAR, {"score_threshold": 1.0}, "not_in_book"),
    ],
)
def test_with_a_model_too_what_is_clear_is_refused_without_a_call(
    folder: Path, text: str, given: dict[str, Any], reason: str
) -> None:
    async def story(light: Lighthouse) -> None:
        assert (await light.ask(text, Forbidden(), model_decides=True, **given)).reason == reason

    tell(folder, story)


def test_with_a_model_the_doubtful_middle_is_the_models_to_tell(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        declines = Scripted(NotInPassages())
        refused = await light.ask(NEAR, declines, model_decides=True)
        assert (refused.refused, refused.reason) == (True, "not_in_book")
        assert refused.nearest
        assert len(declines.requests) == 1
        evidence = declines.requests[0].evidence
        answered = await light.ask(NEAR, Scripted(quoted(evidence[0])), model_decides=True)
        assert answered.grounded
        assert (answered.confidence.confidence_level, answered.disclaimer) == ("low", texts("en").disclaimer)

    tell(folder, story)


def test_as_many_passages_as_were_asked_for_reach_the_drafter(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        drafter = Scripted(TRIMMED)
        answer = await light.ask(WICK, drafter, limit=9)
        shown = {passage.id for one in drafter.requests[0].evidence for passage in one.passages}
        assert len(shown) >= 9
        assert answer.retrieval_count == 9
        few = await light.ask(WICK, Scripted(TRIMMED), limit=9, evidence_tokens=150)
        assert few.retrieval_count < 9

    tell(folder, story)


def test_the_books_own_sentence_before_a_missing_piece_of_code_is_told(folder: Path) -> None:
    """What a sentence with a colon leads to may not be there; what it says by itself is."""
    told = "The keeper oils the hinges of the gallery every spring, as this shows:"

    async def story(light: Lighthouse) -> None:
        book = folder / "hinges"
        write(book, "book.toml", 'book_id = "hinges"\n')
        write(book, "hinges.md", f"# Hinges\n\n{told}\n\n{{* ../missing.py *}}\n\nSalt eats iron.\n")
        await light.publisher.run(book, IngestionRequest(calibrate=False))
        answer = await light.ask("When does the keeper oil the hinges of the gallery?", book_id="hinges")
        assert answer.sentences[0].text == told

    tell(folder, story)
