"""Writes docs/cli.md from the commands' own help. A test fails when the page is stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
COMMANDS = ("demo", "ingest", "ask", "chat", "search", "context", "lesson", "books", "calibration", "check")
GROUPS = {"threads": ("list", "show", "export", "delete", "trace"), "keys": ("create", "list", "revoke")}
PREFACE = """# The command line

Written by `scripts/write_cli_reference.py` from the commands' own help. Exit codes: 0 (a refusal too), 1 for a failure, 2 for
what was asked wrongly, 130 when interrupted.
"""


def reference() -> str:
    parts = [PREFACE, _block()]
    for command in COMMANDS:
        parts += [f"## bythebook {command}\n", _block(command)]
    for group, commands in GROUPS.items():
        parts += [f"## bythebook {group}\n", _block(group)]
        for command in commands:
            parts += [f"### bythebook {group} {command}\n", _block(group, command)]
    return "\n".join(parts)


def _block(*command: str) -> str:
    shown = subprocess.run(
        [sys.executable, "-m", "bythebook", *command, "--help"],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "110", "TERMINAL_WIDTH": "110"},
        check=True,
    )
    return f"```text\n{shown.stdout.strip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
