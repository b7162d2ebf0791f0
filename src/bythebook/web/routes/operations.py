"""For the operator: whether the server can serve, and its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Response

from bythebook import __version__
from bythebook.errors import BookError
from bythebook.web.access import Administrator
from bythebook.web.logs import log
from bythebook.web.metrics import CONTENT_TYPE
from bythebook.web.problems import ERRORS, NotAllowed
from bythebook.web.responses import json_response
from bythebook.web.state import Current

router = APIRouter(tags=["operations"])
CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The server's health. `checks` names every part that it depends on."""

    status: Literal["ready", "failing"]
    version: str
    checks: dict[str, Literal["ok", "failing"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """The server responds."""

    status: Literal["alive"] = "alive"


@router.get("/health", response_model=Health, responses={503: {"model": Health}}, summary="Can it serve?")
async def health(current: Current) -> Response:
    parts: dict[str, Callable[[], Awaitable[object]]] = {
        "index": current.resources.index.collections,
        "database": current.resources.database.check_writable,
    }
    if current.worker:
        parts["worker"] = current.worker.check
    if current.limiter.shared:
        parts["redis"] = current.limiter.check
    checks = dict(zip(parts, await asyncio.gather(*(_check(name, ask) for name, ask in parts.items())), strict=True))
    ready = all(found == "ok" for found in checks.values())
    told = Health(status="ready" if ready else "failing", version=__version__, checks=checks)
    return json_response(told, 200 if ready else 503)


@router.get("/health/live", response_model=Alive, summary="Is it there at all?")
async def live() -> Alive:
    return Alive()


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "In Prometheus' text form.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **ERRORS,
    },
    summary="Metrics for Prometheus",
)
async def metrics(who: Administrator, current: Current) -> Response:
    if who.book_id is not None:
        raise NotAllowed("The metrics cover all books, and this key is for one. Make one for all: bythebook keys create")
    try:
        current.metrics.jobs(await current.resources.jobs.counts())
    except BookError as error:  # what this process counted can be returned all the same
        log.warning("unhealthy", part="database", reason=str(error))
    return Response(current.metrics.exposition(), media_type=CONTENT_TYPE)


async def _check(name: str, ask: Callable[[], Awaitable[object]]) -> Literal["ok", "failing"]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await ask()
    except TimeoutError:
        log.warning("unhealthy", part=name, reason=f"It did not answer within {CHECK_SECONDS:g} seconds.")
        return "failing"
    except BookError as error:
        log.warning("unhealthy", part=name, reason=str(error))
        return "failing"
    return "ok"
