"""For the command line on this machine: runs its operations, because only this process may open the index.

Not in the OpenAPI document, and not there at all for whoever cannot read the file that announces the server.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from importlib import import_module
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

from bythebook.errors import BookError, NotFound, Unavailable
from bythebook.operations.address import ServerAddress, proof, read_address
from bythebook.operations.client import DONE
from bythebook.plain import from_plain, to_plain
from bythebook.web.access import Credentials
from bythebook.web.state import Current, State

OPERATIONS = {
    name: f"bythebook.operations.{module}"
    for module, names in {
        "author": ("inspect", "list_books", "list_outdated", "publish", "calibrate", "read_calibration"),
        "backup": ("back_up",),
        "books": ("read_holdings", "remove_book", "rename_book"),
        "contents": ("read_contents", "read_texts"),
        "evaluation": ("evaluate", "draft_questions"),
        "reader": (
            "choose_book",
            "fetch_context",
            "fetch_lesson",
            "list_lessons",
            "list_states",
            "read_lesson_text",
            "read_state",
            "search",
        ),
        "threads": ("converse", "resume"),
        "turns": ("answer",),
    }.items()
    for name in names
}
"""Each with the module it is in, which is imported when the operation is first run: a server starts without an author's tools."""
TURNS = frozenset({"answer", "converse"})
"""A server that is being stopped lets turns come to their end; what may go on for hours ends with it."""
NOTHING = "There is nothing at this address. /openapi.json lists what there is."
LINES = "application/x-ndjson"

router = APIRouter(prefix="/local", include_in_schema=False)


async def announced(current: Current) -> ServerAddress:
    """As the file says it that commands read: without it, none of this is there."""
    address = await asyncio.to_thread(read_address, current.resources.data_dir / "index")
    if address is None or address.pid != os.getpid():
        raise NotFound(NOTHING)
    return address


Announced = Annotated[ServerAddress, Depends(announced)]


@router.get("/greeting")
async def greet(address: Announced, nonce: Annotated[str, Query(max_length=64)]) -> PlainTextResponse:
    return PlainTextResponse(proof(address, nonce))


@router.post("/operations/{name}")
async def run(name: str, address: Announced, current: Current, credentials: Credentials, request: Request) -> StreamingResponse:
    said = credentials.credentials if credentials else ""
    if not hmac.compare_digest(said.encode(), address.token.encode()) or name not in OPERATIONS:
        raise NotFound(NOTHING)
    operation = getattr(await asyncio.to_thread(import_module, OPERATIONS[name]), name)
    return StreamingResponse(_lines(operation, await request.json(), current), media_type=LINES)


async def _lines(operation: Callable[..., Any], plain: dict[str, Any], current: State) -> AsyncIterator[bytes]:
    """Each value on a line; at the end that it is done, or what was wrong: the same error that the command would meet itself."""
    kinds = get_type_hints(operation)
    given = {name: from_plain(kinds[name], value) for name, value in plain.items()}
    try:
        async with aclosing(_values(operation(current.resources, **given))) as values:
            async for value in values:
                yield _line({"value": to_plain(value)})
                if current.stopping.is_set() and operation.__name__ not in TURNS:
                    raise Unavailable("The server is being stopped. What is done is kept: run the command again.")
    except BookError as error:
        yield _line({"error": type(error).__name__, "text": str(error)})
    else:
        yield _line(DONE)


async def _values(outcome: AsyncGenerator[Any, None] | Awaitable[Any]) -> AsyncGenerator[Any, None]:
    if isinstance(outcome, Awaitable):
        yield await outcome
        return
    async with aclosing(outcome) as values:
        async for value in values:
            yield value


def _line(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False).encode() + b"\n"
