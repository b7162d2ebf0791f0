"""How long a person waits for the command line, from a process that does not run yet."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.table import Table, verdict
from bench.timing import median
from bench.workshop import Workshop

HELP_TARGET_SECONDS = 0.3
SEARCH_TARGET_SECONDS = 1.5


def startup(workshop: Workshop) -> Table:
    data_dir = workshop.data_dir("sample")
    workshop.sample()
    runs = workshop.sizes.processes
    search = ["search", "How do two nodes exchange messages?", "--tier", "4", "--data-dir", str(data_dir)]
    return Table(
        title="Cold start",
        columns=("command", "median", "slowest", "target", ""),
        rows=(
            _row("`bythebook --help`", ["--help"], runs, HELP_TARGET_SECONDS),
            _row("`bythebook search` in the sample book", search, runs, SEARCH_TARGET_SECONDS),
        ),
        note=f"A new process each time, {runs} of each after one that is not counted; files may be in the system's cache. "
        "The target is held against the median.",
    )


def _row(name: str, arguments: list[str], runs: int, target: float) -> tuple[str, ...]:
    times = [_seconds(arguments) for _ in range(runs + 1)][1:]
    spent = median(times)
    return name, f"{spent:.2f} s", f"{max(times):.2f} s", f"<= {target} s", verdict(spent <= target)


def _seconds(arguments: list[str]) -> float:
    program = Path(sys.executable).with_name("bythebook")
    started = time.perf_counter()
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
