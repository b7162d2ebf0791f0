"""A body that is too large or too slow, and one that is neither."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from bythebook.web.middleware.body import MOST_BYTES, WholeBody

pytestmark = pytest.mark.anyio


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def sent(parts: Iterable[bytes], *, headers: dict[str, str] | None = None, path: str = "/chat/run", **given: Any) -> Any:
    """The status and the body of the answer. After its parts the client says nothing more."""
    waiting: list[Message] = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if not given.pop("unfinished", False):
        waiting.append({"type": "http.request", "body": b"", "more_body": False})
    answered: list[Message] = []

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        answered.append(message)

    raw = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    client = (given.pop("client", "203.0.113.7"), 40_000)
    scope = {"type": "http", "method": "POST", "path": path, "headers": raw, "state": {"request_id": "r"}, "client": client}
    await WholeBody(_echo, **given)(scope, receive, send)
    return answered[0]["status"], answered[1]["body"]


async def test_parts_arrive_as_one() -> None:
    assert await sent([b"a", b"", b"bc"]) == (200, b"abc")


async def test_exactly_as_much_as_is_taken() -> None:
    assert (await sent([b"x" * MOST_BYTES]))[0] == 200


@pytest.mark.parametrize("parts", [[b"x" * (MOST_BYTES + 1)], [b"x" * 1000] * 11])
async def test_too_much_is_refused_while_it_comes(parts: list[bytes]) -> None:
    status, body = await sent(parts, unfinished=True)
    assert (status, json.loads(body)["code"]) == (413, "body_too_large")


async def test_what_says_that_it_is_too_large_is_not_even_read() -> None:
    status, _ = await sent([], headers={"content-length": "10000000"}, unfinished=True)
    assert status == 413


async def test_a_slow_body_is_given_up() -> None:
    status, body = await sent([b"{"], unfinished=True, arrival_seconds=0.01)
    assert (status, json.loads(body)["code"]) == (408, "too_slow")


async def test_a_forge_may_send_more() -> None:
    assert (await sent([b"x" * 100_000], path="/webhooks/github"))[0] == 200
    assert (await sent([b"x" * 100_000], path="/webhooks"))[0] == 413


async def test_no_more_large_bodies_are_held_at_once_than_the_memory_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read before anybody's key is checked. Small ones, and those of other paths, come through meanwhile."""
    monkeypatch.setattr("bythebook.web.middleware.body.LARGE_AT_ONCE", 150_000)
    door, waiting = WholeBody(_echo), asyncio.Event()
    first = asyncio.create_task(_through(door, "/webhooks/github", 100_000, until=waiting))
    await asyncio.sleep(0)
    assert await _through(door, "/webhooks/github", 100_000) == (503, b"5")
    assert await _through(door, "/webhooks/github", MOST_BYTES) == (200, None)
    assert await _through(door, "/v1/chat/completions", 100_000) == (200, None)
    waiting.set()
    assert await first == (200, None)
    assert await _through(door, "/webhooks/github", 100_000) == (200, None)


async def _through(door: WholeBody, path: str, size: int, until: asyncio.Event | None = None) -> tuple[int, bytes | None]:
    """The status, and when to come again. The body's end comes when `until` is set."""
    parts: list[Message] = [{"type": "http.request", "body": b"x" * size, "more_body": True}]
    answered: list[Message] = []

    async def receive() -> Message:
        if parts:
            return parts.pop()
        if until:
            await until.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answered.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": [], "state": {}, "client": ("203.0.113.7", 40_000)}
    await door(scope, receive, send)
    return answered[0]["status"], dict(answered[0]["headers"]).get(b"retry-after")


@pytest.mark.parametrize("length", ["-1", "1e3", "٣", "", "0x10"])
async def test_a_length_that_is_no_number_counts_for_nothing(length: str) -> None:
    assert (await sent([b"abc"], headers={"content-length": length}))[0] == 200


@pytest.mark.parametrize(("client", "status"), [("127.0.0.1", 200), ("::1", 200), ("203.0.113.7", 413)])
async def test_the_command_line_on_this_machine_may_send_more(client: str, status: int) -> None:
    assert (await sent([b"x" * 2_000_000], path="/local/operations/evaluate", client=client))[0] == status
    assert (await sent([b"x" * 2_000_000], path="/chat/run", client=client))[0] == 413


async def test_but_not_whoever_comes_through_a_proxy_on_this_machine() -> None:
    forwarded = {"x-forwarded-for": "203.0.113.7"}
    status, _ = await sent([b"x" * 2_000_000], path="/local/operations/evaluate", client="127.0.0.1", headers=forwarded)
    assert status == 413
