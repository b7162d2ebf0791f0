"""For the command line on this machine: runs its operations, because only this process may open the index.

Not in the OpenAPI document, and 404 for clients that cannot read the file that announces the server.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

from bythebook.errors import NotFound
from bythebook.operations.host import lines, load_operation
from bythebook.operations.runner import ServerAddress, proof, read_address
from bythebook.web.access import Credentials
from bythebook.web.state import Current

NOTHING = "There is nothing at this address. /openapi.json lists what there is."
LINES = "application/x-ndjson"

router = APIRouter(prefix="/local", include_in_schema=False)


async def announced(current: Current) -> ServerAddress:
    """Checks the token in the file that commands read: without it, these routes do not exist."""
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
    operation = await load_operation(name)
    if not hmac.compare_digest(said.encode(), address.token.encode()) or operation is None:
        raise NotFound(NOTHING)
    return StreamingResponse(lines(operation, await request.json(), current.resources, current.stopping), media_type=LINES)
