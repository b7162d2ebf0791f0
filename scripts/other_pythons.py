"""Runs a part of the tests with each other supported Python that is on this machine. `make soak` calls it: two minutes more would
put `make test` over its ten.

Usage: python scripts/other_pythons.py UV. A Python that is not there is named and left out; one that fails ends with exit code 1.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUPPORTED = ("3.11", "3.12", "3.13")
LOCKS = (ROOT / "requirements" / "runtime.txt", ROOT / "requirements" / "dev.txt")
TOOLS = ("hypothesis", "pytest", "pytest-socket", "pytest-xdist")
"""What the chosen tests need beside the program."""
CHOSEN = (
    "books",
    "followups/test_rules.py",
    "grounding",
    "retrieval",
    "test_path_of_a_file.py",
    "test_path_of_a_question.py",
    "test_plain.py",
)
"""Pure code, and the two stories that run through all of it: what a default installation without extras can run."""


def find_python(version: str, folders: Iterable[Path]) -> Path | None:
    """The first that runs: a shim may stand for a version that is not there."""
    for folder in folders:
        candidate = folder / f"python{version}"
        if os.access(candidate, os.X_OK) and _version(candidate) == version:
            return candidate
    return None


def _version(python: Path) -> str | None:
    show = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([python, "-c", show], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def python_folders() -> list[Path]:
    """PATH, and where pyenv keeps what it has installed."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    return [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder] + sorted(pyenv.glob("*/bin"))


def install(uv: str, python: Path, folder: Path) -> None:
    """An environment of its own, made again when the locked versions change."""
    locked = hashlib.sha256(b"".join(lock.read_bytes() for lock in LOCKS)).hexdigest()
    stamp = folder / "locked"
    if stamp.exists() and stamp.read_text(encoding="ascii") == locked:
        return
    shutil.rmtree(folder, ignore_errors=True)
    runtime, dev = LOCKS
    target = ("--python", folder / "bin" / "python")
    subprocess.run([uv, "venv", "-q", "--python", python, folder], check=True)
    subprocess.run([uv, "pip", "install", "-q", *target, "--require-hashes", "-r", runtime], check=True)
    subprocess.run([uv, "pip", "install", "-q", *target, "--constraint", dev, *TOOLS], check=True)
    stamp.write_text(locked, encoding="ascii")


def run_tests(folder: Path) -> bool:
    chosen = [f"tests/{name}" for name in CHOSEN]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    marks = "not soak and not browser and not postgresql"
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "pytest",
        "--numprocesses",
        "auto",
        "--dist",
        "loadfile",
        "-m",
        marks,
        *chosen,
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main(uv: str) -> int:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    failed = []
    for version in SUPPORTED:
        if version == here:
            continue
        python = find_python(version, python_folders())
        print(f"Python {version}: {python or 'not on this machine'}", flush=True)
        if python:
            folder = ROOT / ".venv" / f"python-{version}"
            install(uv, python, folder)
            if not run_tests(folder):
                failed.append(version)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
