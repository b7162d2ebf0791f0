"""A server on the sample book, in a process of its own, and how long it takes to be ready."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.timing import median
from bench.workshop import Workshop

STARTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    port: int
    pid: int
    ready_seconds: float

    @property
    def memory_bytes(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)


def seconds_to_ready(workshop: Workshop) -> float:
    """The median of several starts, after one that is not counted: it leaves compiled modules, as an installation does."""
    times = []
    for _ in range(STARTS + 1):
        with served(workshop) as server:
            times.append(server.ready_seconds)
    return median(times[1:])


@contextmanager
def served(workshop: Workshop) -> Iterator[Served]:
    """On a copy of the sample book's data: one process alone holds an index."""
    data_dir = workshop.empty_dir("served")
    shutil.copytree(workshop.data_dir("sample"), data_dir)
    program = Path(sys.executable).with_name("bythebook")
    command = [str(program), "serve", "--port", "0", "--data-dir", str(data_dir)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=_environment(workshop)
    ) as process:
        assert process.stdout
        address = process.stdout.readline().split()[5]
        try:
            yield Served(port=int(address.rpartition(":")[2]), pid=process.pid, ready_seconds=time.perf_counter() - began)
        finally:
            process.terminate()


def _environment(workshop: Workshop) -> dict[str, str]:
    """Modules are compiled once, whatever the machine's habits: a program that is installed has them so."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "PYTHONPYCACHEPREFIX": str(workshop.folder / "compiled")}
