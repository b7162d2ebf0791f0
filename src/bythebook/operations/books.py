"""Operations of the person who runs the library: what a book holds, removing a book, giving it another id."""

from __future__ import annotations

import asyncio

from bythebook.index.state import IngestionState
from bythebook.ingestion.shelf import BookHoldings
from bythebook.wiring.author import Resources


async def read_holdings(resources: Resources, *, book_id: str) -> BookHoldings:
    return await resources.shelf.holdings(book_id)


async def remove_book(resources: Resources, *, book_id: str) -> BookHoldings:
    held = await resources.shelf.remove(book_id)
    await asyncio.to_thread(resources.sources.sweep, await resources.jobs.sources())
    return held


async def rename_book(resources: Resources, *, book_id: str, new_id: str) -> IngestionState:
    return await resources.shelf.rename(book_id, new_id)
