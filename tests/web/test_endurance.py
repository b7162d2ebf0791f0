"""A server that is treated badly while readers ask: what it acknowledged is kept, and it goes on by itself."""

from __future__ import annotations

import asyncio
import resource
import sys
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.sample_library import sample_library
from tests.support.serving import ask, events
from tests.web.test_serve import NODE, client, served

AT_ONCE = 50
STREAMS = 500


@pytest.mark.soak
def test_500_streams_of_which_a_third_vanish_leave_nothing_behind(folder: Path) -> None:
    """Every third leaves in the middle. The others are told everything; no descriptor and no request stays."""
    with served(sample_library(folder)) as service:
        watched = psutil.Process(service.process.pid)
        asyncio.run(_stream(service.url, 60))  # all connections to the database are open after that
        before = watched.num_fds()
        whole = asyncio.run(_stream(service.url, STREAMS))
        assert whole == STREAMS - len(range(0, STREAMS, 3))
        give_up_at = time.monotonic() + 60
        while watched.num_fds() > before + 5:
            assert time.monotonic() < give_up_at, f"{watched.num_fds()} descriptors are open, and {before} were"
            time.sleep(0.05)
        with client(service) as reader:
            assert ask(reader, NODE)["turn"] == 1
        fds = f"{before} descriptors before, {watched.num_fds()} after"
        print(f"\n{STREAMS} streams, {whole} told whole, the other readers gone; {fds}")


async def _stream(url: str, count: int) -> int:
    """How many were told whole."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits, trust_env=False) as reader:

        async def one(number: int) -> int:
            async with reader.stream("POST", "/chat/stream", json={"message": NODE}) as response:
                assert response.status_code == 200
                if number % 3 == 0:
                    await anext(response.aiter_bytes())
                    return 0
                told = events((await response.aread()).decode())
                assert told[-1].name == "done"
                return 1

        return sum(await asyncio.gather(*(one(number) for number in range(count))))


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_without_descriptors_it_loses_nothing_and_goes_on(folder: Path) -> None:
    with served(sample_library(folder)) as service:
        watched, ended, told = psutil.Process(service.process.pid), threading.Event(), list[str]()

        def ask_on() -> None:
            while not ended.is_set():
                try:
                    with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as reader:
                        response = reader.post("/chat/run", json={"message": NODE})
                    if response.status_code == 200:
                        told.append(response.json()["session_id"])
                except httpx.HTTPError:
                    continue

        readers = [threading.Thread(target=ask_on) for _ in range(AT_ONCE)]
        for one in readers:
            one.start()
        try:
            _wait_for(lambda: len(told) > AT_ONCE)
            _, hard = resource.prlimit(watched.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(watched.pid, resource.RLIMIT_NOFILE, (watched.num_fds() // 2, hard))
            time.sleep(5)  # this is how long the outage lasts
            resource.prlimit(watched.pid, resource.RLIMIT_NOFILE, (hard, hard))
            before = len(told)
            _wait_for(lambda: len(told) > before + AT_ONCE)
        finally:
            ended.set()
            for one in readers:
                one.join(120)
        with client(service) as reader:
            assert reader.get("/health").status_code == 200
            for thread in told:
                assert len(reader.get(f"/threads/{thread}").json()["turns"]) == 1
        print(f"\n{len(told)} turns told, all kept; descriptors exhausted for 5 s while {AT_ONCE} asked")


def _wait_for(condition: object) -> None:
    assert callable(condition)
    give_up_at = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)
