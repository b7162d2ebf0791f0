"""The machine and the versions that figures come from."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from bench.table import Table
from bythebook import __version__
from bythebook.embedding.granite import available_cores

PARTS = ("onnxruntime", "qdrant-edge-py", "sqlalchemy", "numpy")


def describe_machine() -> Table:
    busy = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "not known"
    rows = {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "processor": f"{cpu_model()}, {available_cores()} cores",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load at the start": f"{busy} (of {available_cores()}; above 1, others were at work and times are too long)",
        "versions": ", ".join([f"bythebook {__version__}", *(f"{part} {version(part)}" for part in PARTS)]),
    }
    return Table(title="Machine", columns=("what", "value"), rows=tuple(rows.items()))


def cpu_model() -> str:
    """Linux does not tell `platform` the model."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def peak_memory() -> int:
    """The most bytes of memory this process has held. VmHWM, because ru_maxrss counts what a parent held before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    info = psutil.Process().memory_info()
    return int(getattr(info, "peak_wset", info.rss))
