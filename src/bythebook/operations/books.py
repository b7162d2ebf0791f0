"""Operations of the library's operator: what a book holds, removing a book, giving it another id."""

from __future__ import annotations

import asyncio

from bythebook.errors import Busy
from bythebook.index.state import IngestionState
from bythebook.ingestion.shelf import BookHoldings
from bythebook.wiring.author import Resources


async def read_holdings(resources: Resources, *, book_id: str) -> BookHoldings:
    return await resources.shelf.holdings(book_id)


async def remove_book(resources: Resources, *, book_id: str) -> BookHoldings:
    await _check_idle(resources, book_id)
    held = await resources.shelf.remove(book_id)
    await asyncio.to_thread(resources.sources.sweep, await resources.jobs.sources())
    return held


async def rename_book(resources: Resources, *, book_id: str, new_id: str) -> IngestionState:
    for one in (book_id, new_id):
        await _check_idle(resources, one)
    return await resources.shelf.rename(book_id, new_id)


async def _check_idle(resources: Resources, book_id: str) -> None:
    """Raises while a job ingests the book: it cannot be removed, renamed or mixed with another meanwhile."""
    for job in await resources.jobs.list(book_id=book_id, status="running", limit=1):
        raise Busy(
            f"Job {job.job_id} of '{book_id}' is running. Wait for its end, or cancel it: bythebook jobs cancel {job.job_id}"
        )
