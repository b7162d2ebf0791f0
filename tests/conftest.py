"""What every test shares: an environment that says nothing, and books to read."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings

from bythebook.settings import NO_ENV_FILE
from tests.support.databases import postgresql_started
from tests.support.library import fast_folder
from tests.support.small_book import write_small_book

# The same examples everywhere and on every run: what CI says must be what a developer sees. `make soak` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("search", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("same")

# A shell that starts a program in the background has it ignore Ctrl-C, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
SLOW = (
    "answering/test_markup.py",
    "bench",
    "books/test_properties.py",
    "cli/test_backup.py",
    "cli/test_demo.py",
    "cli/test_jobs.py",
    "cli/test_kill.py",
    "cli/test_through_server.py",
    "jobs/test_switching.py",
    "jobs/test_worker.py",
    "mcp/test_server.py",
    "test_commands.py",
    "test_path_of_a_judge.py",
    "test_path_of_a_question.py",
    "test_readme.py",
    "threads/test_processes.py",
    "web/test_faults.py",
    "web/test_openapi.py",
    "web/test_serve.py",
)
"""What takes five seconds of processor time or more: the sample book ingested whole, many processes, hundreds of examples."""
OURS = ("BYTHEBOOK_", "OPENAI_", "COHERE_", "QDRANT_", "AGENT_", "DATABASE_URL", "REDIS_URL", "DASK_", "GITHUB_WEBHOOK_", "OTEL_")


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer has configured must not decide a test."""
    for name in os.environ:
        if name.startswith(OURS):
            monkeypatch.delenv(name)
    monkeypatch.setenv(NO_ENV_FILE, "1")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in the tests are on the loopback; a proxy of the machine must not stand in between."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Like tmp_path, but in memory where the system has such a place."""
    made = fast_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Nobody listens there, and no other test's server can come to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.fixture
def book(folder: Path) -> Path:
    return write_small_book(folder / "book")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """A real PostgreSQL, for as long as the tests run."""
    import psycopg

    with postgresql_started() as server:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # no test has to survive a power cut
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """A database of its own for one test."""
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgresql_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_address(request: pytest.FixtureRequest) -> str | None:
    """Of an empty database, of either kind. None means SQLite in the test's folder."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")


def pytest_configure(config: pytest.Config) -> None:
    """What is repeated many times runs when it is asked for: `make soak`."""
    if not config.option.markexpr:
        config.option.markexpr = "not soak"
    if not hasattr(config, "workerinput"):  # processes that run a part of the tests get it from this one
        os.environ["TESTS_SHARED_FOLDER"] = str(fast_folder())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make unit` leaves out what needs a browser or PostgreSQL, and what is slow."""
    for item in items:
        if isinstance(item, pytest.Function) and _asks_for_postgresql(item):
            item.add_marker("postgresql")
        place = item.path.relative_to(TESTS).as_posix()
        if place.startswith("page/"):
            item.add_marker("browser")
        if place.startswith(SLOW):
            item.add_marker("slow")


def _asks_for_postgresql(item: pytest.Function) -> bool:
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return bool({"postgresql", "postgresql_server"} & {*item.fixturenames, *(one for one in given if isinstance(one, str))})


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop("TESTS_SHARED_FOLDER"), ignore_errors=True)
