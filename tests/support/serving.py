"""The whole service on a port of the loopback, in a thread of the tests' process: the real server, index, database and model."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from bythebook.settings import read_settings
from bythebook.web.app import create_app
from bythebook.web.server import Server
from bythebook.web.sockets import address_of, listen
from bythebook.web.state import State
from bythebook.wiring.author import open_resources
from tests.support.processes import SECONDS

T = TypeVar("T")
BOOK = "physical-ai-robotics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    url: str
    state: State
    loop: asyncio.AbstractEventLoop

    def client(self, secret: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=SECONDS, trust_env=False)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Something of the server's own, on its own loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(SECONDS)

    def key(self, *scopes: str, book_id: str | None = None, requests_per_minute: int = 10_000) -> str:
        """The secret of a new key."""
        made = self.state.keys.create("a test", scopes or ("chat",), book_id, requests_per_minute)
        return self.run(made)[1]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One server-sent event."""

    name: str
    id: str
    data: Any


@contextmanager
def running(data_dir: Path, *, loopback: bool = True, **given: Any) -> Iterator[Service]:
    """`loopback` False: as if it could be reached from elsewhere, so that a key is needed whatever there is. Questions are
    prepared where a test asks for it, because that takes a core."""
    given.setdefault("prepare_questions", False)
    started: Future[Service] = Future()
    stop = threading.Event()

    async def serve() -> None:
        async with open_resources(read_settings(data_dir=data_dir, **given), embeds=True) as resources:
            with listen("127.0.0.1", 0) as listening:
                app = create_app(resources, loopback=loopback)
                loop = asyncio.get_running_loop()

                def ready() -> None:
                    started.set_result(Service(url=address_of(listening), state=app.state.opened, loop=loop))

                server = Server(app, resources.settings, ready=ready)
                ending = asyncio.create_task(asyncio.to_thread(stop.wait))
                ending.add_done_callback(lambda _: setattr(server, "should_exit", True))
                try:
                    await server.serve([listening])
                finally:
                    stop.set()
                    await ending

    def target() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=target, name="service")
    thread.start()
    try:
        yield started.result(SECONDS)
    finally:
        stop.set()
        thread.join(SECONDS)
        assert not thread.is_alive()


def ask(client: httpx.Client, message: str, **given: Any) -> dict[str, Any]:
    response = client.post("/chat/run", json={"message": message, **given})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def stream(client: httpx.Client, message: str, *, path: str = "/chat/stream", **given: Any) -> list[Told]:
    response = client.post(path, json={"message": message, **given})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return events(response.text)


def events(text: str) -> list[Told]:
    """A stream as a browser reads it."""
    told = []
    for block in text.strip().split("\n\n"):
        lines = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        fields = {name: value for name, _, value in lines}
        if fields:
            told.append(Told(name=fields["event"], id=fields["id"], data=json.loads(fields["data"])))
    return told


def problem(response: httpx.Response, status: int, code: str) -> Mapping[str, Any]:
    """What every error is: problem+json with a sentence, a code and the id under which the log has it."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "code", "request_id"} <= told.keys()
    assert (told["status"], told["code"]) == (status, code)
    assert told["request_id"] == response.headers["x-request-id"]
    assert told["detail"]
    assert "Traceback" not in response.text
    return told


@contextmanager
def silent() -> Iterator[None]:
    """What a server in this process would write about itself. Tests of its log run one in a process of its own."""
    log = logging.getLogger("bythebook")
    before = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(before)
