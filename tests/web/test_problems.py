"""What the machine has too little of is told as such: 503, with a sentence, and the next request is answered."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from bythebook.web.metrics import Metrics
from bythebook.web.middleware.observer import Observer
from bythebook.web.problems import answer_errors
from tests.support.serving import problem

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")


def without_memory() -> None:
    bytearray(1 << 60)


def without_threads() -> None:
    """No machine has room for a stack of this size."""
    before = threading.stack_size(1 << 46)
    try:
        threading.Thread(target=print).start()
    finally:
        threading.stack_size(before)


def without_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        socket.socket()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def with_a_fault() -> None:
    raise RuntimeError("a fault of the program")


def asked(path: str) -> httpx.Response:
    app = FastAPI()
    answer_errors(app)
    for work in (without_memory, without_threads, without_descriptors, with_a_fault):
        app.add_api_route(f"/{work.__name__}", _route(work))
    transport = httpx.ASGITransport(Observer(app, Metrics()), raise_app_exceptions=False)

    async def story() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path)

    return asyncio.run(story())


def _route(work: Callable[[], None]) -> Callable[[], Coroutine[Any, Any, None]]:
    async def run() -> None:
        work()

    return run


@pytest.mark.parametrize("what", ["memory", "threads", "descriptors"])
def test_a_shortage_is_told_as_one(what: str) -> None:
    answer = asked(f"/without_{what}")
    assert "short of memory, threads or file descriptors" in problem(answer, 503, "overloaded")["detail"]
    assert answer.headers["retry-after"]


def test_a_fault_of_the_program_stays_one() -> None:
    assert "a fault" not in problem(asked("/with_a_fault"), 500, "internal")["detail"]
