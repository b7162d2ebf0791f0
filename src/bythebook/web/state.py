"""What all routes use, opened once per process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from bythebook.answering.answerer import Answerer
from bythebook.settings import Settings
from bythebook.threads.conversation import Conversation
from bythebook.threads.store import Threads
from bythebook.web.keys import Keys
from bythebook.web.metrics import Metrics
from bythebook.web.quotas import Quotas
from bythebook.web.rate_limit import RateLimiter
from bythebook.web.render.labels import LabelledPlace
from bythebook.web.worker import BackgroundWorker
from bythebook.wiring.author import Resources

RENDERED_AT_ONCE = 2
"""A lesson of ten million characters takes minutes, and its readers may request it again and again: other requests are answered
meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """`loopback`: the server can be reached from this machine alone. `worker`: runs jobs in this process, if it does. `stopping`
    is set when the server begins to stop, and ends work that would take hours. `rendering` is held while a whole lesson is
    rendered, and `drawing` while the page of a PDF is drawn: those who wait for a child process must not fill the threads that
    searches need. `labels`: the labels of each book since its last ingestion."""

    resources: Resources
    answerer: Answerer
    conversation: Conversation
    threads: Threads
    keys: Keys
    limiter: RateLimiter
    quotas: Quotas
    metrics: Metrics
    settings: Settings
    loopback: bool
    worker: BackgroundWorker | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    rendering: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(RENDERED_AT_ONCE))
    drawing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    labels: dict[str, tuple[datetime, Mapping[str, LabelledPlace]]] = field(default_factory=dict)


async def state(request: Request) -> State:
    there = request.app.state.opened
    assert isinstance(there, State)
    return there


Current = Annotated[State, Depends(state)]
