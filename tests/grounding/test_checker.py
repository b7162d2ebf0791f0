"""Every sentence checked before a reader sees it (contract §6)."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bythebook.books.markdown import readable
from bythebook.books.model import Span
from bythebook.books.statements import statements
from bythebook.drafting.draft import DraftSentence
from bythebook.drafting.draft import Quote as DraftQuote
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Supported, Unsupported
from bythebook.retrieval.evidence import Evidence
from tests.support.checker_cases import CHATTER, HOSTILE, SUPPORTED, TEXTS, UNSUPPORTED, Case, Draft, Quote, evidence, passage
from tests.support.made_chunks import chunk

CHECKER = Checker(evidence(), "en")
QUOTABLE = [
    (label, one.start, one.end, one.readable)
    for label in TEXTS
    for one in statements("", TEXTS[label])
    if one.kind in ("sentence", "item")
]


def check(text: str, *cites: int, kind: str = "sentence") -> Supported | Unsupported:
    return CHECKER.check(Draft(text=text, labels=cites, kind=kind))


def reason(verdict: Supported | Unsupported) -> str:
    assert isinstance(verdict, Unsupported), verdict
    return verdict.reason


@pytest.mark.parametrize("case", SUPPORTED, ids=lambda case: case.text[:60])
def test_what_the_book_says_may_be_shown(case: Case) -> None:
    verdict = check(case.text, *case.cites, kind=case.kind)
    assert isinstance(verdict, Supported), verdict.reason
    assert verdict.text == case.text
    assert verdict.kind == case.kind
    assert {one.label for one in verdict.citations} <= {*case.cites}
    for citation in verdict.citations:
        text = TEXTS[citation.label]
        assert citation.quote == text[citation.span.start : citation.span.end]
        assert citation.span.first_line == 1 + text[: citation.span.start].count("\n")


@pytest.mark.parametrize("case", UNSUPPORTED, ids=lambda case: case.text[:60])
def test_what_the_book_does_not_say_is_removed(case: Case) -> None:
    assert reason(check(case.text, *case.cites, kind=case.kind))


@pytest.mark.parametrize("text", CHATTER)
def test_chatter_is_removed_even_when_it_cites(text: str) -> None:
    assert reason(check(text, 1, 4))


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_planted_instruction_makes_of_an_answer_is_removed(text: str) -> None:
    assert reason(check(text, 5))


def test_the_lesson_around_a_planted_instruction_still_counts() -> None:
    assert isinstance(check("Lubricate the hip joint every 200 hours.", 5), Supported)


def test_an_invented_label_is_ignored_beside_a_real_one() -> None:
    verdict = check("The lidar sees up to 12 m. [2][9]")
    assert isinstance(verdict, Supported)
    assert verdict.text == "The lidar sees up to 12 m."
    assert {one.label for one in verdict.citations} == {2}


def test_only_an_invented_label_is_none() -> None:
    assert reason(check("The lidar sees up to 12 m. [9]")) == "cites nothing that was found"


def test_a_label_that_carries_nothing_is_not_cited() -> None:
    verdict = check("The lidar turns at 10 Hz and sees up to 12 m.", 4, 2)
    assert isinstance(verdict, Supported)
    assert [one.label for one in verdict.citations] == [2]


def test_a_sentence_with_two_claims_rests_on_both_sources() -> None:
    verdict = check("Gazebo is an open simulator, and the emergency stop cuts the power of all motors.", 3, 4)
    assert isinstance(verdict, Supported)
    assert [one.label for one in verdict.citations] == [3, 4]
    assert verdict.citations[0].quote == "Gazebo is an open simulator that loads its worlds from SDF files."
    assert verdict.citations[1].quote == "The emergency stop cuts the power of all motors within 100 ms of a push."


def test_neither_source_alone_carries_both_claims() -> None:
    text = "Gazebo is an open simulator, and the emergency stop cuts the power of all motors."
    assert reason(check(text, 3))
    assert reason(check(text, 4))


def test_the_quote_is_the_smallest_stretch_with_its_place_in_the_file() -> None:
    held = chunk(
        "One.\r\n\r\nA gear has teeth. A belt has none.\r\n",
        chapter=3,
        chapter_title="Drives",
        heading_path=("Wheels", "Gears"),
        span=Span(start=100, end=144, first_line=10, last_line=12),
    )
    checker = Checker([Evidence(label=7, passages=(held,), score=0.5, relevance=0.6)], "en")
    verdict = checker.check(Draft(text="Gears have teeth.", labels=(7,)))
    assert isinstance(verdict, Supported)
    (citation,) = verdict.citations
    assert (citation.quote, citation.span.start, citation.span.end) == ("A gear has teeth.", 108, 125)
    assert (citation.span.first_line, citation.span.last_line) == (12, 12)
    assert (citation.chapter, citation.section, citation.score, citation.relevance) == ("Chapter 3: Drives", "Gears", 0.5, 0.6)


def test_evidence_found_while_drafting_can_be_cited() -> None:
    checker = Checker(evidence()[:1], "en")
    draft = Draft(text="The lidar sees up to 12 m.", labels=(2,))
    assert isinstance(checker.check(draft), Unsupported)
    checker.extend(evidence()[1:2])
    assert isinstance(checker.check(draft), Supported)


def test_a_drafts_own_values_are_what_is_checked() -> None:
    start = TEXTS[1].index("Nodes find")
    end = TEXTS[1].index(" server.") + len(" server.")
    draft = DraftSentence(
        text="Nodes find each other without a central server.",
        labels=(1,),
        quotes=(DraftQuote(label=1, chunk_id=passage(1).id, start=start, end=end),),
    )
    assert isinstance(CHECKER.check(draft), Supported)


# Quotes that are given: the book's own words.


def quoted(label: int, start: int, end: int, text: str, *, chunk_id: str | None = None) -> Supported | Unsupported:
    quote = Quote(label, chunk_id or passage(label).id, start, end)
    return CHECKER.check(Draft(text=text, labels=(label,), quotes=(quote,)))


@pytest.mark.parametrize(("label", "start", "end", "text"), QUOTABLE)
def test_every_exact_quote_passes(label: int, start: int, end: int, text: str) -> None:
    verdict = quoted(label, start, end, text)
    assert isinstance(verdict, Supported)
    (citation,) = verdict.citations
    assert citation.quote == TEXTS[label][start:end]
    assert isinstance(quoted(label, start, end, TEXTS[label][start:end]), Supported)


@given(one=st.sampled_from(QUOTABLE), where=st.integers(0, 200), put=st.characters(exclude_categories=["Cs", "Zs", "Cc"]))
def test_any_character_changed_in_a_quote_fails(one: tuple[int, int, int, str], where: int, put: str) -> None:
    label, start, end, text = one
    where %= len(text)
    changed = text[:where] + put + text[where + 1 :]
    assume(changed != text and not text[where].isspace())
    assume(not (where == 0 and put.casefold() == text[0].casefold()))
    assume(not (where == len(text) - 1 and put == "."))
    assert isinstance(quoted(label, start, end, changed), Unsupported)


@given(
    one=st.sampled_from([one for one in QUOTABLE if len(one[3].split()) > 4]),
    where=st.integers(0, 200),
    put=st.sampled_from("abcxyz059€"),
)
def test_any_character_changed_inside_quotation_marks_fails(one: tuple[int, int, int, str], where: int, put: str) -> None:
    label, _, _, text = one
    inside = text.replace("“", "").replace("”", "").rstrip(".,")
    assume(inside in readable(TEXTS[label]))
    where %= len(inside)
    changed = inside[:where] + put + inside[where + 1 :]
    assume(changed != inside and not inside[where].isspace() and changed not in readable(TEXTS[label]))
    assert reason(check(f"The lesson puts it so: “{changed}”", label))


@pytest.mark.parametrize(
    ("label", "start", "end", "chunk_id"),
    [(9, 0, 10, None), (1, -1, 10, None), (1, 10, 10, None), (1, 0, 10_000, None), (1, 0, 10, "another chunk")],
)
def test_a_quote_from_a_place_that_was_not_found_fails(label: int, start: int, end: int, chunk_id: str | None) -> None:
    quote = Quote(label, chunk_id or passage(1).id, start, end)
    verdict = CHECKER.check(Draft(text="A node is a named program.", labels=(1,), quotes=(quote,)))
    assert reason(verdict) == "quotes a place that was not found"


def test_a_quote_may_be_shortened_but_keeps_its_negations() -> None:
    text = "It is never triggered by software alone."
    start = TEXTS[4].index(text)
    assert isinstance(quoted(4, start, start + len(text), "Never triggered by software alone."), Supported)
    assert isinstance(quoted(4, start, start + len(text), "Triggered by software alone."), Unsupported)


def test_only_a_heading_may_stand_before_a_sentence_with_a_colon() -> None:
    text = "## enforce-blocks\n\nIt hides the link. Wheels turn."
    one = chunk(text)
    checker = Checker((Evidence(label=1, passages=(one,), score=0.8, relevance=0.8),), "en")

    def says(*stretches: str) -> bool:
        places = [(text.index(words), text.index(words) + len(words)) for words in stretches]
        quotes = tuple(Quote(1, one.id, start, end) for start, end in places)
        said = ": ".join(words.lstrip("# ") for words in stretches)
        return isinstance(checker.check(Draft(text=said, labels=(1,), quotes=quotes)), Supported)

    assert says("## enforce-blocks", "It hides the link.")
    assert not says("It hides the link.", "Wheels turn.")


def test_a_quoted_row_may_name_its_columns() -> None:
    row = next(one for one in statements("", TEXTS[3]) if one.kind == "row" and "DART" in one.readable)
    assert isinstance(quoted(3, row.start, row.end, row.readable), Supported)
    assert isinstance(quoted(3, row.start, row.end, row.readable.replace("1 ms", "2 ms")), Unsupported)


@pytest.mark.soak  # it measures time, which a busy machine may distort
def test_a_sentence_takes_less_than_three_milliseconds() -> None:
    drafts = [Draft(text=case.text, labels=case.cites, kind=case.kind) for case in (*SUPPORTED, *UNSUPPORTED)]
    for draft in drafts:
        CHECKER.check(draft)
    best = min(_seconds(drafts) for _ in range(3))
    assert best / len(drafts) < 0.003


def _seconds(drafts: list[Draft]) -> float:
    began = time.process_time()
    for draft in drafts:
        CHECKER.check(draft)
    return time.process_time() - began
