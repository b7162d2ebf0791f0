"""One service over the sample book for all tests here, on SQLite; on PostgreSQL too where a module is about what is stored."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from bythebook.database.engine import Database, database_url
from bythebook.ingestion.records import Records
from tests.support.library import fast_folder
from tests.support.sample_library import sample_library
from tests.support.serving import Service, running, silent

ON_BOTH_DATABASES = ("test_books.py", "test_jobs.py", "test_keys.py", "test_questions.py", "test_reactions.py", "test_threads.py")
"""Modules whose requests write or list rows. The others ask nothing else of PostgreSQL; `make soak` runs them on it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        on_postgresql = "postgresql" in (params.get("service"), params.get("locked"))
        if on_postgresql and item.path.name not in ON_BOTH_DATABASES:
            item.add_marker("soak")


@pytest.fixture(autouse=True, scope="module")
def _silence() -> Iterator[None]:
    with silent():
        yield


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in these tests are on the loopback; a proxy of the machine must not stand in between."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


async def copy_records(data_dir: Path, url: str) -> None:
    """What was ingested, told to another database: the index is the same."""
    there, here = await Database.open(database_url(None, data_dir)), await Database.open(database_url(url, data_dir))
    try:
        for state in await Records(there).books():
            records = await Records(there).records(state.book_id, state.collection_name)
            await Records(here).reserve(state.book_id, state.collection_name)
            await Records(here).save_records(state.book_id, state.collection_name, list(records.values()))
            await Records(here).save_book(state)
    finally:
        await there.close()
        await here.close()


@contextmanager
def sample_service(request: pytest.FixtureRequest, **given: Any) -> Iterator[Service]:
    """Over the sample book, on the database that the fixture's parameter names."""
    folder = fast_folder()
    data_dir = sample_library(folder)
    if request.param == "postgresql":
        given["database_url"] = new_database(request.getfixturevalue("postgresql_server"))
        asyncio.run(copy_records(data_dir, given["database_url"]))
    with running(data_dir, **given) as there:
        yield there
    shutil.rmtree(folder)


def new_database(server: str) -> str:
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """No keys are needed: it is reached over the loopback, and none is made in it."""
    with sample_service(request) as there:
        yield there


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def locked(request: pytest.FixtureRequest) -> Iterator[Service]:
    """One that can be reached from elsewhere: nothing without a key."""
    with sample_service(request, loopback=False) as there:
        yield there
