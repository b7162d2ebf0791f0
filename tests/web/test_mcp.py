"""MCP over HTTP: the package's own client and the raw JSON of both eras, with this server's keys, limits and public books."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from sqlalchemy import Connection, func, select

from bythebook.database.tables import threads
from tests.support.fakes.openai_server import ChatServer, Silent
from tests.support.fakes.openai_server import running as running_model
from tests.support.processes import wait_for
from tests.support.sample_library import sample_library
from tests.support.serving import BOOK, Service, problem, running
from tests.web.test_connections import connected, eventually_idle, head

NODE = "What is a node?"
ACCEPT = {"Accept": "application/json, text/event-stream"}
MODERN = "2026-07-28"


def modern(method: str, params: dict[str, Any] | None = None, version: str = MODERN) -> dict[str, Any]:
    """The headers and body of a request of today."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}
    named = {"Mcp-Name": str((params or {})["name"])} if "name" in (params or {}) else {}
    return {"json": body, "headers": {**ACCEPT, "MCP-Protocol-Version": version, "Mcp-Method": method, **named}}


def legacy(method: str, params: dict[str, Any]) -> dict[str, Any]:
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-06-18"}
    return {"json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, "headers": headers}


def result(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()["result"]
    return told


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_packages_client_asks_in_both_eras(service: Service, mode: str) -> None:
    async def story() -> None:
        async with Client(f"{service.url}/mcp", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools][:2] == ["ask", "search"]
            told = await client.call_tool("ask", {"question": NODE})
            assert told.structured_content["sources"][0]["quotes"]

    asyncio.run(story())


def test_the_raw_json_of_both_eras(client: httpx.Client) -> None:
    found = result(client.post("/mcp", **modern("server/discover")))
    assert MODERN in found["supportedVersions"]
    begun = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}
    assert result(client.post("/mcp", **legacy("initialize", begun)))["serverInfo"]["name"] == "bythebook"
    call = {"name": "ask", "arguments": {"question": NODE}}
    answers = [result(client.post("/mcp", **made("tools/call", call))) for made in (modern, legacy)]
    for told in answers:
        assert told["isError"] is False
        assert told["structuredContent"]["answer"] in told["content"][0]["text"]
        assert "**Sources**" in told["content"][0]["text"]
    assert answers[0]["structuredContent"]["answer"] == answers[1]["structuredContent"]["answer"]


def test_bad_calls_are_answered(client: httpx.Client) -> None:
    unknown = client.post("/mcp", **modern("tools/list", version="2031-01-01"))
    assert unknown.status_code == 400
    assert MODERN in str(unknown.json()["error"])
    assert result(client.post("/mcp", **legacy("tools/call", {"name": "ask"})))["isError"] is True
    assert result(client.post("/mcp", **legacy("tools/call", {"name": "ask", "arguments": None})))["isError"] is True
    assert client.post("/mcp", content="{", headers={**ACCEPT, "Content-Type": "application/json"}).status_code == 400
    assert client.post("/mcp", json=[], headers={**ACCEPT, "MCP-Protocol-Version": "2025-06-18"}).status_code == 400
    first = result(client.post("/mcp", **modern("resources/list")))["resources"]
    for cursor in ("9" * 5_000, "-1", "٣", "x"):  # a number of 5,000 digits is a fault in Python
        assert result(client.post("/mcp", **modern("resources/list", {"cursor": cursor})))["resources"] == first
    problem(client.post("/mcp", content=b"w" * 100_001, headers=ACCEPT), 413, "body_too_large")
    problem(client.post("/mcp", **{**modern("tools/list"), "headers": {"Host": "evil.example"}}), 403, "not_allowed")


def test_a_key_opens_its_book_and_its_own_sessions(locked: Service) -> None:
    call = {"name": "ask", "arguments": {"question": NODE}}
    with locked.client() as nobody:
        problem(nobody.post("/mcp", **modern("tools/call", call)), 401, "key_required")
    with locked.client(locked.key("ingest")) as author:
        problem(author.post("/mcp", **modern("tools/call", call)), 403, "not_allowed")
    with locked.client(locked.key("chat", book_id="another")) as other:
        told = result(other.post("/mcp", **modern("tools/call", call)))
        assert told["isError"] is True
        assert result(other.post("/mcp", **modern("tools/call", {"name": "books"})))["structuredContent"] == {"books": []}
    with locked.client(locked.key("chat")) as reader, locked.client(locked.key("chat")) as stranger:
        session = result(reader.post("/mcp", **modern("tools/call", call)))["structuredContent"]["session"]
        more = {"name": "ask", "arguments": {"question": "How do they communicate?", "session": session}}
        assert result(reader.post("/mcp", **modern("tools/call", more)))["structuredContent"]["session"] == session
        assert "There is no thread" in result(stranger.post("/mcp", **modern("tools/call", more)))["content"][0]["text"]
        assert reader.get(f"/threads/{session}").json()["turn_count"] == 2


def test_a_client_that_hangs_up_stops_the_turn(folder: Path) -> None:
    """While the model has not said a word yet."""
    model = ChatServer()
    model.turns += [Silent(), Silent()]
    with running_model(model), running(sample_library(folder), openai_base_url=model.url, openai_api_key="sk-test") as there:
        for made in (modern, legacy):
            asked = made("tools/call", {"name": "ask", "arguments": {"question": NODE}})
            body = json.dumps(asked["json"]).encode()
            headers = {**asked["headers"], "Content-Type": "application/json", "Content-Length": str(len(body))}
            with connected(there.port) as line:
                line.sendall(head("POST", "/mcp", headers) + body)
                wait_for(lambda: bool(model.bodies))
            wait_for(lambda: there.run(there.state.resources.database.run(turns_under_way)) == 0)
            eventually_idle(there)
            assert there.run(there.state.threads.list(None)) == []
            model.bodies.clear()


def turns_under_way(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(threads).where(threads.c.turn_token.is_not(None))).scalar_one()


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Reached from elsewhere, with the sample book for everyone."""
    folder: Path = tmp_path_factory.mktemp("public")
    with running(sample_library(folder), loopback=False, public_books=BOOK) as there:
        yield there


def test_a_public_book_is_asked_without_a_key_and_nothing_else_is(open_house: Service) -> None:
    with open_house.client() as anyone:
        told = result(anyone.post("/mcp", **modern("tools/call", {"name": "ask", "arguments": {"question": NODE}})))
        session = told["structuredContent"]["session"]
        assert [one["id"] for one in anyone.get("/v1/models").json()["data"]] == [BOOK]
        body = {"model": BOOK, "messages": [{"role": "user", "content": NODE}]}
        assert anyone.post("/v1/chat/completions", json=body).json()["thread_id"] is None
        for path in (f"/threads/{session}", "/threads", "/books", f"/books/{BOOK}/gaps"):
            problem(anyone.get(path), 401, "key_required")
        problem(anyone.post("/search", json={"text": NODE}), 401, "key_required")
        problem(anyone.post("/mcp", headers={"Authorization": "Bearer wrong"}), 401, "key_required")
        codes = [anyone.get("/v1/models").status_code for _ in range(40)]
        assert (codes[0], codes[-1]) == (200, 429)
