"""The sample book in a library of its own, brought in once by `bythebook demo` with the real embedder: once for all processes
that the tests run in."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from functools import cache
from pathlib import Path

from filelock import FileLock

from tests.cli.conftest import Outcome, run_process
from tests.support.library import copy_data

SHARED_FOLDER = "TESTS_SHARED_FOLDER"
"""The variable that names a folder of this run of the tests; made and removed by tests/conftest.py."""


@cache
def demonstrated() -> tuple[Outcome, Path]:
    """What the demo printed, and the library it left."""
    folder = Path(os.environ[SHARED_FOLDER])
    told = folder / "demo.json"
    with FileLock(folder / "demo.lock"):
        if not told.exists():
            told.write_text(json.dumps(asdict(run_process("demo", data_dir=folder / "data"))), encoding="utf-8")
    return Outcome(**json.loads(told.read_text("utf-8"))), folder / "data" / "demo"


def sample_library(folder: Path) -> Path:
    """A copy to work on."""
    return copy_data(demonstrated()[1], folder / "data")
