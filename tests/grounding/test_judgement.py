"""What becomes of a sentence once a judge has, or has not, spoken."""

from __future__ import annotations

from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Doubtful, Supported, Unsupported
from bythebook.grounding.judgement import Judgement, Opinion, assertions_of, settle
from tests.support.checker_cases import Draft, evidence

CHECKER = Checker(evidence(), "en")
OWN_WORDS = Draft(
    text="Nobody but a person with training is permitted to undo it.", labels=(4,), basis="Only a trained person may release it"
)
BOOK_WORDS = Draft(
    text="The emergency stop cuts motor power within 100 ms.", labels=(4,), basis="The emergency stop cuts the power"
)
YES = Opinion(supported=True, words="Only a trained person may release it")
NO = Opinion(supported=False, words="Nobody")


def doubtful(draft: Draft) -> Doubtful:
    weighed = CHECKER.weigh(draft)
    assert isinstance(weighed, Doubtful), weighed
    return weighed


def test_a_judge_decides_about_words_that_are_not_the_books() -> None:
    one = doubtful(OWN_WORDS)
    assert isinstance(one.by_words, Unsupported)
    (yes,) = settle([one], Judgement(opinions=(YES,)))
    assert isinstance(yes.outcome, Supported)
    assert yes.by == "judge"
    (no,) = settle([one], Judgement(opinions=(NO,)))
    assert isinstance(no.outcome, Unsupported)
    assert no.outcome.reason == "means something else than its sources, says the judge (Nobody)"


def test_without_an_opinion_the_words_decide_and_it_is_noted() -> None:
    for judgement in (
        Judgement(opinions=(None,), note="no judge: it is late"),
        Judgement(opinions=(), note="no judge: it is late"),
    ):
        own, book = settle([doubtful(OWN_WORDS), doubtful(BOOK_WORDS)], judgement)
        assert isinstance(own.outcome, Unsupported)
        assert isinstance(book.outcome, Supported)
        assert (own.by, own.note) == (book.by, book.note) == ("words", "no judge: it is late")


def test_a_yes_that_shows_no_words_of_the_passage_is_not_believed() -> None:
    for words in ("", "robots must be obeyed"):
        (settled,) = settle([doubtful(OWN_WORDS)], Judgement(opinions=(Opinion(supported=True, words=words),)))
        assert isinstance(settled.outcome, Unsupported)
        assert settled.by == "words"


def test_a_sentence_whose_words_speak_for_it_is_asked_about_twice_in_one_batch() -> None:
    both = [doubtful(OWN_WORDS), doubtful(BOOK_WORDS)]
    assert isinstance(both[1].by_words, Supported)
    assert [claim.sentence for claim in assertions_of(both)] == [OWN_WORDS.text, BOOK_WORDS.text, BOOK_WORDS.text]
    believed = Opinion(supported=True, words="cuts the power of all motors")
    _, once = settle(both, Judgement(opinions=(NO, NO, believed)))
    _, never = settle(both, Judgement(opinions=(NO, NO, NO)))
    assert isinstance(once.outcome, Supported)
    assert isinstance(never.outcome, Unsupported)


def test_a_judge_is_shown_nothing_that_speaks_to_a_model() -> None:
    one = doubtful(
        Draft(
            text="The joint of the hip gets oil after 200 hours.", labels=(5,), basis="Lubricate the hip joint every 200 hours."
        )
    )
    assert "Lubricate the hip joint" in one.passages[0]
    assert "previous instructions" not in one.passages[0]
