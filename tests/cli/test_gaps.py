"""`bythebook gaps`: from kept threads to what the author writes next."""

from __future__ import annotations

import asyncio
import csv
import json
from pathlib import Path

from bythebook.database.engine import Database, database_url
from bythebook.threads.store import Threads
from tests.cli.conftest import Cli
from tests.support.made_turns import answer, keep, refusal


def fill(folder: Path) -> None:
    async def ask() -> None:
        database = await Database.open(database_url(None, folder / "data"))
        try:
            asked = [refusal(text, book_id="small", reason="not_in_book") for text in ("Do elbows [ache]?", "Do elbows [ache]?")]
            await keep(Threads(database), *asked, answer(book_id="small", level="low"), book_id="small")
        finally:
            await database.close()

    asyncio.run(ask())


def test_gaps_are_listed_and_written(shelf: Cli, folder: Path) -> None:
    assert "No gap" in shelf("gaps").out
    fill(folder)
    outcome = shelf("gaps", "--csv", "gaps.csv", "--issues", "issues/new")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Wicks and oil › Trimming" in outcome.out
    assert "2 × Do elbows [ache]?" in outcome.out
    with (folder / "gaps.csv").open(encoding="utf-8") as file:
        assert [(row["question"], row["times"]) for row in csv.DictReader(file)] == [
            ("Do elbows [ache]?", "2"),
            ("How often is the wick trimmed?", "1"),
        ]
    assert len(list((folder / "issues" / "new").iterdir())) == 2
    found = json.loads(shelf("gaps", "--json").out)
    assert [(one["title"], one["times"]) for one in found[:1]] == [("Wicks and oil › Trimming", 2)]
    assert json.loads(shelf("gaps", "--json", "--since", "2030-01-01").out) == []
    assert json.loads(shelf("gaps", "--json", "--since", "0001-01-01").out) == found


def test_bad_input_is_one_sentence(shelf: Cli) -> None:
    missing = shelf("gaps", "--book", "third")
    assert missing.code == 1
    assert "no book 'third'" in missing.sentence()
    unwritable = shelf("gaps", "--csv", "no/such/gaps.csv")
    assert unwritable.code == 2
    assert "cannot be written" in unwritable.sentence()


def test_without_a_book(cli: Cli) -> None:
    outcome = cli("gaps")
    assert outcome.code == 1
    assert "There is no book yet" in outcome.sentence()
