"""`bythebook demo` in a process of its own, with the real embedder; and the library it leaves, talked to through a pipe."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from bythebook.cli.demo import ANSWERED, REFUSED, demo_settings, sample_book
from tests.cli.conftest import Cli, environment, run_process
from tests.support.sample_library import demonstrated, sample_library


def demo_library(folder: Path) -> Path:
    """A data folder in which the demo has been run."""
    return sample_library(folder / "data").rename(folder / "data" / "demo").parent


def test_the_demo_answers_and_refuses() -> None:
    outcome, _ = demonstrated()
    assert outcome.code == 0
    assert re.fullmatch(
        r"(Ingesting: \d+/\d+ lessons\n)*", outcome.err
    )  # said every 20 seconds: on a busy machine it takes so long
    book, answer, refusal = outcome.out.split("\n$ bythebook ask ")
    assert "Physical AI & Humanoid Robotics" in book
    assert f'"{ANSWERED}"' in answer
    assert "[1]" in answer
    assert "“" in answer
    assert "https://physical-ai.example/docs/module-1-ros2/" in answer
    assert "confidence high" in answer
    assert f'"{REFUSED}"' in refusal
    text = " ".join(refusal.split())
    assert "This question appears to be outside the scope of the Physical AI & Humanoid Robotics textbook." in text
    assert "Nearest sections" in text
    assert 'bythebook ask "your question"' in text


def test_the_demos_quotes_stand_in_the_sample_book() -> None:
    answer = demonstrated()[0].out.split("\n$ bythebook ask ")[1]
    quotes = [part.split("”")[0] for part in " ".join(answer.split()).split("“")[1:]]
    lessons = [" ".join(path.read_text().split()) for path in sample_book().rglob("*.md*")]
    assert quotes
    for quote in quotes:
        assert any(quote.removesuffix(" …") in lesson for lesson in lessons), quote


def test_the_demo_never_enters_the_readers_library(cli: Cli, book: Path, folder: Path) -> None:
    """What the README prints after `make demo`: a book of one's own, and a question to it."""
    demo_library(folder)
    assert "There is no book yet" in cli("books").out
    assert cli("ingest", book).code == 0
    assert [one["book_id"] for one in json.loads(cli("books", "--json").out)] == ["small"]
    assert "small.example" in cli("ask", "What carries the forearm?").out


def test_the_demo_stays_on_this_machine_whatever_servers_hold_the_readers_books(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_URL", "http://qdrant.example:6333")
    monkeypatch.setenv("DATABASE_URL", "postgresql://reader@database.example/books")
    monkeypatch.setenv("BYTHEBOOK_BOOK", "mine")
    settings = demo_settings(folder)
    assert (settings.data_dir, settings.qdrant_url, settings.database_url, settings.book) == (folder / "demo", None, None, None)


@pytest.mark.soak
def test_the_demo_indexes_its_book_anew_after_an_older_version_did(folder: Path) -> None:
    data = demo_library(folder)
    (manifest,) = data.glob("demo/index/*/manifest.json")
    manifest.write_text(manifest.read_text().replace('"chunker_version": ', '"chunker_version": 99'))
    outcome = run_process("demo", data_dir=data)
    assert (outcome.code, outcome.err) == (0, "")
    assert "indexing it again" in outcome.out
    assert outcome.out.count("[1]") > 1
    assert "Nearest sections" in outcome.out


def test_the_demo_serves_its_page_and_its_library_until_it_is_stopped(folder: Path) -> None:
    """While it serves, it does the commands of the same user: a conversation through a pipe, the same book ingested again."""
    data = demo_library(folder)
    given = {**environment(data), "BYTHEBOOK_PORT": "0"}
    command = [sys.executable, "-m", "bythebook", "demo", "--serve"]
    with subprocess.Popen(command, env=given, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        with urlopen(address, timeout=300) as page:
            assert "<title>By the Book" in page.read().decode()
        asked = f"What is a node?\n/sources\n{REFUSED}\n"
        talk = run_process("chat", data_dir=data / "demo", given_input=asked)
        again = run_process("ingest", sample_book(), data_dir=data / "demo")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert process.returncode in (0, 130)
    assert (talk.code, talk.err) == (0, "")
    _, answer, sources, refusal, end = talk.out.split("\n› ")
    assert "A node is a named participant in a ROS 2 system" in " ".join(answer.split())
    assert "**Sources:**\n[1] https://physical-ai.example/docs/" in answer
    assert "[Source: https://physical-ai.example/docs/" in sources
    assert "outside the scope" in " ".join(refusal.split())
    assert "\x1b[" not in talk.out  # no colours in a pipe
    assert "bythebook chat --thread " in end
    assert again.code == 0
    assert "0 texts embedded" in " ".join(again.out.split())
