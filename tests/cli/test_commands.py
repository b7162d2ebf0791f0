"""What each command prints, for people and for programs."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.small_book import lesson, write, write_small_book

ELBOWS = "module-1-arms/chapter-1-joints/01-elbows.md"
D_RESULT = {
    *("text", "score", "source_file", "section_title", "module", "chapter", "lesson", "hardware_tier", "proficiency_level"),
    *("layer", "chunk_index", "total_chunks", "parent_doc_id", "prev_chunk_id", "next_chunk_id", "content_hash"),
}
D_RESPONSE = {"query", "results", "total_found", "hardware_tier_filter", "module_filter", "book_id", "filter_applied"}
D_JOB = {"book_id", "mode", "files_processed", "files_skipped", "chunks_created", "chunks_deleted", "started_at", "completed_at"}


def read(cli: Cli, *arguments: str) -> Any:
    outcome = cli(*arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_ingest_prints_a_report_for_programs(cli: Cli, book: Path) -> None:
    report = read(cli, "ingest", str(book))
    assert report.keys() >= {*D_JOB, "duration_seconds", "warnings", "failures", "files_discovered", "chunks_embedded"}
    assert report["files_processed"] + report["files_skipped"] == report["files_discovered"] == 7
    (book / ELBOWS).write_bytes(b"\x00")
    outcome = cli("ingest", book, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["failures"][0]["source_file"] == ELBOWS


def test_a_dry_run_touches_nothing(cli: Cli, book: Path, folder: Path, embedder: SmallEmbedder) -> None:
    outcome = cli("ingest", book, "--dry-run")
    assert outcome.code == 0
    assert "7 lessons would be ingested" in " ".join(outcome.out.split())
    assert not (folder / "data").exists()
    assert embedder.embedded == []
    assert sorted(path.name for path in folder.iterdir()) == ["book"]


def test_search_prints_passages_and_whole_addresses(reading_room: Cli) -> None:
    """In a pipe nothing may be cut off: another program may follow the link."""
    found = read(reading_room, "search", "elbow bends forearm plane", "-n", "2")
    outcome = reading_room("search", "elbow bends forearm plane", "-n", "2")
    assert outcome.code == 0
    for result in found["results"]:
        assert result["source_url"] in outcome.out
        assert result["page_title"] in outcome.out
        assert f"cosine {result['score']:.2f}" in outcome.out
        assert (result["relevance"] is None) == ("relevance" not in outcome.out)


def test_search_prints_whole_addresses_however_narrow(reading_room: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert (
        "https://small.example/docs/module-1-arms/chapter-1-joints/elbows"
        in reading_room("search", "elbow forearm", "-n", "1").out
    )


def test_search_for_programs_has_document_ds_fields(reading_room: Cli) -> None:
    found = read(reading_room, "search", "elbow bends forearm plane")
    assert found.keys() == D_RESPONSE
    assert found["results"][0].keys() >= {
        *D_RESULT,
        "rank",
        "id",
        "source_url",
        "page_title",
        "chapter_title",
        "heading_path",
        "span",
    }
    assert (found["hardware_tier_filter"], found["book_id"], found["total_found"]) == (1, "small", 17)


@pytest.mark.parametrize(
    ("options", "total"),
    [
        (("--module", "legs"), 6),
        (("--chapter-min", "2"), 9),
        (("--chapter-max", "2", "--chapter-min", "1"), 10),
        (("--lesson", "2"), 6),
        (("--level", "a2"), 17),
        (("--level", "A1", "--level", "B1"), 0),
        (("--layer", "l1"), 17),
        (("--layer", "L4"), 0),
        (("--tier", "4"), 17),
        (("--prefix", "module-1-arms/chapter-2"), 3),
        (("--prefix", "https://small.example/docs/module-2"), 6),
    ],
)
def test_every_filter_is_an_option(reading_room: Cli, options: tuple[str, ...], total: int) -> None:
    assert read(reading_room, "search", "robot joints", *options)["total_found"] == total


def test_the_parent_filter_is_an_option(reading_room: Cli) -> None:
    parent = read(reading_room, "search", "elbow forearm")["results"][0]["parent_doc_id"]
    assert read(reading_room, "search", "robot joints", "--parent", parent)["total_found"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("ab",),
        ("elbow", "-n", "0"),
        ("elbow", "-n", "21"),
        ("elbow", "--tier", "5"),
        ("elbow", "--level", "D1"),
        ("elbow", "--layer", "L5"),
    ],
)
def test_search_says_what_it_takes(reading_room: Cli, arguments: tuple[str, ...]) -> None:
    outcome = reading_room("search", *arguments)
    assert outcome.code == 2
    assert "must be" in outcome.sentence() or "takes 3 to 1,000" in outcome.sentence()


def test_filters_that_leave_nothing_are_told(reading_room: Cli) -> None:
    outcome = reading_room("search", "elbow forearm", "--layer", "L4")
    assert outcome.code == 0
    assert "passes these filters" in outcome.out


def test_context_and_lesson(reading_room: Cli) -> None:
    chunks = read(reading_room, "lesson", ELBOWS)
    assert [chunk["chunk_index"] for chunk in chunks] == [0, 1, 2]
    assert read(reading_room, "lesson", chunks[0]["parent_doc_id"]) == chunks
    first = read(reading_room, "context", chunks[0]["id"])
    assert (first["prev"], first["chunk"], first["next"]) == (None, chunks[0], chunks[1])
    assert read(reading_room, "context", chunks[2]["id"])["next"] is None
    assert "(the lesson ends here)" in reading_room("context", chunks[2]["id"]).out
    assert "Elbows" in reading_room("lesson", ELBOWS).out


def test_a_lesson_is_laid_out_in_a_terminal_and_whole_lines_of_markdown_in_a_pipe(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "The **elbow** bends at `90` degrees, " + "and the arm is held by the [shoulder](shoulder.md) " * 3
    write(tmp_path / "arms", "arms.md", f"# Arms\n\n{line}\n\n- one\n- two\n\n```sh\n$ bend\n```\n")
    assert cli("ingest", tmp_path / "arms").code == 0
    assert f"\n{line.strip()}" in cli("lesson", "arms.md").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = re.sub(r"\x1b\[[\d;]*m", "", cli("lesson", "arms.md").out)
    assert "The elbow bends at 90 degrees" in shown
    assert "• one\n• two" in shown
    assert "\n    $ bend\n" in shown
    assert not re.search(r"[#*`\[]", shown)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("search", "elbow forearm", "--book", "third"), "no book 'third'"),
        (("context", "nonsense"), "has no chunk nonsense"),
        (("lesson", "nowhere.md"), "has no lesson nowhere.md"),
        (("check", "--book", "third"), "There is no book 'third'"),
    ],
)
def test_what_is_not_there_is_named(reading_room: Cli, arguments: tuple[str, ...], told: str) -> None:
    outcome = reading_room(*arguments)
    assert outcome.code == 1
    assert told in outcome.sentence()


def test_the_only_book_is_the_book_and_of_several_one_is_named_configured_or_proposed(
    cli: Cli, book: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "There is no book yet" in cli("books").out
    assert read(cli, "books") == []
    ingested = cli("ingest", book)
    assert (ingested.code, ingested.err) == (0, "")
    for part in ("A small book", "7 new, 0 changed, 0 removed", "17  chunks added", "17  chunks in the index"):
        assert " ".join(part.split()) in " ".join(ingested.out.split())
    assert 'Ask it: bythebook ask "your question"' in ingested.out
    other = write_small_book(folder / "other", book_id="physical-ai-robotics")
    assert 'Ask it: bythebook ask --book physical-ai-robotics "your question"' in cli("ingest", other).out
    second, small = read(cli, "books")
    assert (second["book_id"], small["book_id"]) == ("physical-ai-robotics", "small")
    assert (small["lessons"], small["total_chunks"], small["collection_name"]) == (7, 17, "textbook_chunks")
    assert small["last_full_ingest"]
    assert "small" in cli("books").out
    for command in (("ask", "What bends?"), ("search", "elbow"), ("lesson", "glossary.md"), ("gaps",), ("calibration",)):
        outcome = cli(*command)
        assert outcome.code == 2, command
        assert re.search(r"--book \(physical-ai-robotics, small\).* is 'physical-ai-robotics'", outcome.sentence()), command
    (folder / "bythebook.toml").write_text('book = "physical-ai-robotics"\n')
    assert read(cli, "search", "elbow forearm")["book_id"] == "physical-ai-robotics"
    assert read(cli, "search", "elbow forearm", "--book", "small")["book_id"] == "small"
    monkeypatch.setenv("BYTHEBOOK_BOOK", "third")
    outcome = cli("search", "elbow forearm")
    assert outcome.code == 1
    assert re.search("no book 'third' .*BYTHEBOOK_BOOK.*: physical-ai-robotics, small", outcome.sentence())


def test_a_book_in_a_language_that_the_reader_was_not_taught_is_told_so(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "kessel"
    folder.mkdir()
    (folder / "index.md").write_text("# Der Kessel\n\nDer Kessel fasst zwei Liter.\n", encoding="utf-8")
    assert "The reading model knows English only" in cli("ingest", folder, "--language", "de").out
    assert "Der Kessel fasst zwei Liter. [1]" in cli("ask", "Wie viel fasst der Kessel?").out


def test_neither_another_folder_nor_a_wrong_one_takes_a_books_place(shelf: Cli, book: Path, folder: Path) -> None:
    other = write_small_book(folder / "other")
    outcome = shelf("ingest", other)
    assert outcome.code == 2
    assert f"The book 'small' comes from {book}, and this is {other}." in outcome.sentence()
    for path in (other / "module-1-arms").rglob("*.md"):
        path.unlink()
    outcome = shelf("ingest", other, "--replace")
    assert outcome.code == 2
    assert "This would remove 4 of the 7 lessons of 'small'" in outcome.sentence()
    assert read(shelf, "books")[0]["lessons"] == 7
    assert shelf("ingest", other, "--replace", "--dry-run").code == 0
    assert shelf("ingest", other, "--replace", "--yes").code == 0
    assert (read(shelf, "books")[0]["lessons"], read(shelf, "books")[0]["source_root"]) == (3, str(other))


def test_a_person_at_a_terminal_is_asked(shelf: Cli, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (book / "module-1-arms").rglob("*.md"):
        path.unlink()
    answers = io.StringIO("n\ny\n")
    for stream in (answers, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", answers)
    assert shelf("ingest", book).code == 1
    assert read(shelf, "books")[0]["lessons"] == 7
    assert shelf("ingest", book).code == 0
    assert read(shelf, "books")[0]["lessons"] == 3


def test_a_book_is_shown_renamed_and_removed(shelf: Cli, book: Path, folder: Path) -> None:
    shown = read(shelf, "books", "show", "small")
    assert {"source_file", "file_hash", "chunk_ids", "chunk_count", "ingested_at", "status"} <= shown["records"][0].keys()
    assert sum(one["chunk_count"] for one in shown["records"]) == shown["total_chunks"] == 17
    assert {one["status"] for one in shown["records"]} == {"ingested"}
    assert "\n  module-1-arms/chapter-1-joints/01-elbows.md\n" in shelf("books", "show", "small").out
    assert "'limbs' from now on" in shelf("books", "rename", "small", "limbs").out
    assert read(shelf, "search", "elbow forearm")["book_id"] == "limbs"
    assert "every invariant holds" in shelf("check").out
    refused = shelf("books", "remove", "limbs")
    assert refused.code == 2
    assert refused.sentence().startswith("This would remove 'limbs' (A small book): 7 lessons, 17 chunks")
    assert shelf("books", "remove", "limbs", "--export", folder / "threads.md", "--yes").code == 0
    assert (folder / "threads.md").exists()
    assert read(shelf, "books") == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("books", "remove", "none", "--yes"), 1, "There is no book 'none'"),
        (("books", "show", "none"), 1, "There is no book 'none'"),
        (("books", "rename", "small", "Not an id"), 2, "'Not an id' cannot be a book's id"),
        (("books", "remove", "small", "--yes", "--export", "/"), 2, "and nothing was removed"),
        (("books", "--data-dir", "elsewhere", "remove", "small", "--yes"), 2, "Options come after the command"),
    ],
)
def test_what_cannot_be_done_with_a_book(shelf: Cli, arguments: tuple[str, ...], code: int, told: str) -> None:
    outcome = shelf(*arguments)
    assert (outcome.code, told in outcome.sentence()) == (code, True), outcome
    assert len(read(shelf, "books")) == 1


def test_no_book_yet(cli: Cli) -> None:
    for arguments in (("search", "elbow forearm"), ("check",), ("lesson", "x.md"), ("context", "x")):
        outcome = cli(*arguments)
        assert outcome.code == 1
        assert "bythebook ingest FOLDER" in outcome.sentence()


def test_check_names_what_is_broken(shelf: Cli, folder: Path) -> None:
    assert "every invariant holds" in shelf("check").out
    connection = sqlite3.connect(folder / "data" / "bythebook.db")
    with connection:
        connection.execute("UPDATE books SET total_chunks = 99")
        connection.execute("DELETE FROM ingestion_records WHERE source_file = ?", (ELBOWS,))
    connection.close()
    outcome = shelf("check")
    assert outcome.code == 1
    for told in ("total_chunks is the sum of the records'", "the lesson is recorded", ELBOWS, "--mode full"):
        assert told in outcome.out
    outcome = shelf("check", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)[0]["problems"][0].keys() == {"rule", "source_file", "detail"}


def test_text_with_brackets_is_shown_as_it_is_and_many_warnings_are_counted(cli: Cli, book: Path) -> None:
    """Rich takes brackets for its own marks unless told otherwise."""
    write(book, "book.toml", 'book_id = "small"\ntitle = "Arrays [1] and [bold]"\n')
    write(book, "brackets.md", "# Arrays [red]\n\nAn array is written as [1, 2] and indexed as a[0] or [/nothing] at all.\n")
    for number in range(8):
        write(book, f"{number}-odd.md", lesson("Odd", f"This is odd {number}.", front="layer: L9\n"))
    ingested = cli("ingest", book)
    assert ingested.code == 0
    assert "8 warnings about layer" in ingested.out
    assert "and 3 more; --json lists them all" in ingested.out
    assert "Arrays [1] and [bold]" in ingested.out
    assert "Arrays [1] and [bold]" in cli("books").out
    outcome = cli("search", "array indexed written", "-n", "1")
    assert "Arrays [red]" in outcome.out
    assert "[1, 2]" in outcome.out
    for command in ("lesson", "context"):
        name = "brackets.md" if command == "lesson" else read(cli, "lesson", "brackets.md")[0]["id"]
        shown = cli(command, name)
        assert shown.code == 0
        assert "Arrays [red]" in shown.out


def test_the_version_and_the_help(cli: Cli) -> None:
    assert cli("--version").out.startswith("bythebook ")
    for command in ("demo", "ingest", "search", "context", "lesson", "books", "check"):
        assert command in cli("--help").out
        assert "Usage: bythebook" in cli(command, "-h").out


def test_the_help_cuts_no_line_on_a_terminal_of_80_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group in ((), ("books",), ("jobs",), ("threads",), ("keys",), ("privacy",), ("questions",), ("model",)):
        listed = cli(*group, "--help").out.partition("Commands:")[2].splitlines()
        assert listed
        assert [line for line in listed if line.endswith("...")] == []


def test_the_lessons_of_a_book_are_listed_and_a_name_that_is_nearly_one_is_recognised(
    reading_room: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = reading_room("lessons").out
    assert "module-1-arms/chapter-1-joints/01-elbows.md" in listed
    assert len(read(reading_room, "lessons")) == 7
    monkeypatch.setenv("COLUMNS", "40")
    assert "\n  module-1-arms/chapter-1-joints/01-elbows.md\n" in reading_room("lessons").out
    for name in ("elbows", "module-1-arms/chapter-1-joints/elbows.md", "01-elbow.md"):
        outcome = reading_room("lesson", name)
        assert outcome.code == 1
        assert "Did you mean module-1-arms/chapter-1-joints/01-elbows.md" in outcome.sentence()
        assert "index.md" not in outcome.sentence().partition(" or ")[0]
    assert "'bythebook lessons' lists them" in reading_room("lesson", "quantum-physics").sentence()


def test_a_question_comes_from_a_pipe(reading_room: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("What bends in one plane\nand carries the forearm?\n"))
    answer = json.loads(reading_room("ask", "-", "--format", "json").out)
    assert answer["query"] == "What bends in one plane\nand carries the forearm?"
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    assert reading_room("ask", "-").code == 2
