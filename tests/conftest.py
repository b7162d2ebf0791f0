"""What every test shares: an environment that says nothing, and books to read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.small_book import write_small_book

OURS = ("BYTHEBOOK_", "OPENAI_", "COHERE_", "QDRANT_", "AGENT_", "DATABASE_URL")


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer has configured must not decide a test."""
    for name in os.environ:
        if name.startswith(OURS):
            monkeypatch.delenv(name)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_small_book(tmp_path / "book")
