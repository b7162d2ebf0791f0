"""Builds the application: what it opens, the middleware around its routes, and the OpenAPI document that describes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from bythebook import __version__
from bythebook.settings import Settings
from bythebook.web import problems
from bythebook.web.access import READER_HEADER, Doorkeeper
from bythebook.web.keys import Keys
from bythebook.web.metrics import Metrics
from bythebook.web.middleware.body import WholeBody
from bythebook.web.middleware.observer import Observer
from bythebook.web.quotas import Quotas
from bythebook.web.rate_limit import RateLimiter
from bythebook.web.routes import (
    audit,
    books,
    chat,
    completions,
    gaps,
    jobs,
    llms,
    local,
    mcp,
    operations,
    page,
    personal_data,
    questions,
    reactions,
    search,
    threads,
    webhooks,
)
from bythebook.web.state import State
from bythebook.web.worker import BackgroundWorker, QuestionPreparation, Retention
from bythebook.wiring.author import Resources

EXPOSED = ["X-Request-ID", READER_HEADER, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"]
DESCRIPTION = (
    "A tutor that answers only from a book, shows the exact passage for every sentence, and refuses honestly. Ask with "
    "`POST /chat/run`; send the `session_id` of the answer with the next question to go on. A refusal is an answer (200), "
    "never an error; errors are problem+json with a `code` and a `request_id`."
)


class Application(FastAPI):
    """FastAPI with middleware around all of it: responses to its own failures are logged and protected too."""

    metrics: Metrics

    def build_middleware_stack(self) -> ASGIApp:
        return Observer(super().build_middleware_stack(), self.metrics)

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            self.openapi_schema = _document(self)
        return self.openapi_schema


def create_app(resources: Resources, *, loopback: bool = True) -> FastAPI:
    """An application over resources that are open already. `loopback`: it can be reached from this machine alone, so that it
    needs no keys."""
    return build_app(resources.settings, nullcontext(resources), loopback=loopback, works=True)


def build_app(settings: Settings, opening: AbstractAsyncContextManager[Resources], *, loopback: bool, works: bool) -> FastAPI:
    """An application that opens its resources when it starts and closes them when it ends. `works`: it also runs queued jobs."""
    app = Application(
        title="By the Book",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lambda app: _opened(app, opening, loopback=loopback, works=works),
    )
    app.metrics = Metrics()
    app.add_middleware(WholeBody)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)  # never a stream of events
    if origins := settings.cors_origins:
        methods = ["GET", "POST", "PATCH", "DELETE"]
        headers = ["Authorization", "Content-Type", "Last-Event-ID", "X-Request-ID", READER_HEADER]
        app.add_middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=methods, allow_headers=headers, expose_headers=EXPOSED
        )
    problems.answer_errors(app)
    for routes in (
        chat,
        completions,
        threads,
        reactions,
        questions,
        search,
        books,
        llms,
        gaps,
        jobs,
        webhooks,
        operations,
        personal_data,
        audit,
        local,
        mcp,
        page,
    ):
        app.include_router(routes.router)
    return app


@asynccontextmanager
async def _opened(
    app: FastAPI, opening: AbstractAsyncContextManager[Resources], *, loopback: bool, works: bool
) -> AsyncIterator[None]:
    assert isinstance(app, Application)
    async with AsyncExitStack() as stack:
        resources = await stack.enter_async_context(opening)
        redis_url = resources.settings.redis_url
        limiter = RateLimiter(redis_url.value if redis_url else None)
        stack.push_async_callback(limiter.close)
        keys = Keys(resources.database)
        if limiter.shared or await keys.any():
            limiter.prepare()
        worker = BackgroundWorker(resources)
        app.state.opened = State(
            resources=resources,
            answerer=resources.answerer,
            conversation=resources.conversation,
            threads=resources.threads,
            keys=keys,
            limiter=limiter,
            quotas=Quotas(resources.database),
            metrics=app.metrics,
            settings=resources.settings,
            loopback=loopback,
            worker=worker if works else None,
        )
        app.state.mcp = mcp.McpEndpoint()
        stack.push_async_callback(app.state.mcp.close)
        app.state.doorkeeper = Doorkeeper(app.state.opened.keys, loopback=loopback)
        await stack.enter_async_context(resources.reading_ahead())
        await stack.enter_async_context(Retention(resources).running())
        if works:
            await stack.enter_async_context(worker.running())
            await stack.enter_async_context(QuestionPreparation(resources).running())
        yield


def _document(app: FastAPI) -> dict[str, Any]:
    """Builds the OpenAPI document without FastAPI's own form of a 422, which is not ours."""
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(problems.problem_schemas())
    return document
