"""Chooses the book when a command or request names none. The command line and HTTP choose alike."""

from __future__ import annotations

from collections.abc import Iterable

from bythebook.errors import NotFound, SeveralBooks
from bythebook.index.state import IngestionState

NO_BOOK = "There is no book yet. Ingest one with 'bythebook ingest FOLDER', or try 'bythebook demo'."


def choose_among(there: Iterable[IngestionState], *, wanted: str | None, configured: str | None = None, named_by: str) -> str:
    """The book that is wanted; else the configured one; else the only one. `named_by`: how a person says which."""
    states = sorted(there, key=lambda state: state.book_id)
    ids = [state.book_id for state in states]
    if not ids:
        raise NotFound(NO_BOOK)
    chosen = wanted or configured
    if chosen and chosen not in ids:
        set_by = "" if wanted else " (it is set by BYTHEBOOK_BOOK, or 'book' in bythebook.toml)"
        raise NotFound(f"There is no book '{chosen}'{set_by}. There is: {', '.join(ids)}.")
    if chosen or len(ids) == 1:
        return chosen or ids[0]
    last = max(states, key=lambda state: state.last_ingested).book_id
    raise SeveralBooks(
        f"There are several books: say which with {named_by} ({', '.join(ids)}). The last one ingested is '{last}'.",
        books=tuple(ids),
    )
