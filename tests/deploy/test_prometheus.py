"""The alarms and the dashboard in deploy/prometheus ask only for what the server counts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bythebook.web.metrics import Metrics
from tests.support.made_turns import answer, refusal

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
NAME = re.compile(r"\bbythebook_\w+")
LABELLED = re.compile(r"(bythebook_\w+)\{([^}]*)\}")


def counted() -> dict[str, set[str]]:
    """The names that a server exposes, each with its labels."""
    metrics = Metrics()
    metrics.began()
    metrics.ended("GET", "/health", 503, 0.1)
    metrics.turn(answer())
    metrics.turn(refusal())
    metrics.jobs({"queued": 1})
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(bythebook_\w+)(?:\{([^}]*)\})? ", metrics.exposition().decode(), re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


def expressions() -> list[str]:
    rules: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return [rule["expr"] for rule in rules] + [target["expr"] for panel in panels for target in panel["targets"]]


def test_what_is_asked_for_is_counted() -> None:
    known = counted()
    asked = {name for expression in expressions() for name in NAME.findall(expression)}
    assert len(asked) >= 9
    assert asked <= known.keys()
    for expression in expressions():
        for name, labels in LABELLED.findall(expression):
            assert set(re.findall(r"(\w+)(?:=|!=|=~)", labels)) <= known[name] | {"instance"}, expression


def test_every_alarm_says_what_to_do_and_who_is_woken() -> None:
    for rule in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]:
        assert rule["annotations"].keys() == {"summary", "action"}
        assert rule["labels"]["severity"] in ("page", "ticket")


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
@pytest.mark.parametrize("command", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts.test.yaml")], ids=" ".join)
def test_promtool_agrees(command: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *command], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
