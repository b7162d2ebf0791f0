"""`bythebook doctor`: one line for each part, and what to do where one does not work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

PARTS = ["program", "documents", "data folder", "disk", "database", "index", "embedder", "reader", "model", "port"]


def states(cli: Cli) -> dict[str, Any]:
    return {finding["part"]: finding for finding in json.loads(cli("doctor", "--json").out)}


def test_where_nothing_is_yet_nothing_is_wrong_and_nothing_is_made(cli: Cli, folder: Path) -> None:
    outcome = cli("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    assert [line[2:].split("  ")[0].strip() for line in outcome.out.splitlines() if line[:1] in "✓·✗"] == PARTS
    assert not (folder / "data").exists()


def test_each_part_is_looked_at_though_another_does_not_work(
    shelf: Cli, folder: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "1 book: small" in states(shelf)["database"]["told"]
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{closed_port}/v1")
    (folder / "data" / "bythebook.db").write_bytes(b"no database" * 100)
    outcome = shelf("doctor")
    assert outcome.code == 1
    assert "Traceback" not in outcome.out + outcome.err
    found = states(shelf)
    assert list(found) == PARTS
    assert {part for part, finding in found.items() if finding["state"] == "problem"} >= {"database", "model"}
    assert str(closed_port) in found["model"]["told"]
    assert "OPENAI_BASE_URL" in found["model"]["remedy"]
