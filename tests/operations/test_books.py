"""What keeps a book from being removed or renamed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bythebook.errors import Busy
from bythebook.operations.books import remove_book, rename_book
from bythebook.settings import read_settings
from bythebook.wiring.author import open_resources
from tests.support.hall import order_of
from tests.support.library import open_library
from tests.support.small_book import write_small_book


@pytest.mark.parametrize("busy", ["one", "new"])
def test_a_book_is_not_renamed_while_a_job_brings_in_either_id(folder: Path, busy: str) -> None:
    """The lessons of two books would be mixed under one id."""

    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(write_small_book(folder / "one", book_id="one"))
        async with open_resources(read_settings(data_dir=folder / "data")) as resources:
            assert await resources.jobs.start(order_of(folder / "another", book_id=busy), "somebody")
            with pytest.raises(Busy, match=f"'{busy}' is running"):
                await rename_book(resources, book_id="one", new_id="new")
            if busy == "one":
                with pytest.raises(Busy, match="is running"):
                    await remove_book(resources, book_id="one")
            assert [state.book_id for state in await resources.records.books()] == ["one"]

    asyncio.run(story())
