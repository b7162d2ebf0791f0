"""Outcomes marked against the book itself: what a turn says of itself is not believed."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.answering.answer import Answer
from bythebook.answering.answerer import Answerer
from bythebook.books.model import Span
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence
from bythebook.errors import Unavailable
from bythebook.evaluation.cases import Case
from bythebook.evaluation.files import read_cases
from bythebook.evaluation.lesson_texts import LessonTexts
from bythebook.evaluation.report import CaseDone, Report, evaluate, fitted_by
from bythebook.evaluation.run import Manner, Outcome
from bythebook.evaluation.scorer import Scorer
from bythebook.ingestion.calibrator import BookQuestion, for_fitting
from bythebook.plain import from_plain, to_plain
from tests.support.library import fast_folder
from tests.support.lighthouse import LAMP, NEAR, TRIMMED, WICK, Lighthouse, copy_published, open_lighthouse
from tests.support.questions import write_questions

pytestmark = pytest.mark.anyio
WICKS = f"{LAMP}/01-wicks.md"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def light_folder() -> Iterator[Path]:
    folder = fast_folder()
    copy_published(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
async def light(light_folder: Path) -> AsyncIterator[Lighthouse]:
    async with open_lighthouse(light_folder) as lighthouse:
        yield lighthouse


@asynccontextmanager
async def scorer(light: Lighthouse) -> AsyncIterator[Scorer]:
    state = await light.library.search.book("light")
    yield Scorer(LessonTexts(light.library.index, state), language=state.language)


def outcome(answer: Answer, **expected: object) -> Outcome:
    return Outcome(case=Case(id="wick", question=WICK, **expected), answer=answer)  # type: ignore[arg-type]


async def test_a_good_answer_earns_every_mark(light: Lighthouse) -> None:
    answer = await light.ask(WICK)
    async with scorer(light) as scoring:
        mark = await scoring.mark(
            outcome(answer, answerable=True, lessons=(WICKS,), quote=TRIMMED, keywords=("every four hours",)), fitted=False
        )
    assert mark.right is True
    assert (mark.lesson_cited, mark.quote_cited, mark.quote_stands, mark.words_found) == (True, True, True, 1.0)
    assert mark.quotes > 0
    assert (mark.inexact, mark.unsupported) == ((), ())
    assert mark.chapter == "Chapter 1: The light"


async def test_a_quote_that_is_not_in_the_source_is_found_out(light: Lighthouse) -> None:
    answer = await light.ask(WICK)
    sentence = answer.sentences[0]
    forged = replace(sentence.citations[0], quote=sentence.citations[0].quote.replace("wick", "lamp"))
    moved = replace(sentence.citations[0], span=Span(start=1, end=20, first_line=1, last_line=1))
    for citation in (forged, moved, replace(forged, source_file="nowhere.md")):
        tampered = replace(answer, sentences=(replace(sentence, citations=(citation,)),))
        async with scorer(light) as scoring:
            mark = await scoring.mark(outcome(tampered, answerable=True), fitted=False)
        assert mark.inexact == (citation.quote,)
        assert mark.right is False


async def test_a_sentence_its_sources_do_not_say_is_found_out(light: Lighthouse) -> None:
    answer = await light.ask(WICK)
    sentence = replace(answer.sentences[0], text="The keeper trims the wick every nine hours.")
    async with scorer(light) as scoring:
        mark = await scoring.mark(outcome(replace(answer, sentences=(sentence,)), answerable=True), fitted=False)
    assert mark.unsupported == ("The keeper trims the wick every nine hours.",)
    assert "says what its sources do not" in mark.faults


async def test_gold_that_the_book_no_longer_has(light: Lighthouse) -> None:
    answer = await light.ask(WICK)
    async with scorer(light) as scoring:
        gone = await scoring.mark(outcome(answer, answerable=True, lessons=(WICKS,), quote="Every nine hours."), fitted=False)
        other = await scoring.mark(outcome(answer, answerable=True, lessons=(f"{LAMP}/02-lenses.md",)), fitted=False)
        wordless = await scoring.mark(outcome(answer, answerable=True, answers=("nine hours", "ten")), fitted=False)
    assert (gone.quote_stands, gone.quote_cited, gone.right) == (False, False, False)
    assert (other.lesson_cited, other.citation_precision, other.right) == (False, 0.0, False)
    assert (wordless.words_found, wordless.right) == (0.0, False)


async def test_lessons_are_found_by_the_end_of_their_path_or_by_their_text(light: Lighthouse) -> None:
    state = await light.library.search.book("light")
    sources = LessonTexts(light.library.index, state)
    text = "A wick is a braid of cotton\nthat lifts oil to the flame."
    cases = [
        Case(id="end", question="?", lessons=("01-wicks.md",)),
        Case(id="bare", question="?", lessons=("01-wicks",)),
        Case(id="text", question="?", passage=text),
        Case(id="none", question="?", line=4, lessons=("99-nothing.md",)),
        Case(id="lost", question="?", line=5, passage="Nowhere in this book."),
    ]
    settled, remarks = await sources.settle(cases)
    assert [case.lessons for case in settled] == [(WICKS,), (WICKS,), (WICKS,), (), ()]
    assert [(remark.line, remark.message.partition(";")[0]) for remark in remarks] == [
        (4, "the book has no lesson '99-nothing.md'"),
        (5, "the book has no lesson with its passage"),
    ]


async def test_a_whole_lesson_can_be_put_together_again(light: Lighthouse, light_folder: Path) -> None:
    state = await light.library.search.book("light")
    lesson = await LessonTexts(light.library.index, state).lesson(WICKS)
    assert lesson is not None
    source = (light_folder / "book" / WICKS).read_text("utf-8")
    place = lesson.find("Cold oil   thickens and climbs")
    assert place is not None
    assert lesson.between(*place) == source[slice(*place)] == "Cold oil thickens and climbs"
    assert lesson.find("Cold *oil* thickens\nand :term:`climbs`") == place
    assert lesson.find('Cold&nbsp;<a href="oil.html">oil</a> thickens <code>and</code> :term:`climbs <climb>`') == place
    assert lesson.find("") is lesson.find("***") is None
    assert lesson.between(0, len(source)) is None


async def test_only_the_books_own_questions_were_fitted_by() -> None:
    """Which half, their ids there decide: "a" was used for fitting, "e" was not."""
    assert [for_fitting(id) for id in "ae"] == [True, False]
    own = [BookQuestion(id=id, text=f"Own question {id}?", answerable=True) for id in "ae"]
    cases = [
        Case(id="e", question="Own question e?"),
        Case(id="under another id", question="Own question a?"),
        Case(id="follow-up", question="And a?", standalone="Own question a?"),
        Case(id="a", question="A question that the book's folder does not have?"),
        Case(id="filtered", question="Own question a?", filters={"hardware_tier_filter": 1}),
    ]
    assert fitted_by(cases, own) == {"under another id", "follow-up"}
    assert "a" in fitted_by(cases, None)


class Down:
    """A drafter whose model does not answer, now and then or never."""

    model = "down"

    def __init__(self, *, for_question: str) -> None:
        self._for_question = for_question

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        if self._for_question in request.question:
            raise Unavailable("The model does not answer. Try again.")
        yield DraftSentence(text=request.question, labels=())

    async def close(self) -> None:
        pass


async def run(light: Lighthouse, path: Path, drafter: Down) -> Report:
    library = light.library
    answerer = Answerer(search=library.search, assessor=light.assessor, embedder=library.embedder, drafter=drafter)
    state = await library.search.book("light")
    events = [event async for event in evaluate(answerer, library.index, state, read_cases(path), Manner(), name=path.name)]
    assert isinstance(events[-1], Report)
    assert [event.done for event in events if isinstance(event, CaseDone)] == list(range(1, len(events)))
    return events[-1]


async def test_a_model_that_fails_one_question_fails_no_other(light: Lighthouse, tmp_path: Path) -> None:
    rows = [{"id": "wick", "question": WICK, "answerable": True}, {"id": "salary", "question": NEAR, "answerable": False}]
    report = await run(light, write_questions(tmp_path / "q.jsonl", rows), Down(for_question="wick"))
    wick, salary = report.marks
    (fault,) = wick.faults
    assert fault.startswith("could not be asked: ")
    assert salary.right is True
    assert from_plain(Report, to_plain(report)) == report


async def test_a_model_that_fails_every_question_is_an_error(light: Lighthouse, tmp_path: Path) -> None:
    path = write_questions(tmp_path / "q.jsonl", [{"id": "wick", "question": WICK}])
    with pytest.raises(Unavailable, match="The model does not answer"):
        await run(light, path, Down(for_question=""))
