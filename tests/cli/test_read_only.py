"""A library that cannot be written, on a read-only volume for example, can be asked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, environment
from tests.support.sample_library import sample_library

PROGRAM = """\
import ctypes, os, runpy, sys
if os.geteuid() == 0:  # root may write everywhere, unless it gives that up; no process gets back what it has dropped
    libc = ctypes.CDLL(None)
    assert libc.prctl(24, 1, 0, 0, 0) == 0
    os.execv(sys.executable, [sys.executable, "-m", "bythebook", *sys.argv[1:]])
runpy.run_module("bythebook", run_name="__main__")
"""


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    data_dir = sample_library(folder)
    inside = [data_dir, *data_dir.rglob("*")]
    for path in reversed(inside):
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield data_dir
    for path in inside:
        path.chmod(0o700 if path.is_dir() else 0o600)


def run(data_dir: Path, *arguments: str) -> Outcome:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment(data_dir), cwd=data_dir.parent, timeout=300, check=False
    )
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="a folder is made read-only as Linux does it")
def test_a_library_that_cannot_be_written_can_be_asked(read_only: Path) -> None:
    before = sorted((read_only / "index").iterdir())
    asked = run(read_only, "ask", "What is a node?")
    assert (asked.code, asked.err) == (0, "")
    assert "A node is a named participant in a ROS 2 system" in " ".join(asked.out.split())
    chat = run(read_only, "chat", "-q", "What is a node?")
    assert chat.code == 1
    assert "cannot be written" in chat.sentence()
    assert sorted((read_only / "index").iterdir()) == before
