"""What an ingestion's tests watch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

WATCHED: list[list[str]] = []


def _hear(event: str, given: tuple[object, ...]) -> None:
    if event == "open" and isinstance(given[0], str | os.PathLike):
        for files in WATCHED:
            files.append(os.fspath(given[0]))


@pytest.fixture(scope="session")
def _audit() -> None:
    """It cannot be taken away again, so there is one."""
    sys.addaudithook(_hear)


@pytest.fixture
def opened_files(_audit: None) -> Iterator[list[str]]:
    """Every file that this process opens, as often as it does."""
    files: list[str] = []
    WATCHED.append(files)
    yield files
    WATCHED.remove(files)
