"""What the README and the reference print is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from scripts.write_cli_reference import PAGE, reference
from tests.cli.conftest import run_process
from tests.support.sample_library import sample_library

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
EXAMPLE = re.compile(r"```console\n\$ bythebook (?P<command>ask[^\n]+)\n```\n\n```text\n(?P<shown>.*?)\n```", re.DOTALL)
EXAMPLES = [(match["command"], match["shown"]) for match in EXAMPLE.finditer(README.read_text(encoding="utf-8"))]


def _comparable(text: str) -> str:
    """Times differ from run to run, and blanks at the end of a line show nothing."""
    lines = [line.rstrip() for line in re.sub(r"\d+ ms", "… ms", text).strip("\n").splitlines()]
    return "\n".join(lines)


def test_there_is_an_answer_and_a_refusal() -> None:
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_the_readme_prints_what_the_command_prints(folder: Path, command: str, shown: str) -> None:
    outcome = run_process(*shlex.split(command), data_dir=sample_library(folder), given={"COLUMNS": "96"})
    assert outcome.code == 0
    assert _comparable(outcome.out) == _comparable(shown)


def test_the_reference_of_the_command_line_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("page", [README, *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(
        r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    ):
        assert (page.parent / target).exists(), target
