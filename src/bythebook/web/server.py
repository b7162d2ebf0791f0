"""Runs the application: in one process, or in several that share a socket. Ends when the running turns have ended."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors.multiprocess import Multiprocess

from bythebook.settings import Settings, read_settings
from bythebook.web.app import build_app, create_app
from bythebook.web.logs import configure_logs
from bythebook.web.metrics import SHARED_FOLDER
from bythebook.web.sockets import BACKLOG, is_loopback
from bythebook.web.state import State
from bythebook.wiring.author import Resources, open_resources
from bythebook.wiring.reader import turn_seconds

NEXT_REQUEST_SECONDS = 15
AFTER_A_TURN_SECONDS = 5
"""Time for what is left to do after the longest turn; then the server ends in any case."""
LONGEST_HEAD_BYTES = 16_384
MOST_CHUNKS = 5_000
"""In a body. They take 0.02 s, in which nobody else is served."""
WORKER_ANSWERS_SECONDS = 300
"""After so long without an answer, one of several processes is replaced. On a busy machine a starting process is silent for many
seconds; killed too early, it would never start."""
ON_LOOPBACK = "BYTHEBOOK_ON_LOOPBACK"
"""Passed from the first process to its workers by the environment, because nothing else reaches them."""


class CountedChunks(h11.Connection):
    """Refuses a body that comes in too many chunks: one of a single byte costs as much time as one of a thousand."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, LONGEST_HEAD_BYTES)
        self.refused = ""
        self._chunks = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > MOST_CHUNKS:
                self.refused = f"The body came in more than {MOST_CHUNKS:,} chunks. Send larger ones."
                raise h11.RemoteProtocolError(self.refused)
        return event


class Patient(H11Protocol):
    """Limits the time for the head of a request. When the server begins to stop, it tells long-running work: this is the one
    place that is notified in every process, also with several."""

    patience_seconds = float(NEXT_REQUEST_SECONDS)

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn: CountedChunks = CountedChunks()

    def send_400_response(self, msg: str) -> None:
        """Responds to what is no request. The application has nobody to answer then: h11 lets it send nothing more."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(self.conn.refused or msg)
        else:
            self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        self._giving_up.cancel()
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._giving_up.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        app = self.config.loaded_app
        if isinstance(app, FastAPI):
            there: State = app.state.opened
            there.stopping.set()
        super().shutdown()

    def _wait(self) -> None:
        self._giving_up = self.loop.call_later(self.patience_seconds, self._give_up)

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # a pipelined request may be under way already
            self.transport.close()


class Server(uvicorn.Server):
    """A server that reports when it can be reached."""

    def __init__(self, app: FastAPI, settings: Settings, *, ready: Callable[[], None]) -> None:
        super().__init__(_configured(app, settings))
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises signals again at the end, which would end the process before its resources are closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


async def serve(resources: Resources, listening: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serves in this process, until SIGTERM or Ctrl-C."""
    configure_logs()
    app = create_app(resources, loopback=is_loopback(listening))
    gc.freeze()  # what is loaded stays: looking through it for garbage would now and then cost a turn 0.1 s
    await Server(app, resources.settings, ready=ready).serve([listening])


def serve_with_workers(listening: socket.socket, count: int) -> None:
    """Serves in `count` processes that share the socket and read the same settings. One that dies is replaced."""
    configure_logs()
    with TemporaryDirectory(prefix="bythebook-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        os.environ[ON_LOOPBACK] = "yes" if is_loopback(listening) else ""
        config = _configured("bythebook.web.server:worker_app", read_settings(), workers=count, factory=True)
        config.timeout_worker_healthcheck = WORKER_ANSWERS_SECONDS
        Multiprocess(config, [listening]).run()


def worker_app() -> FastAPI:
    """The application of each of several processes. It opens everything for itself and leaves jobs to `bythebook worker`."""
    configure_logs()
    gc.freeze()
    settings = read_settings()
    return build_app(settings, open_resources(settings, embeds=True), loopback=bool(os.environ.get(ON_LOOPBACK)), works=False)


def _configured(app: FastAPI | str, settings: Settings, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=NEXT_REQUEST_SECONDS,
        timeout_graceful_shutdown=math.ceil(turn_seconds(settings)) + AFTER_A_TURN_SECONDS,
        backlog=BACKLOG,
        **more,
    )
