"""What goes wrong: one clear sentence that names the place and the remedy, and what was there before is still searchable."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bythebook.books.formats.readers import SUFFIXES
from bythebook.database.engine import SCHEMA
from bythebook.operations import runner
from tests.cli.conftest import Cli, Outcome, environment, run_process
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.small_book import lesson, write

ELBOWS = "module-1-arms/chapter-1-joints/01-elbows.md"
FINGERS = "module-1-arms/chapter-2-grips/01-fingers.md"
STAIRS = "module-2-legs/chapter-3-walking/02-stairs.md"


def still_searchable(cli: Cli) -> None:
    found = cli("search", "elbow forearm plane", "-n", "1", "--book", "small")
    assert found.code == 0
    assert "Elbows" in found.out
    assert cli("check", "--book", "small").code == 0


def failed_lesson(outcome: Outcome, path: str) -> str:
    """The lesson's own line in the report; everything else was ingested."""
    assert outcome.code == 1
    assert "Traceback" not in outcome.err + outcome.out
    assert "could not be read" in outcome.out
    return next(line for line in outcome.out.splitlines() if path in line)


def test_a_name_that_no_file_can_have(shelf: Cli, folder: Path) -> None:
    outcome = shelf("ingest", folder / ("x" * 300))
    assert (outcome.code, outcome.sentence()) == (2, f"The name {'x' * 40}… is longer than the file system takes. Give another.")


def test_what_is_no_book(shelf: Cli, book: Path, folder: Path) -> None:
    """A folder that is not there, a file that is no lesson, an empty folder, a broken book.toml."""
    gone, empty, archive = folder / "nowhere", folder / "empty", book / "elbows.zip"
    empty.mkdir()
    archive.write_bytes(b"PK")
    declared = (book / "book.toml").read_text()
    for given, told in (
        (
            gone,
            f"There is no file or folder {gone}; give the folder that holds the book's lessons, or the book's one file.",
        ),
        (archive, f"{archive} is not a lesson; a lesson is a file that ends in {', '.join(SUFFIXES)}."),
        (empty, f"{empty} holds no lesson; a lesson is a file that ends in {', '.join(SUFFIXES)}."),
    ):
        outcome = shelf("ingest", given)
        assert (outcome.code, outcome.sentence()) == (1, told)
    for text, told in (('title = "unclosed', "not valid TOML"), ("colour = 1\n" + declared, "'colour' is not a key")):
        write(book, "book.toml", text)
        outcome = shelf("ingest", book)
        assert outcome.code == 1
        assert told in outcome.sentence()
        assert str(book / "book.toml") in outcome.sentence()
    still_searchable(shelf)


def test_lessons_that_cannot_be_read_are_named_and_the_others_go_in(shelf: Cli, book: Path, folder: Path) -> None:
    """A binary named .md, 50 megabytes, text that is not UTF-8, links that lead in a circle or out of the book, two files that
    claim one lesson; all in one book."""
    (book / FINGERS).write_bytes(bytes(range(256)))
    with (book / "huge.md").open("wb") as file:
        file.truncate(50_000_000)
    (book / STAIRS).write_bytes("# Stairs\n\nEin Roboter fällt die Treppe hinab.\n".encode("latin-1"))
    (book / "circle.md").symlink_to(book / "circle.md")
    (book / "around").symlink_to(book)
    (book / "secret.md").symlink_to(write(folder, "secret.md", "# Secret\n\nNobody should ever read this secret.\n"))
    write(book, "new.md", lesson("New", "This lesson is new."))
    write(book, "module-1-arms/chapter-1-joints/01-twin.md", lesson("Twin", "A second elbow."))
    outcome = shelf("ingest", book)
    assert "looks binary" in failed_lesson(outcome, FINGERS)
    assert "larger than 10,000,000 bytes; split it" in failed_lesson(outcome, "huge.md")
    assert failed_lesson(outcome, STAIRS).strip().startswith(f"{STAIRS}, line 3: this is not UTF-8")
    for name, what in (("circle.md", "circle"), ("around", "link back"), ("secret.md", "leads out of the book")):
        assert what in failed_lesson(outcome, name)
    assert "2 warnings about lesson" in outcome.out
    assert "claims arms:1:1" in outcome.out
    assert "New" in shelf("search", "this lesson is new", "-n", "1").out
    assert "Stairs" in shelf("search", "lift its knee before the toe", "-n", "1").out  # as it was before
    assert "Secret" not in shelf("search", "nobody should read this secret", "-n", "20", "--tier", "4").out
    still_searchable(shelf)


def test_a_file_that_may_not_be_read(shelf: Cli, book: Path) -> None:
    (book / STAIRS).chmod(0)
    if os.access(book / STAIRS, os.R_OK):
        pytest.skip("this user may read everything")
    assert "check its permissions" in failed_lesson(shelf("ingest", book), STAIRS)
    still_searchable(shelf)


def test_another_model(shelf: Cli, book: Path, embedder: SmallEmbedder) -> None:
    embedder.name = "other@1"
    for arguments in (("ingest", book), ("search", "elbow forearm"), ("check",)):
        outcome = shelf(*arguments)
        assert outcome.code == 1
        assert "was indexed by small@1" in outcome.sentence()
        assert "bythebook ingest FOLDER --mode recreate" in outcome.sentence()
    embedder.name = "small@1"
    still_searchable(shelf)


def test_a_locked_index(shelf: Cli, book: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 0.2)
    holder = "import asyncio, sys; from pathlib import Path; from bythebook.index.qdrant_edge.index import EdgeIndex\n"
    holder += "index = asyncio.run(EdgeIndex.open(Path(sys.argv[1]))); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", holder, str(folder / "data" / "index")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        outcome = shelf("ingest", book)
        assert outcome.code == 1
        assert f"is held by process {process.pid}" in outcome.sentence()
        process.stdin.close()
    still_searchable(shelf)


def test_servers_that_do_not_answer(shelf: Cli, book: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "very-secret")
    for name, address, told in (
        ("QDRANT_URL", f"http://127.0.0.1:{closed_port}", "http://127.0.0.1:"),
        ("DATABASE_URL", f"postgresql://reader:very-secret@127.0.0.1:{closed_port}/books", "postgresql://reader:***@127.0.0.1"),
    ):
        monkeypatch.setenv(name, address)
        outcome = shelf("ingest", book)
        assert outcome.code == 1
        assert told in outcome.sentence()
        assert "very-secret" not in outcome.err
        monkeypatch.delenv(name)
    still_searchable(shelf)


def test_a_data_folder_that_is_a_file(cli: Cli, book: Path, folder: Path) -> None:
    (folder / "data").write_text("not a folder")
    outcome = cli("ingest", book)
    assert outcome.code == 1
    assert f"The data folder {folder / 'data'} cannot be made" in outcome.sentence()
    assert "--data-dir" in outcome.sentence()
    assert (folder / "data").read_text() == "not a folder"


def test_a_data_folder_that_cannot_be_written(book: Path) -> None:
    outcome = run_process("ingest", book, data_dir=Path("/proc/bythebook"), cwd=book)
    assert outcome.code == 1
    assert "/proc/bythebook" in outcome.sentence()


def test_a_database_that_is_none(cli: Cli, book: Path, folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "bythebook.db").write_bytes(b"This is a diary, not a database. " * 40)
    outcome = cli("ingest", book)
    assert outcome.code == 1
    assert str(folder / "data" / "bythebook.db") in outcome.sentence()
    assert "not a database" in outcome.sentence()


def test_a_database_of_a_later_version(shelf: Cli, book: Path, folder: Path) -> None:
    path = folder / "data" / "bythebook.db"
    _write_schema(path, "9999")
    for arguments in (("ingest", book), ("check",), ("books",), ("upgrade",), ("serve",), ("backup", folder / "backup")):
        outcome = shelf(*arguments)
        assert outcome.code == 1
        assert "schema '9999'" in outcome.sentence()
    assert not (folder / "backup").exists()
    _write_schema(path, SCHEMA)
    still_searchable(shelf)


def _write_schema(path: Path, version: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
    connection.close()


def test_an_index_whose_manifest_is_garbage(shelf: Cli, folder: Path) -> None:
    manifest = folder / "data" / "index" / "textbook_chunks" / "manifest.json"
    before = manifest.read_text()
    for garbage in ("{", "[1, 2]", '{"colour": 1}'):
        manifest.write_text(garbage)
        outcome = shelf("search", "elbow forearm")
        assert outcome.code == 1
        assert str(manifest.parent) in outcome.sentence()
    manifest.write_text(before)
    still_searchable(shelf)


def test_an_index_that_is_gone(shelf: Cli, book: Path, folder: Path) -> None:
    (folder / "data" / "index" / "textbook_chunks").rename(folder / "taken")
    outcome = shelf("ingest", book)
    assert outcome.code == 1
    assert "is gone" in outcome.sentence()
    assert "--mode recreate" in outcome.sentence()
    for arguments in (("search", "elbow forearm", "--book", "small"), ("check", "--book", "small")):
        outcome = shelf(*arguments)
        assert outcome.code == 1
        assert "There is no book" in outcome.sentence()
    assert shelf("ingest", book, "--mode", "recreate").code == 0
    still_searchable(shelf)


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of its own."""
    mount = folder / "disk"
    mount.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500m", "tmpfs", mount], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("a disk can be mounted by root only")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)


def test_a_full_disk(cli: Cli, book: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_DATA_DIR", str(small_disk / "data"))
    assert cli("ingest", book).code == 0
    for path in (small_disk / "data").rglob("*"):  # a tmpfs takes room for what is only read of a file with holes; no disk does
        if path.is_file() and path.stat().st_size:
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    filler = small_disk / "filler"
    with filler.open("wb") as file:
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        file.write(b"\0" * (free - 50_000_000))
    for number in range(12):
        write(book, f"more/{number:02}-more.md", lesson(f"More {number}", f"There is more to say, number {number}."))
    for mode in ("incremental", "recreate"):
        outcome = cli("ingest", book, "--mode", mode)
        assert outcome.code == 1
        assert f"The disk that holds {small_disk / 'data'} is full" in outcome.sentence()
        assert "Free some space" in outcome.sentence()
        still_searchable(cli)
    filler.unlink()
    still_searchable(cli)
    assert cli("ingest", book).code == 0
    still_searchable(cli)


def test_a_pipe_that_closes_early(shelf: Cli, folder: Path) -> None:
    command = [sys.executable, "-m", "bythebook", "books", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder / "data"), cwd=folder
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("BYTHEBOOK_MAX_FILE_BYTES", "12", "a whole number from 1000 to 1000000000, but it is '12'"),
        ("BYTHEBOOK_MAX_FILE_BYTES", "many", "a whole number from 1000 to 1000000000, but it is 'many'"),
        ("AGENT_TOP_K", "0", "a whole number from 1 to 20, but it is '0'"),
        ("BYTHEBOOK_TEMPERATURE", "2.5", "a number from 0.0 to 2.0, but it is '2.5'"),
        ("BYTHEBOOK_EXACT_SEARCH", "perhaps", "true or false, but it is 'perhaps'"),
        ("BYTHEBOOK_EMBEDDER", "clippy", "one of granite, openai, cohere, compatible, but it is 'clippy'"),
        ("QDRANT_COLLECTION_NAME", "a b", "1 to 48 letters, digits"),
        ("QDRANT_URL", "localhost:6333", "http"),
        ("DATABASE_URL", "mysql://reader:very-secret@host/books", "sqlite:// or postgresql://"),
        ("DATABASE_URL", "postgresql://reader:very-secret@host:port/books", "DATABASE_URL cannot be read"),
        ("BYTHEBOOK_EMBEDDER_URL", "very-secret", "http"),
    ],
)
def test_a_bad_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str) -> None:
    monkeypatch.setenv(variable, value)
    outcome = cli("books")
    assert outcome.code == 2
    assert variable in outcome.sentence()
    assert told in outcome.sentence()
    assert "very-secret" not in outcome.err
    if "URL" not in variable:
        assert repr(value) in outcome.sentence()


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("data_dir = [", "bythebook.toml cannot be read"),
        ("colour = 'blue'", "sets 'colour', which is not a setting"),
        ("max_file_bytes = 3", "BYTHEBOOK_MAX_FILE_BYTES (or 'max_file_bytes' in bythebook.toml)"),
        ("openai_api_key = 5", "OPENAI_API_KEY"),
    ],
)
def test_a_bad_settings_file(cli: Cli, folder: Path, toml: str, told: str) -> None:
    write(folder, "bythebook.toml", toml)
    outcome = cli("books")
    assert outcome.code == 2
    assert told in outcome.sentence()


def test_a_settings_file_that_is_not_text(cli: Cli, folder: Path) -> None:
    (folder / "bythebook.toml").write_bytes(b"\xff\xfe\x00")
    outcome = cli("books")
    assert outcome.code == 2
    assert "bythebook.toml cannot be read" in outcome.sentence()


@pytest.mark.parametrize(
    "arguments", [("ingest",), ("ingest", ".", "--mode", "sideways"), ("search",), ("fly",), ("books", "--fast")]
)
def test_wrong_arguments(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
