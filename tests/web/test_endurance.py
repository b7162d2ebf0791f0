"""A server that is treated badly while readers ask: what it acknowledged is kept, and it goes on by itself."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.databases import postgresql_started
from tests.support.processes import wait_for
from tests.support.sample_library import sample_library
from tests.support.serving import ask, events
from tests.support.soak import soak_size
from tests.web.conftest import copy_records
from tests.web.test_serve import NODE, Served, client, served

AT_ONCE = soak_size(50, least=5)
STREAMS = soak_size(500, least=30)
OUTAGE_SECONDS = 5.0
FAKETIME = next((str(one) for one in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), "")
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")


@pytest.mark.soak
def test_500_streams_of_which_a_third_vanish_leave_nothing_behind(folder: Path) -> None:
    """Every third leaves in the middle. The others are told everything; no descriptor and no request stays."""
    with served(sample_library(folder)) as service:
        watched = psutil.Process(service.process.pid)
        asyncio.run(_stream(service.url, 60))  # all connections to the database are open after that
        before = watched.num_fds()
        whole = asyncio.run(_stream(service.url, STREAMS))
        assert whole == STREAMS - len(range(0, STREAMS, 3))
        wait_for(lambda: watched.num_fds() <= before + 5)
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


@dataclass(slots=True)
class Readers:
    """Who asks on and on, each with a connection of its own. `told`: the threads of those that were answered."""

    url: str
    told: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def asking(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._ask_on) for _ in range(AT_ONCE)]
        for one in threads:
            one.start()
        try:
            yield
        finally:
            self._ended.set()
            for one in threads:
                one.join(120)

    def _ask_on(self) -> None:
        while not self._ended.is_set():
            with suppress(httpx.HTTPError), httpx.Client(base_url=self.url, timeout=60, trust_env=False) as reader:
                response = reader.post("/chat/run", json={"message": NODE})
                self.statuses[response.status_code] += 1
                if response.status_code == 200:
                    self.told.append(response.json()["session_id"])

    def more(self) -> None:
        """Waits until each has been answered once more."""
        before = len(self.told)
        wait_for(lambda: len(self.told) > before + AT_ONCE)


def endure(service: Served, what: str, hurt: Callable[[], None], heal: Callable[[], None], *, says: bool = True) -> None:
    """`says`: what is wrong is told while it lasts."""
    readers = Readers(service.url)
    with readers.asking(), client(service) as operator:
        readers.more()
        hurt()
        try:
            if says:
                wait_for(lambda: operator.get("/health").status_code == 503)
            time.sleep(OUTAGE_SECONDS)  # this is how long the outage lasts
        finally:
            heal()
        readers.more()
        assert operator.get("/health").status_code == 200
    _check_kept(service, readers, what)


def _check_kept(service: Served, readers: Readers, what: str) -> None:
    assert set(readers.statuses) <= {200, 503}, readers.statuses
    with client(service) as reader:
        for thread in readers.told:
            assert len(reader.get(f"/threads/{thread}").json()["turns"]) == 1
    told = f"{len(readers.told)} turns told, all kept; {readers.statuses[503]} told to come back"
    print(f"\n{what} for {OUTAGE_SECONDS:g} s while {AT_ONCE} asked: {told}")


@pytest.mark.soak
@linux
def test_without_descriptors_it_loses_nothing_and_goes_on(folder: Path) -> None:
    with served(sample_library(folder)) as service:
        watched = psutil.Process(service.process.pid)
        _, hard = resource.prlimit(watched.pid, resource.RLIMIT_NOFILE)

        def allow(count: int) -> None:
            resource.prlimit(watched.pid, resource.RLIMIT_NOFILE, (count, hard))

        endure(service, "descriptors exhausted", lambda: allow(watched.num_fds() // 2), lambda: allow(hard), says=False)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a disk of its own takes root")
def test_on_a_full_disk_it_says_so_and_goes_on(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(disk)], check=True)
    try:
        filler = disk / "filler"

        def fill() -> None:
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1_000_000))
            with suppress(OSError), filler.open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(100))

        with served(sample_library(disk)) as service:
            endure(service, "disk full", fill, filler.unlink)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.soak
@linux
@pytest.mark.parametrize("more_megabytes", [0, 60])
def test_short_of_memory_it_loses_nothing_and_goes_on(folder: Path, more_megabytes: int) -> None:
    """From the first request on there is as much memory as the server has, or a little more. A request that cannot have what it
    needs is told so. The process may end by it, because the engine and the model's runtime end it; its supervisor starts it
    again: nothing that was told is lost."""
    data_dir = sample_library(folder)
    with served(data_dir) as service:
        watched, readers = psutil.Process(service.process.pid), Readers(service.url)
        unlimited = resource.prlimit(watched.pid, resource.RLIMIT_AS)
        most = watched.memory_info().vms + more_megabytes * 1_000_000
        resource.prlimit(watched.pid, resource.RLIMIT_AS, (most, unlimited[1]))
        with readers.asking():
            with suppress(subprocess.TimeoutExpired):
                service.process.wait(OUTAGE_SECONDS)  # this is how long the outage lasts
            if service.process.poll() is None:
                resource.prlimit(watched.pid, resource.RLIMIT_AS, unlimited)
                wait_for(lambda: len(readers.told) > AT_ONCE or service.process.poll() is not None)
        ended = service.process.poll()
        if ended is None:
            _check_kept(service, readers, f"no memory but {more_megabytes} MB left")
    if ended is not None:
        with served(data_dir) as again, client(again) as reader:
            ask(reader, NODE)
            _check_kept(again, readers, f"no memory but {more_megabytes} MB left, and ended by it ({ended}),")


@pytest.mark.soak
@pytest.mark.skipif(not FAKETIME, reason="libfaketime is not installed")
@pytest.mark.parametrize("jump", ["-1h", "+1d"])
def test_a_clock_that_jumps_stops_nobody(folder: Path, jump: str) -> None:
    clock = folder / "clock"
    clock.write_text("+0", "utf-8")
    given = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_CACHE_DURATION": "1"}
    with served(sample_library(folder), **given, DONT_FAKE_MONOTONIC="1") as service:

        def turn(to: str) -> Callable[[], None]:
            return lambda: (clock.write_text(to, "utf-8"), None)[1]

        endure(service, f"a clock that jumped by {jump}", turn(jump), turn("+0"), says=False)


@pytest.mark.soak
def test_while_another_program_holds_the_database_it_says_so_and_goes_on(folder: Path) -> None:
    """SQLite's one writer, who does not end."""
    data_dir = sample_library(folder)
    held = closing(sqlite3.connect(data_dir / "bythebook.db", isolation_level=None, check_same_thread=False))
    with served(data_dir) as service, held as other:

        def execute(statement: str) -> Callable[[], None]:
            return lambda: (other.execute(statement), None)[1]

        endure(service, "database held by another program", execute("BEGIN EXCLUSIVE"), execute("ROLLBACK"))


@pytest.mark.soak
@pytest.mark.postgresql
def test_while_the_database_is_away_it_says_so_and_goes_on(folder: Path) -> None:
    with postgresql_started() as server:
        data_dir = sample_library(folder)
        asyncio.run(copy_records(data_dir, server.get_uri()))
        with served(data_dir, DATABASE_URL=server.get_uri()) as service:
            endure(service, "database away", server.stop, server.start)
