"""The GitHub Action in examples/ does what it promises: its own steps, run on a real repository, pass and then fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lighthouse import BOOK, LAMP, LESSONS, ROCK, TRIMMED
from tests.support.questions import QUESTIONS, write_questions
from tests.support.small_book import write

EXAMPLE = Path(__file__).parents[2] / "examples" / "evaluate-on-every-change.yml"
KEPT = (f"{LAMP}/01-wicks.md", f"{LAMP}/02-lenses.md", f"{ROCK}/02-fog.md", f"{ROCK}/03-storms.md")
"""Enough of the book, and the whole of it takes twice as long."""
EXPRESSION = re.compile(r"\$\{\{.*?\}\}")


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    return found


def steps(workflow: dict[str, Any], base: str) -> list[str]:
    """The scripts of its steps, with the commit that the runner would have put in."""
    scripts = [step["run"] for step in workflow["jobs"]["evaluate"]["steps"] if "run" in step]
    assert scripts[0] == "pip install bythebook"
    return [EXPRESSION.sub(base, script) for script in scripts[1:]]


@pytest.mark.soak  # with the real embedder and git; tests/cli/test_evaluate.py runs its commands with small ones
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_an_edit_that_makes_an_answer_wrong_fails_the_action(workflow: dict[str, Any], folder: Path) -> None:
    repository = folder / "repository"
    environment = {
        **os.environ,
        **workflow["env"],
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "PYTHONUTF8": "1",
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=repository, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=300
        )

    def commit(message: str) -> str:
        author = ("-c", "user.name=author", "-c", "user.email=author@light.example")
        for command in (("add", "."), (*author, "commit", "-qm", message)):
            assert run("git", *command).returncode == 0
        return run("git", "rev-parse", "HEAD").stdout.strip()

    write(repository / "book", "book.toml", BOOK)
    for path in KEPT:
        write(repository / "book", path, LESSONS[path])
    write_questions(repository / "book" / "questions.jsonl", QUESTIONS[:4])
    assert run("git", "init", "-q").returncode == 0
    base = commit("The book")
    lesson = repository / "book" / LAMP / "01-wicks.md"
    lesson.write_text(lesson.read_text("utf-8").replace(TRIMMED, "The keeper trims the wick every nine hours."), "utf-8")
    commit("An edit that the questions do not know of")

    before, now = (run("bash", "-ec", script) for script in steps(workflow, base))
    assert before.returncode == 0, before.stdout + before.stderr
    assert now.returncode == 1, now.stdout + now.stderr
    assert re.search(r"\b[1-4] worse", now.stdout), now.stdout
    assert (repository / "scorecard.html").is_file()
    assert (repository / "scorecard.json").is_file()


def test_it_uploads_what_it_writes(workflow: dict[str, Any]) -> None:
    last = workflow["jobs"]["evaluate"]["steps"][-1]
    assert last["if"] == "always()"
    assert last["with"]["path"] == "scorecard.*"
