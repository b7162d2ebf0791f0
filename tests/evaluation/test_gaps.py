"""What readers asked and the book did not answer, by section; as values, as a spreadsheet and as issues."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from bythebook.answering.answer import Answer
from bythebook.database.engine import Database
from bythebook.evaluation.gap_texts import to_csv, to_issues
from bythebook.evaluation.gaps import ELSEWHERE, find_gaps, read_gaps
from bythebook.threads.model import StoredTurn
from bythebook.threads.review import Review
from bythebook.threads.store import Threads
from tests.support.databases import tell
from tests.support.made_turns import NEAREST, NOON, answer, citation, keep, refusal

LENS = replace(NEAREST, page_title="Lenses", heading_path=("Cleaning",), source_url="https://light.example/lenses#cleaning")


def turn(ended: Answer, thread_id: str = "a", **given: Any) -> StoredTurn:
    return StoredTurn(thread_id=thread_id, number=1, answer=ended, trace=None, **{"created_at": NOON, **given})


def test_questions_gather_at_the_section_nearest_to_them() -> None:
    later = NOON + timedelta(days=1)
    gaps = find_gaps([
        turn(refusal("What is a bank?")),
        turn(refusal("What does a wick cost?", reason="not_in_book"), "a"),
        turn(refusal("what does a wick  cost", reason="not_in_book"), "b", created_at=later),
        turn(refusal("Who weaves wicks?", reason="nothing_found")),
        turn(refusal("Which cloth is best?", reason="not_in_book", nearest=(LENS, NEAREST))),
        turn(refusal("How does an arc lamp work?", reason="outside_filters")),
        turn(answer("How is it trimmed?", level="low", citations=(citation(title="Scissors", section="Trays"),))),
    ])  # fmt: skip
    assert [(gap.title, gap.times) for gap in gaps] == [
        ("Wicks and oil › Trimming", 3),
        ("Lenses › Cleaning", 1),
        ("Scissors › Trays", 1),
        (ELSEWHERE, 1),
    ]
    cost, weaver = gaps[0].questions
    assert (cost.question, cost.times, cost.threads, cost.last_asked) == ("what does a wick cost", 2, 2, later)
    assert (weaver.ended, weaver.times) == ("nothing_found", 1)
    assert gaps[2].questions[0].ended == "low_confidence"


def test_no_turns_no_gaps() -> None:
    assert find_gaps([]) == []
    assert list(to_issues([])) == []
    assert len(to_csv([]).splitlines()) == 1


def test_what_readers_typed_stays_text() -> None:
    typed = '=HYPERLINK("x") `@keeper` **now**\nplease'
    gaps = find_gaps([turn(refusal(typed, reason="not_in_book"))])
    (row,) = csv.DictReader(io.StringIO(to_csv(gaps)))
    assert row["question"] == '\'=HYPERLINK("x") `@keeper` **now** please'
    assert row["chapter"] == "1"
    ((name, issue),) = to_issues(gaps)
    assert name == "001-wicks-and-oil-trimming.md"
    assert "- [ ] `=HYPERLINK(\"x\") '@keeper' **now** please` (near the subject" in issue
    assert "(https://light.example/wicks)" in issue


def test_a_wide_sign_starts_no_formula() -> None:
    """A spreadsheet in Japanese or Chinese takes it for the narrow one."""
    gaps = find_gaps([turn(refusal("\N{FULLWIDTH EQUALS SIGN}HYPERLINK", reason="not_in_book"))])
    (row,) = csv.DictReader(io.StringIO(to_csv(gaps)))
    assert row["question"] == "'\N{FULLWIDTH EQUALS SIGN}HYPERLINK"


def test_they_are_read_from_the_threads_that_are_kept(folder: Path) -> None:
    async def story(database: Database) -> None:
        threads = Threads(database)
        low = answer("Who was first?", level="low", disclaimer="Only lightly.")
        await keep(threads, refusal("What does a wick cost?", reason="not_in_book"), low, answer())
        await keep(threads, refusal("Elsewhere?", book_id="dark"), book_id="dark")
        gaps = await read_gaps(Review(database), "light")
        assert {one.question for gap in gaps for one in gap.questions} == {"What does a wick cost?", "Who was first?"}
        assert await read_gaps(Review(database), "light", since=NOON + timedelta(days=1)) == []

    tell(None, folder, story)
