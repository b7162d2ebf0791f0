"""`bythebook threads`: what a chat leaves behind, listed, shown, exported, traced and deleted."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bythebook.threads.store import Threads
from tests.cli.conftest import Cli
from tests.support.databases import opened
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import FOREIGN, LAMP, TRIMMED, WICK, copy_published, make_embedder
from tests.support.made_turns import answer, keep

UNKNOWN = "550e8400-e29b-41d4-a716-446655440000"


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture
def thread(cli: Cli, folder: Path) -> str:
    """A thread of three turns: answered, leaning on that, refused."""
    copy_published(folder)
    assert cli("chat", "-q", "What is a wick?").code == 0
    (told,) = json.loads(cli("threads", "list", "--json").out)
    for question in ("How often is it trimmed?", FOREIGN):
        assert cli("chat", "-q", question, "--thread", told["thread_id"]).code == 0
    return str(told["thread_id"])


def flat(text: str) -> str:
    return " ".join(text.split())


def test_none_yet(cli: Cli) -> None:
    assert "no thread yet" in cli("threads", "list").out
    assert json.loads(cli("threads", "list", "--json").out) == []


def test_list(cli: Cli, folder: Path, thread: str) -> None:
    async def of_a_key() -> str:
        async with opened(None, folder / "data") as database:
            return await keep(Threads(database), answer(at=datetime(2026, 1, 1, tzinfo=UTC)), key_id="k1")

    other = asyncio.run(of_a_key())
    newest, oldest = json.loads(cli("threads", "list", "--json").out)
    assert (newest["thread_id"], newest["turn_count"], newest["book_id"]) == (thread, 3, "light")
    assert (oldest["thread_id"], oldest["key_id"]) == (other, "k1")
    shown = cli("threads", "list").out
    assert thread in shown
    assert "(archived)" in flat(shown)
    assert json.loads(cli("threads", "list", "--json", "--book", "dark").out) == []
    assert len(json.loads(cli("threads", "list", "--json", "--limit", "1").out)) == 1


def test_show(cli: Cli, thread: str) -> None:
    shown = flat(cli("threads", "show", thread).out)
    for part in ("What is a wick? (light)", "› How often is it trimmed?", f"{TRIMMED} [1]", f"› {FOREIGN}", "Nearest sections"):
        assert part in shown
    whole = json.loads(cli("threads", "show", thread.upper(), "--json").out)
    assert [turn["asked"] for turn in whole["turns"]] == ["What is a wick?", "How often is it trimmed?", FOREIGN]
    assert whole["turns"][1]["answer"]["question"] == "How often is the wick trimmed?"


def test_export(cli: Cli, thread: str, folder: Path) -> None:
    text = cli("threads", "export", thread).out
    assert text.startswith("# What is a wick?\n\nBook: light · ")
    assert f"## How often is it trimmed?\n\n{TRIMMED} [1]\n\n> {TRIMMED} [1]\n" in text
    cli("threads", "export", thread, "--output", folder / "thread.md")
    assert (folder / "thread.md").read_text("utf-8") == text
    unwritable = cli("threads", "export", thread, "-o", folder / "no" / "such" / "folder.md")
    assert (unwritable.code, "cannot be written" in unwritable.sentence()) == (1, True)


def test_trace(cli: Cli, thread: str) -> None:
    shown = flat(cli("threads", "trace", thread, "2").out)
    for part in (
        "searched for: How often is the wick trimmed?",
        "No filter: the whole book.",
        "score 0.3",
        "best relevance",
        "Evidence [1] Wicks and oil",
        f"✓ {TRIMMED} [1]",
        "follow-up: rewritten by the rules",
        "Wicks and oil ›",
    ):
        assert part in shown
    assert json.loads(cli("threads", "trace", thread, "2", "--json").out)["trace"]["follow_up"] == {"by": "rules", "note": ""}
    last = json.loads(cli("threads", "trace", thread, "--json").out)
    assert (last["number"], last["asked"], last["answer"]["reason"]) == (3, FOREIGN, "off_topic")
    assert {one["label"] for one in last["trace"]["considered"]} == {None}
    assert all(one["score"] <= 1.0 for one in last["trace"]["considered"])
    assert (last["trace"]["gate"]["answerable"], last["trace"]["draft"]) == (False, [])
    missing = cli("threads", "trace", thread, "9")
    assert (missing.code, missing.sentence()) == (1, f"The thread {thread} has turns 1 to 3, and no turn 9.")


def test_what_an_edit_made_stale(cli: Cli, thread: str, folder: Path) -> None:
    assert "No stored answer is stale" in cli("threads", "list", "--stale").out
    lesson = folder / "book" / f"{LAMP}/01-wicks.md"
    lesson.write_text(lesson.read_text("utf-8").replace("four hours", "five hours"), "utf-8")
    told = flat(cli("ingest", folder / "book").out)
    assert re.search("2 stored answers .*: bythebook threads list --stale", told)
    (stale,) = json.loads(cli("threads", "list", "--stale", "--json").out)
    assert stale["thread_id"] == thread
    assert "the book no longer contains what [1] quotes" in flat(cli("threads", "show", thread).out)
    assert "the book no longer contains what [1] quotes.*" in cli("threads", "export", thread).out
    (job, *_) = json.loads(cli("jobs", "list", "--json").out)
    assert [(one["thread_id"], one["turn"], one["quote"]) for one in job["report"]["stale"]] == [
        (thread, 1, TRIMMED),
        (thread, 2, TRIMMED),
    ]
    assert "2 stored answers cite text that changed" in cli("jobs", "show", str(job["job_id"])).out


def test_delete(cli: Cli, thread: str) -> None:
    assert cli("threads", "delete", thread).out == f"The thread {thread} is deleted.\n"
    for command in ("show", "export", "trace", "delete"):
        gone = cli("threads", command, thread)
        assert gone.code == 1
        assert gone.sentence().startswith(f"There is no thread {thread}.")


@pytest.mark.parametrize("command", ["show", "export", "trace", "delete"])
def test_an_id_that_is_none(cli: Cli, command: str) -> None:
    wrong = cli("threads", command, "../../etc/passwd")
    assert (wrong.code, wrong.sentence()[:23]) == (2, "A thread's id is a UUID")
    assert cli("threads", command, UNKNOWN).code == 1


def test_a_question_asked_once_is_not_kept(cli: Cli, folder: Path) -> None:
    """`ask` is document A's one shot."""
    copy_published(folder)
    assert cli("ask", WICK).code == 0
    assert json.loads(cli("threads", "list", "--json").out) == []
