"""How long an author waits: from an edit, pushed or saved, to a search that finds it. Real processes, sample book, granite."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

from bench.material import SAMPLE_BOOK
from bench.table import verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.cli.demo import sample_book

PUSH_TARGET_SECONDS = 3.0
WATCH_TARGET_SECONDS = 2.0
EDITS = 5
LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 120.0
SECRET = "of the benchmark"
AUTHOR = ("-c", "user.name=Author", "-c", "user.email=author@book.example", "-c", "commit.gpgsign=false")
PROGRAM = Path(sys.executable).with_name("bythebook")

Row = tuple[str, ...]


class Author:
    """Edits a copy of the sample book: each time another lesson, with a sentence that was never there before."""

    def __init__(self, root: Path) -> None:
        self.root = Path(shutil.copytree(sample_book(), root))
        self._lessons = sorted(self.root.rglob("[0-9]*.md"))
        self._edits = 0

    def edit(self) -> str:
        """The new sentence; the lesson is saved."""
        self._edits += 1
        sentence = f"The zeppelin of edit {self._edits} carries {self._edits * 37} purple lanterns."
        lesson = self._lessons[self._edits % len(self._lessons)]
        lesson.write_text(f"{lesson.read_text('utf-8')}\n\n{sentence}\n", encoding="utf-8")
        return sentence


def pushed(workshop: Workshop) -> Row:
    """From the webhook that tells of a push to the first search that finds the sentence."""
    author = Author(workshop.empty_dir("edits-pushed") / "book")
    bare = author.root.parent / "book.git"
    _git(author.root, "init", "--quiet", "--initial-branch=main")
    _git(author.root, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    given = {
        "BYTHEBOOK_GIT_SOURCES": f"{SAMPLE_BOOK}={bare.as_uri()}#main",
        "GITHUB_WEBHOOK_SECRET": SECRET,
    }
    took = []
    with _started(workshop, "edits-pushed", "serve", "--port", "0", given=given) as said:
        address = said.readline().split()[5]
        with httpx.Client(base_url=address, trust_env=False, timeout=PATIENCE_SECONDS) as client:
            for number in range(EDITS + 1):
                sentence = author.edit()
                _git(author.root, "add", "--all")
                _git(author.root, "commit", "--quiet", "--message", "edit")
                _git(author.root, "push", "--quiet", str(bare), "HEAD:refs/heads/main")
                began = time.perf_counter()
                job = _tell_of_push(client, bare.as_uri())
                _until(lambda wanted=sentence: _found(client, wanted))  # type: ignore[misc]
                took.append(time.perf_counter() - began)
                if number == 0:  # the first one fetches the whole repository, and is not counted
                    _until(lambda wanted=job: client.get(f"/jobs/{wanted}").json()["status"] == "completed")  # type: ignore[misc]
    return _row("push to answerable, one edited lesson", took[1:], PUSH_TARGET_SECONDS)


def watched(workshop: Workshop) -> Row:
    """From the save to the line that says it is in: any search finds it from then on, and one that does is made."""
    author = Author(workshop.empty_dir("edits-watched") / "book")
    took = []
    with _started(workshop, "edits-watched", "ingest", str(author.root), "--watch") as said:
        _line(said, "lessons ingested")
        for _ in range(EDITS):
            began = time.perf_counter()
            sentence = author.edit()
            _line(said, "1 lessons ingested")
            took.append(time.perf_counter() - began)
            if not _is_in(sentence, _searched(workshop, "edits-watched", sentence)):
                raise AssertionError(f"not found: {sentence}")
    return _row("`ingest --watch`: save to answerable, one edited lesson", took, WATCH_TARGET_SECONDS)


def _row(what: str, took: list[float], target: float) -> Row:
    measured = f"{median(took):.2f} s (slowest of {len(took)}: {max(took):.2f} s)"
    return what, measured, f"<= {target:g} s", verdict(max(took) <= target)


@contextmanager
def _started(workshop: Workshop, name: str, *arguments: str, given: dict[str, str] | None = None) -> Iterator[IO[str]]:
    """A command on a copy of the sample book's data, and what it prints."""
    workshop.sample()
    data_dir = workshop.data_dir(name) / "data"
    shutil.copytree(workshop.data_dir("sample"), data_dir)
    command = [str(PROGRAM), *arguments, "--data-dir", str(data_dir)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(given or {})}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout
        finally:
            process.terminate()  # a shell in the background lets its children ignore Ctrl-C


def _tell_of_push(client: httpx.Client, url: str) -> int:
    body = json.dumps({"ref": "refs/heads/main", "repository": {"clone_url": url}}).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": signature, "X-GitHub-Event": "push", "Content-Type": "application/json"}
    queued = client.post("/webhooks/github", content=body, headers=headers)
    queued.raise_for_status()
    return int(queued.json()["job_ids"][0])


def _found(client: httpx.Client, sentence: str) -> bool:
    found = client.post("/search", json={"text": sentence, "hardware_tier_filter": 4})
    found.raise_for_status()
    return _is_in(sentence, found.text)


def _is_in(sentence: str, answer: str) -> bool:
    """In what was found; the answer says what was asked, too."""
    return any(sentence in one["text"] for one in json.loads(answer)["results"])


def _searched(workshop: Workshop, name: str, sentence: str) -> str:
    command = [str(PROGRAM), "search", sentence, "--json", "--data-dir", str(workshop.data_dir(name) / "data")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {PATIENCE_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def _line(said: IO[str], wanted: str) -> None:
    if not any(wanted in line for line in iter(said.readline, "")):
        raise AssertionError(f"it ended without saying '{wanted}'")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *AUTHOR, *arguments], cwd=folder, check=True, capture_output=True)
