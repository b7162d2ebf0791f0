"""Site generators that are installed here, for the tests that build a site with each (`make soak`).

`make soak` installs those that are Python's. The others are used where they are: mdbook, jekyll, jupyter-book and quarto on the
path or in `.venv/sites/bin`; Docusaurus (core, plugin-content-docs, theme-classic, react, react-dom) and VitePress by
`npm install --prefix .venv/sites`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SITES = Path(__file__).parents[2] / ".venv" / "sites"
PACKAGES = SITES / "node_modules"


def generator(name: str) -> str:
    """The program of this name. Where it is not installed, the test is skipped."""
    found = shutil.which(name, path=os.pathsep.join((str(SITES / "bin"), str(PACKAGES / ".bin"), os.environ["PATH"])))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def site_folder(program: str) -> Iterator[Path]:
    """An empty folder for a site, where a generator of npm's finds its packages."""
    beside = PACKAGES.resolve().parent if Path(program).parent == PACKAGES / ".bin" else None
    with TemporaryDirectory(dir=beside) as folder:
        yield Path(folder)


def build(folder: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
