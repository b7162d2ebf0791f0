"""Several questions in one turn: each is answered from its own place, or the answer says which one the book does not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from bythebook.answering.answer import MAX_ANSWER_LENGTH, MAX_CITATIONS
from bythebook.answering.markdown import read_exchange, to_markdown
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence, NotInPassages
from bythebook.texts import texts
from tests.support.lighthouse import FOREIGN, LAMP, TRIMMED, WICK, Forbidden, Lighthouse, Scripted, tell

LENS = "What is a Fresnel lens?"
GLASS = "A Fresnel lens is a stack of glass rings that bends light into one flat beam."
MORSE = "How often does the radio beacon repeat its call sign?"
BOAT = "How often does the relief boat come?"
SUPPER = "Who baked the first croissant?"


def joint(*questions: str) -> str:
    return ", and ".join(one.rstrip("?")[0].lower() + one.rstrip("?")[1:] for one in questions) + "?"


class DeclinesTheSecond(Scripted):
    """A model that finds the first question's answer and says of every other that the passages do not have it."""

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        self.requests.append(request)
        yield DraftSentence(text=TRIMMED, labels=(request.evidence[0].label,)) if len(self.requests) == 1 else NotInPassages()


def test_both_are_answered_each_from_its_own_place(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer, results = await light.ask_with_results(joint(WICK, LENS))
        assert {TRIMMED, GLASS} <= {one.text for one in answer.sentences}
        cited = {sentence.text: sentence.citations[0].source_file for sentence in answer.sentences}
        assert (cited[TRIMMED], cited[GLASS]) == (f"{LAMP}/01-wicks.md", f"{LAMP}/02-lenses.md")
        assert [one.label for one in answer.citations] == list(range(1, len(answer.citations) + 1))
        assert {one.chunk_id for one in answer.citations} <= {one.id for one in results}
        alone = [await light.ask(one) for one in (WICK, LENS)]
        assert answer.confidence.average_similarity == min(one.confidence.average_similarity for one in alone)
        assert answer.confidence.confidence_level in [one.confidence.confidence_level for one in alone]
        assert answer.question == joint(WICK, LENS)
        assert answer.disclaimer in (None, texts("en").disclaimer)

    tell(folder, story)


def test_the_one_that_the_book_does_not_answer_is_named_and_the_level_is_low(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        assert (await light.ask(WICK)).confidence.confidence_level in ("high", "medium")
        for asked in (joint(WICK, SUPPER), joint(SUPPER, WICK), f"{SUPPER} {WICK}"):
            answer = await light.ask(asked)
            assert answer.sentences[0].text == TRIMMED
            assert answer.confidence.confidence_level == "low"
            assert answer.disclaimer == texts("en").part_missing.format(questions=f"“{SUPPER}”")
            assert answer.answer.endswith(f"\n\n{answer.disclaimer}")
            assert read_exchange(asked, to_markdown(answer)).answer == answer.answer.removesuffix(f"\n\n{answer.disclaimer}")

    tell(folder, story)


def test_where_the_book_answers_none_of_them_it_refuses_and_calls_no_drafter(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(f"{FOREIGN} {SUPPER}", Forbidden())
        assert answer.refused
        assert answer.reason in [(await light.ask(one)).reason for one in (FOREIGN, SUPPER)]
        assert answer.nearest

    tell(folder, story)


def test_a_model_is_asked_each_by_itself_and_may_decline_one(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        model = DeclinesTheSecond()
        answer = await light.ask(joint(WICK, LENS), model, model_decides=True)
        assert [one.question for one in model.requests] == [one.asked for one in model.requests] == [WICK, LENS]
        assert [one.text for one in answer.sentences] == [TRIMMED]
        assert answer.confidence.confidence_level == "low"
        assert answer.disclaimer
        assert f"“{LENS}”" in answer.disclaimer

    tell(folder, story)


def test_what_comes_after_the_fourth_is_left_and_named_and_the_limits_hold(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(" ".join([WICK, LENS, MORSE, BOAT, SUPPER]))
        assert answer.disclaimer
        assert answer.disclaimer.endswith(texts("en").part_left.format(questions=f"“{SUPPER}”"))
        assert {TRIMMED, GLASS} <= {one.text for one in answer.sentences}
        assert answer.confidence.confidence_level == "low"
        many = await light.ask(" ".join([WICK, LENS, MORSE, BOAT] * 6)[:1000])
        for one in (answer, many):
            assert len(one.answer) <= MAX_ANSWER_LENGTH
            assert len(one.citations) <= MAX_CITATIONS
            said = [sentence.text for sentence in one.sentences]
            assert len(said) == len(set(said))

    tell(folder, story)
