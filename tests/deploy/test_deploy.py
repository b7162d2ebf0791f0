"""The examples in deploy/ say only what the program knows: its commands, its settings, its addresses."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from bythebook.cli.app import app
from bythebook.settings import Settings, variable_of
from tests.cli.conftest import environment
from tests.support.fakes.qdrant_rest import qdrant_server
from tests.support.processes import SECONDS, free_port
from tests.web.test_faults import redis

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


@pytest.mark.skipif(sys.platform != "linux", reason="PostgreSQL and Redis of the tests are there for Linux")
def test_kubernetes_starts_with_nothing_but_what_it_says(kubernetes: list[dict[str, Any]], folder: Path, postgresql: str) -> None:
    """Its processes as they are written, on this machine: an empty data folder, an empty database, the first key."""
    by_name = {(one["kind"], one["metadata"]["name"]): one for one in kubernetes}
    port, first_key = free_port(), "f" * 64
    (folder / "qdrant").mkdir()
    with redis(folder, port) as redis_url, qdrant_server(folder / "qdrant", api_key="CHANGE-ME") as qdrant:
        here = {"DATABASE_URL": postgresql, "QDRANT_URL": qdrant.url, "REDIS_URL": redis_url, "BYTHEBOOK_FIRST_KEY": first_key}
        said = {**by_name["ConfigMap", "bythebook"]["data"], **by_name["Secret", "bythebook"]["stringData"]}
        assert here.keys() <= said.keys()
        started = []
        for number, part in enumerate(("serve", "serve", "worker")):
            (container,) = by_name["Deployment", f"bythebook-{part}"]["spec"]["template"]["spec"]["containers"]
            arguments = ["0" if argument == "8000" else argument for argument in container["args"]]
            data = {"BYTHEBOOK_DATA_DIR": str(folder / f"data-{number}")}
            command = [sys.executable, "-m", "bythebook", *arguments]
            env = environment(folder / f"data-{number}", {**said, **here, **data, "PYTHONUNBUFFERED": "1"})
            started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        try:
            lines = [process.stdout.readline() if process.stdout else "" for process in started]
            assert lines[2].startswith("Waiting for jobs"), started[2].communicate(timeout=SECONDS)
            for line in lines[:2]:
                assert line.startswith("By the Book answers on http://0.0.0.0:"), lines
                url = line.split()[5].replace("0.0.0.0", "127.0.0.1")
                assert httpx.get(f"{url}/health", trust_env=False, timeout=SECONDS).status_code == 200
                assert httpx.get(f"{url}/books", trust_env=False, timeout=SECONDS).status_code == 401
                key = {"Authorization": f"Bearer {first_key}"}
                assert httpx.get(f"{url}/books", headers=key, trust_env=False, timeout=SECONDS).json() == {"books": []}
        finally:
            for process in started:
                process.kill()
                process.communicate()
