"""The server's side of the command line: not there for anyone but its owner, and telling as it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bythebook.ingestion.request import IngestionRequest
from bythebook.operations.client import DONE
from bythebook.operations.host import BROKEN_OFF, OTHER_VERSION
from bythebook.operations.runner import ServerAddress, announced, proof, read_address
from bythebook.plain import to_plain
from bythebook.wiring import reader
from tests.support.library import copy_data
from tests.support.lighthouse import TRIMMED, WICK, copy_published, make_embedder, published
from tests.support.serving import Service, problem, running

QUERY = {"text": "trim the wick", "book_id": "light"}


@pytest.fixture(scope="module")
def lighthouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Reached as if from anywhere, so that all else needs a key."""
    data_dir = copy_data(published() / "data", tmp_path_factory.mktemp("lighthouse") / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "open_embedder", lambda _: make_embedder())
        with running(data_dir, loopback=False) as service:
            yield service


@pytest.fixture
def address(lighthouse: Service) -> Iterator[ServerAddress]:
    index_folder = lighthouse.state.resources.data_dir / "index"
    with announced(index_folder, host="127.0.0.1", port=lighthouse.port):
        there = read_address(index_folder)
        assert there is not None
        yield there


def operation(client: httpx.Client, name: str, **given: Any) -> list[dict[str, Any]]:
    response = client.post(f"/local/operations/{name}", json=given)
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def test_it_is_not_there_unless_it_is_announced(lighthouse: Service) -> None:
    with lighthouse.client("a guess") as client:
        problem(client.get("/local/greeting", params={"nonce": "n"}), 404, "not_found")
        problem(client.post("/local/operations/search", json={"query": QUERY}), 404, "not_found")


@pytest.mark.parametrize("secret", [None, "a guess", "ü", "x" * 5000])
def test_nor_without_the_token(secret: str | None, lighthouse: Service, address: ServerAddress) -> None:
    headers = {} if secret is None else {b"Authorization": b"Bearer " + secret.encode()}
    with lighthouse.client() as client:
        problem(client.post("/local/operations/search", json={"query": QUERY}, headers=headers), 404, "not_found")


def test_nor_with_a_key(lighthouse: Service, address: ServerAddress) -> None:
    with lighthouse.client(lighthouse.key("admin")) as client:
        problem(client.post("/local/operations/search", json={"query": QUERY}), 404, "not_found")


def test_nor_in_the_document(lighthouse: Service) -> None:
    with lighthouse.client() as client:
        assert not [path for path in client.get("/openapi.json").json()["paths"] if "local" in path]


def test_the_greeting_proves_the_token_and_does_not_tell_it(lighthouse: Service, address: ServerAddress) -> None:
    with lighthouse.client() as client:
        said = client.get("/local/greeting", params={"nonce": "one"}).text
        assert said == proof(address, "one")
        assert said != client.get("/local/greeting", params={"nonce": "two"}).text
        assert address.token not in said
        problem(client.get("/local/greeting", params={"nonce": "n" * 65}), 422, "invalid_input")


def test_an_errand_is_a_line_for_each_value_and_one_that_says_it_is_done(lighthouse: Service, address: ServerAddress) -> None:
    with lighthouse.client(address.token) as client:
        found, done = operation(client, "search", query=QUERY)
        assert TRIMMED in found["value"]["response"]["results"][0]["text"].replace("\n", " ")
        assert done == DONE
        *events, done = operation(client, "answer", question={"text": WICK, "scope": {"book_id": "light"}})
        assert [event["value"]["type"] for event in events] == ["search_begun", "found", "sentence", "answered"]
        assert done == DONE


def test_an_error_is_the_last_line(lighthouse: Service, address: ServerAddress) -> None:
    with lighthouse.client(address.token) as client:
        (told,) = operation(client, "read_state", book_id="third")
        assert told["error"] == "NotFound"
        assert "no book 'third'" in told["text"]
        problem(client.post("/local/operations/close", json={}), 404, "not_found")


@pytest.fixture
def stopping(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A server that has been told to end, and has not ended yet."""
    copy_published(folder)
    monkeypatch.setattr(reader, "open_embedder", lambda _: make_embedder())
    with running(folder / "data") as service:
        index_folder = folder / "data" / "index"
        with announced(index_folder, host="127.0.0.1", port=service.port):
            service.loop.call_soon_threadsafe(service.state.stopping.set)
            yield service


def test_a_server_that_is_stopped_ends_turns_and_breaks_off_an_ingestion(stopping: Service, folder: Path) -> None:
    there = read_address(folder / "data" / "index")
    assert there is not None
    with stopping.client(there.token) as client:
        given = {"root": str(folder / "book"), "request": to_plain(IngestionRequest(mode="full"))}
        *_, last = operation(client, "publish", **given)
        assert last == {"error": "Released", "text": BROKEN_OFF}
        *_, last = operation(client, "answer", question={"text": WICK, "scope": {"book_id": "light"}})
        assert last == DONE


def test_a_command_of_another_version_is_told_so(lighthouse: Service, address: ServerAddress) -> None:
    with lighthouse.client(address.token) as client:
        (last,) = operation(client, "publish", root="book", book_id=None)
    assert last == {"error": "Unavailable", "text": OTHER_VERSION}
