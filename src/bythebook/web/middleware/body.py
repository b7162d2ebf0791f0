"""Reads a request's body whole before anything else does, within limits of size and time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bythebook.errors import BookError
from bythebook.web.access import FORWARDED
from bythebook.web.problems import BodyTooLarge, Crowded, TooSlow, describe, headers_of, problem, respond

MOST_BYTES = 10_000
LARGER = {"/webhooks/": 5_000_000, "/v1/": 1_000_000, "/mcp": 100_000}
"""A forge sends much about a push; a client of chat completions sends the whole conversation each time."""
FROM_THIS_MACHINE = {"/local/": 20_000_000}
"""The command line sends what it was given, which may be thousands of questions."""
LARGE_AT_ONCE = 50_000_000
"""Bytes of larger bodies under each of these paths that may be held at once: they arrive before anybody's key is checked."""
LOOPBACK = frozenset({"127.0.0.1", "::1"})
ARRIVAL_SECONDS = 10.0
TWO_LENGTHS = "The body has two lengths. Send Content-Length or Transfer-Encoding, not both."
WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class WholeBody:
    """ASGI middleware. Responds with 413, 408 or 503, or passes the body on in one piece."""

    def __init__(self, app: ASGIApp, *, most_bytes: int = MOST_BYTES, arrival_seconds: float = ARRIVAL_SECONDS) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._arrival_seconds = arrival_seconds
        self._held: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _has_two_lengths(scope):
            told = problem(400, "bad_request", TWO_LENGTHS, scope["state"].get("request_id", ""))
            await respond(told, {"Connection": "close"}, path=scope["path"])(scope, receive, send)
            return
        if scope["type"] != "http" or (scope["method"] in WITHOUT_BODY and not _announced(scope)):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except BookError as error:
            told = describe(error, scope["state"].get("request_id", ""), trusted=False)
            await respond(told, {**headers_of(error), "Connection": "close"}, path=scope["path"])(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replaying(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None where the client has gone."""
        larger = {**LARGER, **FROM_THIS_MACHINE} if _is_from_this_machine(scope) else LARGER
        prefix = next((prefix for prefix in larger if scope["path"].startswith(prefix)), "")
        most = larger.get(prefix, self._most_bytes)
        if (_announced(scope) or 0) > most:
            raise _too_large(most)
        parts: list[bytes] = []
        size = held = 0
        try:
            async with asyncio.timeout(self._arrival_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
                    held = size
                    self._held[prefix] += len(parts[-1])
                    if size > self._most_bytes and self._held[prefix] > LARGE_AT_ONCE:
                        raise Crowded("The server is receiving too many large requests. Try again in a moment.")
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError as error:
            raise TooSlow(f"The body did not arrive within {self._arrival_seconds:g} seconds. Send it again.") from error
        finally:
            self._held[prefix] -= held


def _has_two_lengths(scope: Scope) -> bool:
    """Whether the request has two lengths. A proxy before this server may use the other one, and take a part of the body for
    the next reader's request."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}


def _announced(scope: Scope) -> int | None:
    headers: Mapping[bytes, bytes] = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return 0
    length = headers.get(b"content-length", b"")
    return int(length) if length.isdigit() else None


def _is_from_this_machine(scope: Scope) -> bool:
    """Whether the client is on this machine. A proxy on this machine forwards requests from elsewhere, and says so."""
    client = scope.get("client")
    forwarded = any(name.decode("latin-1") in FORWARDED for name, _ in scope["headers"])
    return client is not None and client[0] in LOOPBACK and not forwarded


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {most:,} bytes, the most that is taken here. Send less.")


def _replaying(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
