"""After an update of the program, `upgrade` brings each book to what this version would make of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.books.formats import readers
from tests.books.formats.test_notebook import cell, notebook
from tests.cli.conftest import Cli

UP_TO_DATE = "Everything is up to date.\n"


@pytest.fixture
def book(folder: Path) -> Path:
    book = folder / "joints"
    book.mkdir()
    (book / "elbow.ipynb").write_bytes(
        notebook(cell("markdown", "# Elbow\n\nAn elbow bends in one plane and carries the forearm."))
    )
    (book / "knee.md").write_text("# Knee\n\nA knee locks when the leg is straight and bears the weight.\n")
    return book


def test_files_that_an_earlier_version_read_are_read_again(cli: Cli, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("ingest", book).code == 0
    assert cli("upgrade").out == UP_TO_DATE
    newer = tuple(replace(one, version=one.version + 1) for one in readers.FORMATS)
    monkeypatch.setattr(readers, "FORMATS", newer)
    told = {part["part"]: part for part in json.loads(cli("doctor", "--json").out)}["index"]
    assert (told["state"], "read by an earlier version: joints" in told["told"]) == ("note", True)
    done = cli("upgrade")
    assert (done.code, done.out) == (0, "✓ joints: read again, 0 lessons changed, 2 chunks\n")
    assert cli("upgrade").out == UP_TO_DATE


def test_books_from_before_readers_were_noted_are_read_again(cli: Cli, book: Path, folder: Path) -> None:
    assert cli("ingest", book).code == 0
    with closing(sqlite3.connect(folder / "data" / "bythebook.db")) as database, database:
        database.execute("UPDATE ingestion_records SET claim = json_remove(claim, '$.read_by')")
    book.rename(folder / "elsewhere")
    missing = cli("upgrade")
    assert missing.code == 1
    assert "✗ joints: 1 lesson was read by an earlier version, elbow.ipynb among them; " in missing.out
    assert missing.out.endswith("run: bythebook ingest FOLDER --book joints --mode incremental --replace\n")
    (folder / "elsewhere").rename(book)
    assert cli("upgrade").out == "✓ joints: read again, 0 lessons changed, 2 chunks\n"
    assert cli("upgrade").out == UP_TO_DATE


def test_a_book_that_would_lose_lessons_is_left_to_its_author(cli: Cli, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (book / f"bone{number}.md").write_text(f"# Bone {number}\n\nBone number {number} is as long as a hand.\n")
    assert cli("ingest", book).code == 0
    for number in range(3):
        (book / f"bone{number}.md").unlink()
    newer = tuple(replace(one, version=one.version + 1) for one in readers.FORMATS)
    monkeypatch.setattr(readers, "FORMATS", newer)
    left = cli("upgrade")
    assert (left.code, "✗ joints: This would remove 3 of the 6 lessons" in left.out) == (1, True)
    assert f"bythebook ingest {book} --book joints --mode incremental --yes" in left.out
    assert len(json.loads(cli("lessons", "--json").out)) == 6
