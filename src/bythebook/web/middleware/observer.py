"""Around every request: its id, the number of requests at once, security headers, a line in the log, a metric."""

from __future__ import annotations

import re
import time
import uuid

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bythebook.web.logs import FOR_REQUEST, log
from bythebook.web.metrics import Metrics
from bythebook.web.problems import problem, respond

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
MOST_AT_ONCE = 2_000
SILENT = frozenset({"/health", "/health/live", "/metrics"})
"""Requested every few seconds by machines: counted, and logged only when they fail."""
UNMATCHED = "(unmatched)"
PROTECTION = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Defaults that a route may override. The page loads everything from this server, so nothing else is allowed."""


class Observer:
    """ASGI middleware, the outermost, so that it sees streams unchanged and failures too."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, most_at_once: int = MOST_AT_ONCE) -> None:
        self._app = app
        self._metrics = metrics
        self._most_at_once = most_at_once
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method, scope = _method(scope), _as_get(scope)
        began = time.perf_counter()
        seen = _Seen(scope, send)
        FOR_REQUEST.set(seen.request_id)
        self._now += 1
        self._metrics.began()
        try:
            if self._now > self._most_at_once:
                told = problem(503, "overloaded", "The server has too many requests. Try again in a moment.", seen.request_id)
                await respond(told, {"Retry-After": "5"}, path=scope["path"])(scope, receive, seen.send)
            else:
                await self._app(scope, receive, seen.send)
        finally:
            self._now -= 1
            if at_end := scope["state"].get("at_end"):
                at_end()
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", UNMATCHED)
            self._metrics.ended(method, route, seen.status, seconds)
            if route not in SILENT or seen.status >= 400:
                path, key = scope["path"], scope["state"].get("key_id")
                log.info("request", method=method, path=path, status=seen.status, ms=round(1000 * seconds, 1), key_id=key)


class _Seen:
    """Adds headers to the response and keeps its status. 499 where the reader left before there was one."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._state = scope.setdefault("state", {})
        self.status = 499
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"").decode("latin-1")
        self.request_id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        self._state["request_id"] = self.request_id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in {**PROTECTION, **self._state.get("headers", {})}.items():
                headers.setdefault(name, value)
            headers["X-Request-ID"] = self.request_id
        await self._send(message)


def _as_get(scope: Scope) -> Scope:
    """Turns HEAD into GET; the server leaves out the body. Not for a stream, which has no end to wait for."""
    return {**scope, "method": "GET"} if scope["method"] == "HEAD" and not scope["path"].endswith("/events") else scope


def _method(scope: Scope) -> str:
    """The method as a label: a client may send any name, and labels must have few values."""
    return scope["method"] if scope["method"] in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} else "other"
