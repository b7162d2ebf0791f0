"""What every route works with, opened once for the process."""

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
"""A lesson of ten million characters takes minutes, and whoever may read it may ask for it again and again: others are answered
meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """`loopback`: it can be reached from this machine alone. `worker`: does jobs in this process, where it does. `stopping` is
    set when the server begins to end: what would run for hours ends then. `rendering` is held by who renders a whole lesson.
    `labels` is what the references of each book mean, since it was ingested last."""

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
    labels: dict[str, tuple[datetime, Mapping[str, LabelledPlace]]] = field(default_factory=dict)


async def state(request: Request) -> State:
    there = request.app.state.opened
    assert isinstance(there, State)
    return there


Current = Annotated[State, Depends(state)]
