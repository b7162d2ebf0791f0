"""MCP over HTTP, for editors and assistants elsewhere: the tools of `bythebook.mcp`, with this server's keys and limits."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from starlette.types import Message, Receive, Scope, Send

from bythebook.errors import BookError, Unavailable
from bythebook.operations.runner import InProcess
from bythebook.web.access import Guest, take_turn
from bythebook.web.problems import describe, request_id, trusted
from bythebook.web.quotas import turn_ended
from bythebook.web.state import Current
from bythebook.web.stream import ReaderGone, WhileRead

if TYPE_CHECKING:
    from bythebook.mcp.server import HttpManager
    from bythebook.mcp.tools import ToolCaller

router = APIRouter(include_in_schema=False)
CALLER = "mcp_caller"
"""The key under which a request carries its caller to the tools."""


class McpEndpoint:
    """Starts with the first request: its imports take a second, and many servers never get such a request."""

    def __init__(self) -> None:
        self._running: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[HttpManager] | None = None
        self._stopping = asyncio.Event()

    async def manager(self) -> HttpManager:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._ready), name="mcp")
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        self._stopping.set()
        if self._running:
            await asyncio.wait({self._running})

    async def _run(self, ready: asyncio.Future[HttpManager]) -> None:
        """Runs in a task of its own, because the manager must be entered and left in the same task."""
        try:
            server: Any = await asyncio.to_thread(import_module, "bythebook.mcp.server")
        except ModuleNotFoundError as error:
            missing = Unavailable("The mcp package is not installed here. Run: pip install 'bythebook[mcp]'")
            missing.__cause__ = error
            ready.set_exception(missing)
            return
        manager = server.make_manager(_caller_of, _told)
        async with manager.run():
            ready.set_result(manager)
            await self._stopping.wait()


class ToolResponse(Response):
    """Sends the manager's response as it comes. The work stops when the client has gone."""

    def __init__(self, manager: HttpManager, body: bytes) -> None:
        super().__init__()
        self._manager = manager
        self._sent: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ReaderGone), WhileRead(receive):
            await self._manager.handle_request(scope, self._receive, send)

    async def _receive(self) -> Message:
        """The body, which is there already; a client that goes away is noticed elsewhere."""
        if not self._sent:
            await asyncio.Event().wait()
        return self._sent.pop()


@router.api_route("/mcp", methods=["POST", "DELETE"])
async def call(request: Request, who: Guest, current: Current) -> Response:
    """Handles a request. There is no GET: it would hold a stream open on which nothing is ever sent."""
    from bythebook.mcp.tools import ToolCaller

    endpoint: McpEndpoint = request.app.state.mcp
    manager = await endpoint.manager()
    request.scope["state"][CALLER] = ToolCaller(
        library=lambda: nullcontext(InProcess(current.resources)),
        opens=who.opens,
        key_id=who.key_id,
        base_url=str(request.base_url),
        asking=lambda: take_turn(who, request, current),
        answered=partial(turn_ended, current, who.key_id),
    )
    return ToolResponse(manager, await request.body())


def _caller_of(request: Request) -> ToolCaller:
    caller: ToolCaller = request.scope["state"][CALLER]
    return caller


def _told(request: Request, error: BookError) -> str:
    return describe(error, request_id(request), trusted=trusted(request)).detail
