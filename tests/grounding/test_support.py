"""The book's sentences made ready, and the stretches that carry a drafted one. On the sample book itself."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import bythebook
from bythebook.books.booktoml import read_book
from bythebook.books.discovery import read_source as read_file
from bythebook.books.lesson import decode, read_lesson
from bythebook.books.model import Chunk
from bythebook.books.statements import statements
from bythebook.grounding.alignment import altered
from bythebook.grounding.blocks import find_block
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Supported, Unsupported
from bythebook.grounding.facts import read
from bythebook.grounding.support import best_windows, checked_source, signs
from bythebook.ingestion.plan import make_plan
from bythebook.retrieval.evidence import Evidence
from tests.support.checker_cases import NODES, RATES, Draft, passage
from tests.support.made_chunks import chunk

BOOK = Path(bythebook.__file__).parent / "sample_book"
SAMPLE = 25
"""Every so many chunks of the sample book."""


@cache
def chunks() -> tuple[Chunk, ...]:
    book, _ = read_book(BOOK)
    plan = make_plan(BOOK, book, {}, limit_bytes=1_000_000)
    lessons = (
        read_lesson(
            book,
            page.path,
            decode(read_file(BOOK, page.path), page.path),
            file_hash=page.file_hash,
            claim=page.claim,
            id_base=page.id_base,
            chapter_title=page.chapter_title,
        )
        for page in plan.pages
    )
    return tuple(one for lesson in lessons for one in lesson.chunks)


def own_sentences(one: Chunk) -> list[str]:
    said = [(statement.kind, statement.readable) for statement in statements(one.preface, one.text)]
    return [text for kind, text in said if kind in ("sentence", "item") and len(re.findall(r"[A-Za-z]{3,}", text)) > 3]


def is_supported(text: str, one: Chunk) -> bool:
    checker = Checker([Evidence(label=1, passages=(one,), score=0.8, relevance=0.8)], "en")
    return isinstance(checker.check(Draft(text=text, labels=(1,))), Supported)


def test_the_books_own_sentences_pass_and_fail_beside_another_chunk() -> None:
    held = chunks()[::SAMPLE]
    others = chunks()[SAMPLE // 2 :: SAMPLE]
    pairs = [
        (text, one, other) for one, other in zip(held, others, strict=False) for text in own_sentences(one) if text[-1] != "?"
    ]
    assert len(pairs) > 30
    assert [text for text, one, _ in pairs if not is_supported(text, one)] == []
    assert sum(is_supported(text, other) for text, _, other in pairs) <= len(pairs) // 50


NOT_INSERTED = re.compile(r"\b(is|are|can|may|must|will|should)\b (?!not|never|no\b)")


def test_a_sentence_of_the_book_that_is_denied_or_renumbered_fails() -> None:
    changed = []
    for one in chunks()[::SAMPLE]:
        for text in own_sentences(one):
            if NOT_INSERTED.search(text):
                changed.append((one, NOT_INSERTED.sub(r"\1 not ", text, count=1)))
            if number := re.search(r"(?<![\w.,])\d+(?![\w.,]\d|\w)", text):
                changed.append((one, f"{text[: number.start()]}{int(number[0]) + 7013}{text[number.end() :]}"))
    assert len(changed) > 20
    assert [text for one, text in changed if is_supported(text, one)] == []


def test_numbers_are_known_by_value_and_unit() -> None:
    reading = read("It moves 4,096 parts, 0.50 m, 5 to 10 %, \u22123 \u00b0C, 2 m/s and three metres at 20 hertz.", "en")
    assert reading.numbers >= {
        ("4096", ""), ("0.5", "m"), ("5", "%"), ("10", "%"), ("-3", "\u00b0C"), ("2", "m/s"), ("3", "m"), ("20", "Hz"),
    }  # fmt: skip


def test_names_are_words_with_capitals_inside_a_sentence_and_identifiers() -> None:
    reading = read("Robots use Isaac Sim and ROS through /cmd_vel, create_publisher or TwistStamped.", "en")
    assert {"Isaac", "Sim", "ROS"} <= reading.names
    assert "Robots" not in reading.names
    assert {"/cmd_vel", "create_publisher", "TwistStamped"} <= reading.identifiers
    assert reading.opening == "robot"


def test_a_noun_is_no_name_in_german() -> None:
    assert read("Der Roboter hebt das Bein mit ROS.", "de").names == {"ROS"}


@pytest.mark.parametrize(
    ("text", "count"),
    [("It is not only fast.", 0), ("It isn't fast.", 1), ("No, it is fast.", 0), ("It never stops without a push.", 2)],
)
def test_what_denies_and_what_does_not(text: str, count: int) -> None:
    assert len(read(text, "en").denials) == count


def test_the_window_is_as_small_as_it_can_be() -> None:
    source = checked_source(passage(2), "en")
    windows, share = best_windows(read("The planner runs at 2 Hz.", "en"), [source], most=2)
    assert share == 1.0
    assert [statement.reading.text for statement in windows[0].statements] == [
        "The planner runs at 2 Hz, because a new path is seldom needed."
    ]


def test_a_window_never_leaves_its_paragraph() -> None:
    source = checked_source(chunk("A gear turns.\n\nA belt slips."), "en")
    windows, _ = best_windows(read("A gear turns and a belt slips.", "en"), [source], most=2)
    assert [len(window.statements) for window in windows] == [1, 1]


def test_a_list_mark_is_no_part_of_a_quote() -> None:
    source = checked_source(passage(2), "en")
    quotes = [RATES[statement.start : statement.end] for statement in source.statements]
    assert "The lidar turns at 10 Hz and sees up to 12 m." in quotes
    assert not any(quote.startswith(("-", "#")) for quote in quotes)
    assert "## Nodes" not in [NODES[one.start : one.end] for one in checked_source(passage(1), "en").statements]


@pytest.mark.parametrize(
    ("text", "found"),
    [("plain é ñ", set()), ("h\u0456p", {"CYRILLIC"}), ("a\u200bb", {"U+200B"}), ("\uff12", {"FULLWIDTH"}), ("m\u00b2", set())],
)
def test_signs_tell_scripts_and_what_cannot_be_seen(text: str, found: set[str]) -> None:
    assert signs(text) == found


def test_signs_of_the_source_itself_are_welcome() -> None:
    persian = (
        "\u0631\u0628\u0627\u062a \u0645\u06cc\u200c\u0631\u0648\u062f \u0648 \u0645\u06cc\u200c\u0627\u06cc\u0633\u062a\u062f."
    )
    held = Evidence(label=1, passages=(chunk(persian),), score=0.8, relevance=0.8)
    assert isinstance(Checker([held], "fa").check(Draft(text=persian, labels=(1,))), Supported)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("The arm lifts five kilograms with two motors.", False),
        ("The arm lifts 5 kg with 2 motors.", False),
        ("The arm typically lifts five kilograms with two motors.", False),
        ("The leg lifts five kilograms with two motors.", True),
        ("The arm lifts five kilograms with two springs.", True),
        ("The arm does not lift five kilograms with two motors.", True),
        ("Two motors suffice: five kilograms rise.", False),
    ],
)
def test_a_word_that_differs_where_all_else_is_alike_is_a_change(text: str, changed: bool) -> None:
    assert (altered(text, ["The arm lifts five kilograms with two motors."], "en") is not None) == changed


def test_lines_of_code_may_be_left_out_but_not_changed_or_added() -> None:
    source = "Do this:\n\n```\nfirst()\n    second()\nthird()\n```\n"
    found = find_block("```\nsecond()\nthird()\n```", "code", source)
    assert found is not None
    assert source[slice(*found)] == "second()\nthird()"
    assert find_block("```\nthird()\nsecond()\n```", "code", source) is None
    assert find_block("```\nsecond()\nfourth()\n```", "code", source) is None
    assert find_block("```\n```", "code", source) is None


def test_the_head_of_a_split_table_may_stand_in_the_preface() -> None:
    rows = "| a | b |\n|---|---|\n| 3 | 4 |"
    assert find_block(rows, "table", "| 1 | 2 |\n| 3 | 4 |\n", "| a | b |\n|---|---|") is not None
    assert find_block(rows, "table", "| 1 | 2 |\n| 3 | 4 |\n") is None


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("The network layer inflates what the obstacle layer marks.", True),  # "inflation" stands there as "inflates" too
        ("The obstacle layer inflates what the obstacle layer marks.", True),
        ("The inflation layer inflates what the inflation layer marks.", True),
        ("The inflation layer inflates what the obstacle layer marks.", False),
    ],
)
def test_a_name_put_in_the_place_of_another_is_a_change_though_both_stand_in_the_sentence(text: str, changed: bool) -> None:
    assert (altered(text, ["The inflation layer inflates what the obstacle layer marks."], "en") is not None) == changed


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ("The **pump** doesn't run dry: its float stops it.", True),
        ("However, the pump doesn\u2019t run dry: its float stops it", True),
        ("The pump doesn't run dry: its valve stops it.", False),
        ("The pump doesn't run dry.", False),
        ("What does the float do?", False),
    ],
)
def test_a_copied_sentence_may_lose_what_says_nothing(said: str, same: bool) -> None:
    held = Evidence(
        label=1,
        passages=(chunk("What does the float do? But the pump doesn't run `dry`: its float stops it."),),
        score=0.8,
        relevance=0.8,
    )
    assert isinstance(Checker([held], "en").weigh(Draft(text=said, labels=(1,))), Supported) == same


PUMP = """\
The pump can be stopped from the panel, and you might want to close the valve first. The motor is not able to start while the
door is open. Its sensor reports the pressure of the outlet once per second, so that a leak is noticed early.

Declare `ValveGuard` as the guard of the outlet path in your plan. To enforce it, use `ValveGuardStrict` instead of `ValveGuard`.

The inlet gate inserts each input of the panel into the plan. The panel can list every open valve, so that you may skip the tour
of the hall. A leak leaves the motor unable to reach full speed. The guard does not trust the panel. With a long hose the pump can
become much slower, and it overheats with too strong a motor or not enough oil. 2 oil fillings last for all 3 motors. The
hall is heated since March.

If the filter is not detected, update the firmware of the panel with `panel-tool --no-color firmware`. Every hose of the hall
is tested in May. The options of the panel must be set before the start. The panel normalises the heat. A closed hatch can let
air in, but will not let oil out. The hatch cannot be opened by a visitor, but a keeper can open it. Open hatches are excluded
from the tour.

A wide funnel is useful when an inlet is narrow. For example, if you pour cold oil from a can in winter. The sheet can be
useful when you know the number of the pump.

| Tank | Holds |
|---|---|
| Blue | oil for up to 40 days |
"""


@pytest.mark.parametrize(
    ("text", "basis"),
    [
        (
            "Once a second, the sensor tells the pressure of the outlet.",
            "Its sensor reports the pressure of the outlet once per second",
        ),
        ("No: with the door open, the motor cannot start.", "The motor is not able to start while the\ndoor is open."),
        ("A leak is noticed early, because the sensor reports the pressure.", "so that a leak is noticed early"),
        (
            "Use `ValveGuardStrict` instead of `ValveGuard` as the guard of the outlet path in your plan.",
            "To enforce it, use `ValveGuardStrict` instead of `ValveGuard`.",
        ),
        ("The inlet gate puts each input of the panel into the plan.", "inserts each input of the panel into the plan"),
        (
            "You no longer have to tour the hall, because the panel lists every open valve.",
            "The panel can list every open valve, so that you may skip the tour\nof the hall.",
        ),
        ("With a leak, the motor cannot reach full speed.", "A leak leaves the motor unable to reach full speed."),
        ("The guard of the outlet path never trusts the panel.", "The guard does not trust the panel."),
        ("The hall is only heated since March.", "The\nhall is heated since March."),
        ("The blue tank holds oil for up to 40 days.", "for up to 40 days"),
        ("Update the firmware of the panel.", "If the filter is not detected, update the firmware of the panel"),
        (
            "The firmware is updated with `panel-tool`.",
            "update the firmware of the panel with `panel-tool --no-color firmware`",
        ),
        ("All hoses of the hall are tested in May.", "Every hose of the hall is tested in May."),
        ("Throughout May, every hose of the hall is tested.", "Every hose of the hall is tested in May."),
        (
            "It is mandatory to set the options of the panel before the start.",
            "The options of the panel must be set before the start.",
        ),
        ("The panel normalizes the heat.", "The panel normalises the heat."),
        ("A closed hatch lets air in but never lets oil out.", "A closed hatch can let air in, but will not let oil out."),
        (
            "Although a keeper can open it, the hatch cannot be opened by a visitor.",
            "The hatch cannot be opened by a visitor, but a keeper can open it.",
        ),
        ("The guard does not trust the panel either way.", "The guard does not trust the panel."),
        ("Open hatches are not on the tour.", "Open hatches are excluded from the tour."),
        ("A wide funnel suits an inlet when cold oil comes from a can.", "if you pour cold oil from a can in winter"),
        ("The number of the pump must be known for the sheet.", "The sheet can be useful when you know the number of the pump."),
    ],
)
def test_other_words_for_the_same_pass_without_a_judge(text: str, basis: str) -> None:
    assert isinstance(by_words(text, basis), Supported)


@pytest.mark.parametrize(
    ("text", "basis", "reason"),
    [
        ("You must close the valve before the pump is stopped.", "you might want to close the valve first", "'must'"),
        ("With the door open, the motor is able to start.", "The motor is not able to start while the\ndoor is open.", "deny"),
        ("The pressure of the outlet is not reported.", "Its sensor reports the pressure of the outlet", "deny"),
        ("The sensor of the pump measures heat, noise and vibration.", "Its sensor reports the pressure of the outlet", "more"),
        (
            "When its hose is long, the pump can get slightly slower.",
            "With a long hose the pump can\nbecome much slower",
            "slight",
        ),
        (
            "The pump overheats when the motor is not strong enough.",
            "it overheats with too strong a motor or not enough oil",
            "strong",
        ),
        ("The guard does not trust the panel unless the door is open.", "The guard does not trust the panel.", "'unless'"),
        ("Closing the valve first is required.", "you might want to close the valve first", "'required'"),
        ("You must tour the hall.", "you may skip the tour\nof the hall", "'must'"),
        ("For all 3 motors, 3 oil fillings are enough.", "2 oil fillings last for all 3 motors.", "says 3 oil"),
        ("With each motor the oil fillings double the heat.", "2 oil fillings last for all 3 motors.", "says 2,"),
        ("If the filter is detected, update the firmware.", "If the filter is not detected, update the firmware", "deny"),
        ("Visitors can open the hatch.", "The hatch cannot be opened by a visitor", "deny"),
    ],
)
def test_other_words_for_something_else_fall_without_a_judge(text: str, basis: str, reason: str) -> None:
    verdict = by_words(text, basis)
    assert isinstance(verdict, Unsupported)
    assert reason in verdict.reason


def test_a_row_that_rests_on_prose_is_held_against_its_words() -> None:
    basis = "Its sensor reports the pressure of the outlet once per second"
    assert isinstance(by_words("| Sensor | reports the pressure of the outlet once per second |", basis, "table"), Supported)
    assert isinstance(by_words("| Sensor | reports the heat of the outlet once per minute |", basis, "table"), Unsupported)


def by_words(text: str, basis: str, kind: str = "sentence") -> Supported | Unsupported:
    held = Evidence(label=1, passages=(chunk(PUMP),), score=0.8, relevance=0.8)
    return Checker([held], "en").check(Draft(text=text, labels=(1,), basis=basis, kind=kind))
