"""Writes docs/cli.md from the commands' own help. A test fails when the page is stale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from bythebook.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
WIDTH = 110
PREFACE = """# The command line

Written by `scripts/write_cli_reference.py` from the commands' own help. Exit codes: 0 for success (including
a refusal), 1 for a failure, 2 for bad arguments or settings, 130 when interrupted.
"""


def reference() -> str:
    """Every command, in the order of the program's own list; those of a group under it."""
    parts = [PREFACE, _block()]
    for name, command in _below(typer.main.get_command(app)).items():
        parts += [f"## bythebook {name}\n", _block(name)]
        for below in _below(command):
            parts += [f"### bythebook {name} {below}\n", _block(name, below)]
    return "\n".join(parts)


def _below(command: Any) -> dict[str, Any]:
    """A group's commands by their names."""
    return getattr(command, "commands", {})


def _block(*command: str) -> str:
    shown = CliRunner().invoke(app, [*command, "--help"], terminal_width=WIDTH)
    assert shown.exit_code == 0, shown.output
    return f"```text\n{shown.stdout.strip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
