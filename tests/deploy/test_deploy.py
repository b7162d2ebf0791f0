"""The examples in deploy/ say only what the program knows: its commands, its settings, its addresses."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from bythebook.cli.app import app
from bythebook.settings import Settings, variable_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VARIABLES = {variable_of(setting) for setting in fields(Settings)}
COMMANDS = {command.name for command in app.registered_commands}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))


@pytest.fixture(scope="module")
def kubernetes() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def test_compose_starts_what_there_is(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {"serve", "worker", "postgres", "qdrant", "redis"} <= services.keys()
    assert {services[name]["command"][0] for name in ("serve", "worker")} <= COMMANDS
    for name in ("serve", "worker"):
        assert services[name]["environment"].keys() <= VARIABLES
        assert services[name]["depends_on"].keys() <= services.keys()
        build = services[name]["build"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    (lock,) = set(re.findall(r"-r (\S+)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8")))
    locked = (ROOT / lock).read_text(encoding="utf-8")
    for needed in ("psycopg", "qdrant-client", "redis", "openai-agents", "distributed", "opentelemetry-sdk"):
        assert re.search(rf"^{needed}==", locked, re.MULTILINE), needed


def test_compose_has_no_secret_in_it(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name or "KEY" in name or "SECRET" in name:
                assert value.startswith("${"), name


def test_kubernetes_names_what_is_there(kubernetes: list[dict[str, Any]]) -> None:
    by_kind = {(one["kind"], one["metadata"]["name"]): one for one in kubernetes}
    settings = by_kind["ConfigMap", "bythebook"]["data"].keys() | by_kind["Secret", "bythebook"]["stringData"].keys()
    assert settings <= VARIABLES
    for kind, name in by_kind:
        if kind != "Deployment":
            continue
        deployment = by_kind[kind, name]["spec"]
        template = deployment["template"]
        assert deployment["selector"]["matchLabels"] == template["metadata"]["labels"]
        (container,) = template["spec"]["containers"]
        assert container["args"][0] in COMMANDS
        sources = {next(iter(one.values()))["name"] for one in container["envFrom"]}
        assert sources == {"bythebook"}
    ports = by_kind["Deployment", "bythebook-serve"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert by_kind["Service", "bythebook"]["spec"]["ports"][0]["targetPort"] == ports[0]["name"]
