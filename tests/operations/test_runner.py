"""Who wants an index that a watching command holds waits a moment; who wants another's is told at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bythebook.errors import Locked
from bythebook.operations.runner import InProcess, open_runner, watching
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

    async with open_runner(read_settings(data_dir=data_dir), opening) as runner:
        assert isinstance(runner, InProcess)
    return tries


def test_an_index_that_is_watched_is_waited_for(tmp_path: Path) -> None:
    with watching(tmp_path / "index"):
        assert asyncio.run(opened_after(2, tmp_path)) == 3
        with watching(tmp_path / "index"):  # a second one watches too
            assert asyncio.run(opened_after(1, tmp_path)) == 2


def test_an_index_that_somebody_else_holds_is_not(tmp_path: Path) -> None:
    with watching(tmp_path / "index"):
        pass
    with pytest.raises(Locked):
        asyncio.run(opened_after(1, tmp_path))
