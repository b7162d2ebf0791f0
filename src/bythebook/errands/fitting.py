"""The errand of an author who asks how relevance was fitted to a book."""

from __future__ import annotations

from dataclasses import dataclass

from bythebook.errors import NotFound
from bythebook.grounding.calibration import Calibration
from bythebook.wiring import Library


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A book's title and how relevance was fitted to it."""

    title: str
    calibration: Calibration


async def read_calibration(library: Library, *, book_id: str) -> Fitted:
    state = await library.search.book(book_id)
    stored = (await library.index.collections())[state.collection_name].calibration.get(state.book_id)
    if not stored:
        raise NotFound(f"The book '{state.book_id}' is not calibrated; it may be too small. Run: bythebook ingest FOLDER")
    return Fitted(title=state.title, calibration=Calibration.from_dict(stored["close"]))
