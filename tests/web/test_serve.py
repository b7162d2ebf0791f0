"""`bythebook serve` as people run it: in a process of its own, with its log, and ended by a signal."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from fastapi import FastAPI

from bythebook.operations.runner import SERVER_FILE
from bythebook.settings import read_settings
from bythebook.web.server import Server
from bythebook.wiring.reader import answer_seconds, turn_seconds
from tests.cli.conftest import environment, run_process
from tests.support.fakes.qdrant_rest import qdrant_server
from tests.support.processes import free_port, wait_for
from tests.support.sample_library import sample_library
from tests.support.serving import ask, events, problem
from tests.support.soak import soak_size
from tests.web.conftest import copy_records
from tests.web.test_faults import redis

NODE = "What is a node?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    url: str
    process: subprocess.Popen[str]
    log_file: Path
    said: list[str]

    @property
    def log(self) -> list[dict[str, Any]]:
        """Every line is JSON, whatever was asked."""
        return [json.loads(line) for line in self.log_file.read_text("utf-8").splitlines()]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(300)


@contextmanager
def served(data_dir: Path, *options: str, **given: str) -> Iterator[Served]:
    log_file = data_dir.parent / "serve.log"
    command = [sys.executable, "-m", "bythebook", "serve", "--port", "0", *options]
    with log_file.open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment(data_dir, given))
    with process:
        assert process.stdout
        first = process.stdout.readline()
        assert first.startswith("By the Book answers on http://"), log_file.read_text("utf-8")
        second = process.stdout.readline() if "keys" not in given else ""
        try:
            yield Served(url=first.split()[5], process=process, log_file=log_file, said=[first, second])
        finally:
            process.kill()


def client(service: Served) -> httpx.Client:
    return httpx.Client(base_url=service.url, timeout=300, trust_env=False)


def test_it_says_where_it_is_keeps_questions_to_itself_and_finishes_a_turn_before_it_ends(folder: Path) -> None:
    data_dir = sample_library(folder)
    with served(data_dir) as service, client(service) as reader:
        shown = (
            (Path(__file__).parents[2] / "docs" / "service.md").read_text("utf-8").replace("http://127.0.0.1:8000", service.url)
        )
        assert "$ bythebook serve\n" + "".join(service.said) in shown
        assert (data_dir / "index" / SERVER_FILE).exists()
        assert reader.get("/health").json()["status"] == "ready"
        forged = '/threads/x%0a{"event": "forged"}%0d%0aforged'
        reader.get(forged, headers={"X-Request-ID": "a b\tforged", "User-Agent": 'forged"}'})
        reader.get("/books", headers={"X-Request-ID": "of-my-own.1"})
        assert told_while_it_ends(service, reader) == ["answered", "done"]
        assert service.process.wait(300) == 0
        told = service.log
        assert not (data_dir / "index" / SERVER_FILE).exists()
    text = service.log_file.read_text("utf-8")
    assert "node" not in text.lower().replace("/node", "")
    requests = [one for one in told if one["event"] == "request"]
    assert {"method", "path", "status", "ms", "request_id", "timestamp", "level"} <= requests[0].keys()
    assert any(one["path"].startswith("/threads/x\n") for one in requests)
    assert not any(one["event"] == "forged" for one in told)
    assert [one["request_id"] for one in requests if one["path"] == "/books"] == ["of-my-own.1"]
    assert "/health" not in {one["path"] for one in requests}
    assert NODE in run_process("threads", "list", "--json", data_dir=data_dir).out


def told_while_it_ends(service: Served, reader: httpx.Client) -> list[str]:
    """A stream that has begun when the server is asked to end: how it ends."""
    with reader.stream("POST", "/chat/stream", json={"message": NODE}) as response:
        lines = response.iter_text()
        began = next(lines)
        service.process.send_signal(signal.SIGTERM)
        return [one.name for one in events(began + "".join(lines))][-2:]


@pytest.mark.parametrize(("model_seconds", "least"), [(60.0, 90), (3600.0, 5400)])
def test_it_waits_for_the_longest_turn_that_the_settings_allow(folder: Path, model_seconds: float, least: int) -> None:
    settings = read_settings(data_dir=folder, model_seconds=model_seconds)
    server = Server(FastAPI(), settings, ready=lambda: None)
    waits = server.config.timeout_graceful_shutdown
    assert waits is not None
    assert answer_seconds(settings) == least < turn_seconds(settings) < waits
    assert math.ceil(turn_seconds(settings)) == 90 + 1.75 * model_seconds  # as docs/service.md says


def test_a_host_beyond_this_machine_needs_keys(folder: Path) -> None:
    data_dir = sample_library(folder)
    outcome = run_process("serve", "--host", "0.0.0.0", "--port", "0", data_dir=data_dir)
    assert outcome.code == 2
    assert "There are no keys" in outcome.sentence()
    made = run_process("keys", "create", "a reader", "--json", data_dir=data_dir)
    assert made.code == 0, made.err
    secret = json.loads(made.out)["secret"]
    given = {"BYTHEBOOK_LOG_QUESTIONS": "true", "BYTHEBOOK_CORS_ORIGINS": "https://book.example"}
    with served(data_dir, "--host", "0.0.0.0", keys="there", **given) as service:
        url = service.url.replace("0.0.0.0", "127.0.0.1")
        with httpx.Client(base_url=url, timeout=300, trust_env=False) as reader:
            problem(reader.get("/books"), 401, "key_required")
            opened = reader.get("/books", headers={"Authorization": f"Bearer {secret}", "Origin": "https://book.example"})
            assert (opened.status_code, opened.headers["Access-Control-Allow-Origin"]) == (200, "https://book.example")
            reader.headers["Authorization"] = f"Bearer {secret}"
            ask(reader, NODE)
        assert any(one.get("message") == NODE for one in service.log)
        assert secret not in service.log_file.read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "needed"), [({}, "QDRANT_URL"), ({"QDRANT_URL": "http://127.0.0.1:1"}, "REDIS_URL")], ids=["qdrant", "redis"]
)
def test_several_workers_need_what_they_share(folder: Path, given: dict[str, str], needed: str) -> None:
    outcome = run_process("serve", "--workers", "2", data_dir=folder / "data", given=given, cwd=folder)
    assert outcome.code == 2
    assert needed in outcome.sentence()


def test_several_workers_serve_as_one(folder: Path) -> None:
    """One socket, one count of everything."""
    (folder / "qdrant").mkdir()
    with qdrant_server(folder / "qdrant") as qdrant, redis(folder, free_port()) as redis_url:
        given = {"QDRANT_URL": qdrant.url, "REDIS_URL": redis_url}
        with served(folder / "data", "--workers", "2", **given) as service:
            for _ in range(6):  # a connection each, so that it may come to either
                with client(service) as reader:
                    assert reader.get("/books").json() == {"books": []}
            with client(service) as reader:
                counted = 'bythebook_requests_total{method="GET",route="/books",status="200"} 6.0'
                wait_for(lambda: counted in reader.get("/metrics").text)  # a process counts when its answer has gone out
            assert service.end() == 0


@pytest.mark.soak
def test_a_worker_that_begins_slowly_is_not_taken_for_one_that_hangs(folder: Path) -> None:
    """On a busy machine it takes many seconds until it can answer whoever watches it."""
    (folder / "qdrant").mkdir()
    (folder / "sitecustomize.py").write_text("import sys, time\nif '--multiprocessing-fork' in sys.argv:\n    time.sleep(12)\n")
    with qdrant_server(folder / "qdrant") as qdrant, redis(folder, free_port()) as redis_url:
        given = {
            "QDRANT_URL": qdrant.url,
            "REDIS_URL": redis_url,
            "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        }
        with served(folder / "data", "--workers", "2", **given) as service, client(service) as reader:
            assert reader.get("/books").json() == {"books": []}
            assert service.end() == 0
            assert "died" not in service.log_file.read_text("utf-8")


def test_a_port_that_is_taken(folder: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = run_process("serve", "--port", port, data_dir=folder / "data", cwd=folder)
    assert outcome.code == 2
    assert "--port" in outcome.sentence()


@pytest.mark.soak
def test_kill_9_in_the_middle_of_turns_leaves_every_thread_whole(folder: Path, database_address: str | None) -> None:
    data_dir, kills = sample_library(folder), soak_size(90)
    given = {}
    if database_address:
        asyncio.run(copy_records(data_dir, database_address))
        given["DATABASE_URL"] = database_address
    told = sum(kill_during_turns(data_dir, round, **given) for round in range(kills))
    print(f"\n{kills} servers killed in the middle of turns: {told} turns told, all kept, every thread whole")


def test_kill_9_in_the_middle_of_turns(folder: Path) -> None:
    kill_during_turns(sample_library(folder), 2)


def kill_during_turns(data_dir: Path, round: int, **given: str) -> int:
    """Killed after so many turns have been told whole, with others under way. What was told is there, and nothing is half. How
    many were told."""
    told: list[str] = []
    enough = threading.Event()

    def ask_on(url: str) -> None:
        with httpx.Client(base_url=url, timeout=300, trust_env=False) as reader:
            try:
                while True:
                    told.append(ask(reader, NODE)["session_id"])
                    if len(told) > round % 7:
                        enough.set()
            except httpx.HTTPError:
                return

    with served(data_dir, **given) as service:
        askers = [threading.Thread(target=ask_on, args=(service.url,)) for _ in range(3)]
        for asker in askers:
            asker.start()
        assert enough.wait(300)
        os.kill(service.process.pid, signal.SIGKILL)
        for asker in askers:
            asker.join()
    with served(data_dir, **given) as again, client(again) as reader:
        for thread in told:
            shown = reader.get(f"/threads/{thread}").json()
            assert len(shown["turns"]) == 1
            assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
        for one in reader.get("/threads", params={"limit": 100}).json()["threads"]:
            shown = reader.get(f"/threads/{one['thread_id']}").json()
            assert one["turn_count"] == len(shown["turns"]) == len(shown["messages"]) / 2
        assert ask(reader, NODE, session_id=told[0])["turn"] == 2
    return len(told)


@pytest.mark.soak
def test_a_days_load_makes_neither_memory_nor_descriptors_grow(folder: Path) -> None:
    """Of a book that is asked every four seconds, day and night, as fast as the machine answers."""
    count = soak_size(20_000, least=160)
    with served(sample_library(folder)) as service:
        watched = psutil.Process(service.process.pid)
        ask_many(service.url, max(160, count // 10))
        before, open_before, began = watched.memory_info().rss, watched.num_fds(), time.monotonic()
        ask_many(service.url, count)
        took, after, open_after = time.monotonic() - began, watched.memory_info().rss, watched.num_fds()
    grown = f"{before / 1e6:.0f} MB and {open_before} descriptors, then {after / 1e6:.0f} MB and {open_after}"
    print(f"\n{count:,} turns and searches in {took / 60:.1f} minutes: {grown}")
    assert after < 1.1 * before
    assert open_after <= open_before + 5


def ask_many(url: str, count: int) -> None:
    """Turns and searches, eight at a time."""

    def ask_some(_: int) -> None:
        with httpx.Client(base_url=url, timeout=300, trust_env=False) as reader:
            for _ in range(count // 16):
                ask(reader, NODE)
                assert reader.post("/search", json={"text": NODE}).status_code == 200

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask_some, range(8)))
