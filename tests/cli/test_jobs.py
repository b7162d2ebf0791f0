"""`jobs`, `worker` and `ingest --watch`: what they print, and what they leave behind."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, environment, run_process
from tests.support.hall import write_listings
from tests.support.processes import SECONDS
from tests.support.small_book import write


def read(cli: Cli, *arguments: str) -> Any:
    outcome = cli(*arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def forge(data_dir: Path, **columns: object) -> None:
    """A job as a process that died would have left it."""
    with sqlite3.connect(data_dir / "bythebook.db") as database:
        changes = ", ".join(f"{name} = ?" for name in columns)
        database.execute(f"UPDATE jobs SET {changes}", tuple(columns.values()))


def test_an_ingestion_is_a_job(shelf: Cli, folder: Path) -> None:
    (job,) = read(shelf, "jobs", "list")
    assert (job["book_id"], job["mode"], job["status"], job["files_processed"]) == ("small", "incremental", "completed", 7)
    shown = read(shelf, "jobs", "show", "1")
    assert shown == job
    listed = " ".join(shelf("jobs", "list").out.split())
    assert "1 small incremental completed" in listed
    assert "7 of 7 lessons ingested" in shelf("jobs", "show", "1").out


def test_a_job_that_failed_says_why_and_can_be_tried_again(cli: Cli, book: Path, folder: Path) -> None:
    (book / "glossary.md").write_bytes(b"\x00")
    assert cli("ingest", book).code == 1
    assert "glossary.md" in cli("jobs", "show", "1").out
    forge(folder / "data", status="failed", error_message="The disk is full.")
    assert "The disk is full." in cli("jobs", "list", "--status", "failed").out
    again = read(cli, "jobs", "retry", "1")
    assert (again["job_id"], again["status"], again["source"]) == (2, "queued", {"folder": str(book)})
    cancelled = read(cli, "jobs", "cancel", "2")
    assert (cancelled["status"], cancelled["cancelled"]) == ("failed", True)


def test_a_rehearsal_is_no_job(shelf: Cli, book: Path) -> None:
    assert shelf("ingest", book, "--dry-run").code == 0
    assert len(read(shelf, "jobs", "list")) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("show", "99"), 1, "There is no job 99."),
        (("cancel", "99"), 1, "There is no job 99."),
        (("retry", "1"), 2, "Job 1 is completed; only a failed job can be tried again."),
        (("list", "--status", "asleep"), 2, "one of queued, running, completed, failed"),
    ],
)
def test_what_cannot_be_done_says_so(shelf: Cli, arguments: tuple[str, ...], code: int, says: str) -> None:
    outcome = shelf("jobs", *arguments)
    assert outcome.code == code
    assert says in outcome.sentence()


def test_an_ingestion_that_was_killed_is_taken_up_by_the_next(cli: Cli, folder: Path) -> None:
    """Its lease has not run out, but whoever holds the index knows that nobody else can be at work."""
    book = write_listings(folder / "book", lessons=1)
    assert cli("ingest", book).code == 0
    lease = datetime.now(UTC) + timedelta(seconds=8)
    dead = {"completed_at": None, "owner": f"{socket.gethostname()}:1-dead:x", "lease_expires_at": lease.replace(tzinfo=None)}
    forge(folder / "data", status="running", **{name: value and str(value) for name, value in dead.items()})
    assert cli("ingest", book).code == 0
    (job,) = read(cli, "jobs", "list")
    assert (job["status"], job["attempts"]) == ("completed", 2)
    forge(folder / "data", status="running", **{name: value and str(value) for name, value in dead.items()})
    assert cli("ingest", book, "--mode", "full").code == 0
    other, first = read(cli, "jobs", "list")
    assert (other["status"], other["mode"], first["status"]) == ("completed", "full", "failed")
    assert "jobs retry 1" in first["error_message"]


def test_a_worker_does_what_is_queued(tmp_path: Path) -> None:
    book = write_listings(tmp_path / "book", lessons=1)
    data_dir = tmp_path / "data"
    assert run_process("ingest", book, data_dir=data_dir).code == 0
    forge(data_dir, status="failed")
    assert run_process("jobs", "retry", "1", data_dir=data_dir).code == 0
    done = run_process("worker", "--until-idle", data_dir=data_dir)
    assert (done.code, done.err) == (0, "")
    assert "job 2  done: 0 lessons" in done.out


def test_a_worker_that_the_system_ends_goes_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bythebook", "worker"]
    given = environment(tmp_path / "data", {"PYTHONUNBUFFERED": "1"})
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline().startswith("Waiting for jobs")
        worker.send_signal(signal.SIGTERM)
        _, err = worker.communicate(timeout=SECONDS)
    assert (worker.returncode, err) == (0, "")


def test_an_author_who_writes_is_followed(tmp_path: Path) -> None:
    """Every change is brought in as it is saved, and the index can be asked by another command in between."""
    book = write_listings(tmp_path / "book", lessons=1)
    data_dir = tmp_path / "data"
    command = [sys.executable, "-m", "bythebook", "ingest", str(book), "--watch"]
    given = environment(data_dir, {"PYTHONUNBUFFERED": "1"})
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as watching:
        alarm = threading.Timer(SECONDS, watching.kill)  # a line that never comes must not hang the tests
        alarm.start()
        assert watching.stdout is not None
        lines = iter(watching.stdout.readline, "")
        assert any(line.startswith("Watching") for line in lines)
        assert any("0 lessons ingested" in line for line in lines)
        write(book, "new.md", "# New\n\nThe valve opens at dawn.\n")
        assert any("1 lesson ingested, 0 removed; 1 chunk added" in line for line in lines)
        found = run_process("search", "valve opens at dawn", "--book", "small", "--json", data_dir=data_dir)
        assert json.loads(found.out)["results"][0]["source_file"] == "new.md"
        (book / "new.md").unlink()
        assert any("1 removed" in line for line in lines)
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=SECONDS)
        alarm.cancel()
    assert (watching.returncode, err.strip()) == (130, "bythebook: stopped.")
