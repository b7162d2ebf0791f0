"""What every test shares: an environment that says nothing, and books to read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.library import fast_folder
from tests.small_book import write_small_book

OURS = ("BYTHEBOOK_", "OPENAI_", "COHERE_", "QDRANT_", "AGENT_", "DATABASE_URL")


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer has configured must not decide a test."""
    for name in os.environ:
        if name.startswith(OURS):
            monkeypatch.delenv(name)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Like tmp_path, but in memory where the system has such a place."""
    made = fast_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def book(folder: Path) -> Path:
    return write_small_book(folder / "book")
