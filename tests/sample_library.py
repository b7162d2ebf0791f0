"""The sample book in a library of its own, brought in once by `bythebook demo` with the real embedder."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path

from tests.cli.conftest import Outcome, run_process
from tests.library import fast_folder


@cache
def demonstrated() -> tuple[Outcome, Path]:
    """What the demo printed, and the data folder it left."""
    folder = fast_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return run_process("demo", data_dir=folder / "data"), folder / "data"


def sample_library(folder: Path) -> Path:
    """A copy to work on."""
    return Path(shutil.copytree(demonstrated()[1], folder / "data"))
