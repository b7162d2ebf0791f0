"""Who wants an index that another command holds waits a moment, and is then told who holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bythebook.errors import Locked
from bythebook.operations import runner
from bythebook.operations.runner import InProcess, open_runner
from bythebook.settings import Settings, read_settings
from bythebook.wiring.reader import Library, open_library


async def opened_after(refusals: int, data_dir: Path) -> int:
    """How often it was tried, until an index that is held so many times was opened."""
    tries = 0

    @asynccontextmanager
    async def opening(settings: Settings) -> AsyncIterator[Library]:
        nonlocal tries
        tries += 1
        if tries <= refusals:
            raise Locked("another command holds the index")
        async with open_library(settings) as library:
            yield library

    async with open_runner(read_settings(data_dir=data_dir), opening) as opened:
        assert isinstance(opened, InProcess)
    return tries


def test_an_index_that_another_command_holds_is_waited_for(tmp_path: Path) -> None:
    assert asyncio.run(opened_after(2, tmp_path)) == 3


def test_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(Locked):
        asyncio.run(opened_after(1_000, tmp_path))
