"""The command line starts fast because it imports little. Modules are counted, not seconds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.processes import SECONDS

HEAVY = {
    "numpy",
    "sqlalchemy",
    "onnxruntime",
    "qdrant_edge",
    "qdrant_client",
    "httpx",
    "yaml",
    "markdown_it",
    "alembic",
    "mcp",
}
PROGRAM = """\
import json, sys
sys.argv = ["bythebook", *json.loads(sys.argv[1])]
from bythebook.cli import main
try:
    main()
except SystemExit:
    print()
    print(json.dumps(sorted(sys.modules)))
"""


def modules(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)], capture_output=True, encoding="utf-8", check=True, timeout=SECONDS
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_imports_next_to_nothing(arguments: tuple[str, ...]) -> None:
    found = modules(*arguments)
    assert not found & {*HEAVY, "rich", "pydantic", "asyncio"}
    assert len(found) < 320


@pytest.mark.parametrize("command", ["ingest", "search", "books", "check"])
def test_the_help_of_a_command_imports_little(command: str) -> None:
    assert not modules(command, "--help") & {*HEAVY, "rich"}
