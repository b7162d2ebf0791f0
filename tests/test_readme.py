"""What the README and the reference print is what the commands print."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from scripts.write_cli_reference import PAGE, reference
from tests.cli.conftest import Cli, cli, embedder, run_process, small_embedder  # noqa: F401  fixtures of the command line
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


def test_the_quick_start_can_be_typed_as_it_stands(cli: Cli, folder: Path) -> None:  # noqa: F811
    """The lessons are made by its own lines; the installation is left out."""
    ran = []
    for kind, block in re.findall(r"```(sh|console)\n(.*?)```", (DOCS / "quickstart.md").read_text("utf-8"), re.DOTALL):
        if kind == "sh" and "mkdir" in block:
            subprocess.run(["bash", "-ec", block], cwd=folder, check=True)
        for line in re.findall(r"^\$ bythebook (.+)$", block, re.MULTILINE) if kind == "console" else ():
            outcome = cli(*shlex.split(line))
            assert (line, outcome.code, outcome.err) == (line, 0, "")
            ran.append(line.split()[0])
    assert {"doctor", "ingest", "ask", "chat", "books", "backup", "upgrade"} <= set(ran)
