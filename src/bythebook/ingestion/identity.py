"""Which book a folder is. A book is tied to where it came from: no other folder takes its place unless that is said, and no run
takes away much of it unasked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bythebook.books.booktoml import FILE_NAME, declares_id, read_book
from bythebook.books.discovery import discover
from bythebook.books.model import NO_OPTIONS, Book, BookOptions, BookWarning
from bythebook.books.sites.detection import find_site
from bythebook.books.sites.site import Site
from bythebook.errors import InvalidInput, NeedsConsent
from bythebook.index.state import Consent, IngestionRecord, IngestionState
from bythebook.ingestion.plan import PlannedLesson
from bythebook.ingestion.records import Records

CHECKOUT = re.compile(r".*/checkouts/([0-9a-f]{16})(?:-[0-9a-f]{8})?(?=/|$)")
"""A repository is checked out below the data folder, which may move, and may be another on each machine. The name begins with
the repository and its branch; one folder's checkout has that folder after it, which the rest of the path tells too."""
LARGEST_SHARE = 1 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifiedBook:
    """A folder's book, what is known of it, and what an author should look at."""

    book: Book
    state: IngestionState | None
    warnings: tuple[BookWarning, ...]
    site: Site | None
    options: BookOptions


async def identify(
    records: Records, root: Path, *, book_id: str | None, consent: Consent, options: BookOptions = NO_OPTIONS
) -> IdentifiedBook:
    """The book in `root`: under the id given, the one it declares, the one this folder was ingested under, or its own name.
    What was said of it in an earlier run holds, unless it is another source's."""
    site = await asyncio.to_thread(_site, root)
    book, warnings = await asyncio.to_thread(read_book, root, book_id=book_id, site=site)
    source, states = str(await asyncio.to_thread(root.resolve)), await records.books()
    as_others = [state.book_id for state in states if _same(state.source_root, source) and state.book_id != book.book_id]
    state = next((state for state in states if state.book_id == book.book_id), None)
    at_home = state is not None and _same(state.source_root, source)
    if as_others and book_id is None and not at_home:
        book = replace(book, book_id=await _earlier_id(root, book, as_others))
        state = next(state for state in states if state.book_id == book.book_id)
    elif as_others and not at_home:
        warnings = (*warnings, _twice(book, as_others))
    if state and not _same(state.source_root, source) and not consent.replace:
        raise InvalidInput(_another(book, state, source))
    said = options.over(state.options if state and _same(state.source_root, source) else NO_OPTIONS)
    if said != NO_OPTIONS:
        book, _ = await asyncio.to_thread(read_book, root, book_id=book.book_id, site=site, options=said)
    return IdentifiedBook(book=book, state=state, warnings=warnings, site=site, options=said)


def _site(root: Path) -> Site | None:
    return find_site(root, discover(root)[0])


def check_removal(
    book: Book, before: Mapping[str, IngestionRecord], pages: Iterable[PlannedLesson], kept: Collection[str]
) -> None:
    """Raise where more than a third of the lessons would go; one alone may. One that only moved, or keeps its number, stays."""
    there = list(pages)
    paths, hashes = {page.path for page in there}, {page.file_hash for page in there}
    bases = {page.id_base for page in there}
    gone = [
        path
        for path, record in before.items()
        if path not in paths and path not in kept and record.file_hash not in hashes and record.id_base not in bases
    ]
    if len(gone) > max(1, LARGEST_SHARE * len(before)):
        raise NeedsConsent(
            f"This would remove {len(gone):,} of the {len(before):,} lessons of '{book.book_id}', {gone[0]} among them. "
            'Nothing was changed. If that is meant, say so with --yes ("yes": true in a job).'
        )


def _same(one: str, other: str) -> bool:
    return CHECKOUT.sub(r"\1", one) == CHECKOUT.sub(r"\1", other)


async def _earlier_id(root: Path, book: Book, ids: list[str]) -> str:
    """Where nobody says another, a folder stays the book that it is."""
    if await asyncio.to_thread(declares_id, root):
        raise InvalidInput(
            f"{root / FILE_NAME} calls this book '{book.book_id}', and the folder is in the library as '{ids[0]}'. Rename that "
            f"with 'bythebook books rename {ids[0]} {book.book_id}', or name the one you mean with --book."
        )
    if len(ids) > 1:
        raise InvalidInput(f"{root} is in the library as {' and '.join(ids)}. Say which you mean with --book.")
    return ids[0]


def _twice(book: Book, ids: list[str]) -> BookWarning:
    message = f"this folder is in the library as '{ids[0]}' too: remove one of them with 'bythebook books remove'"
    return BookWarning(source_file="", line=0, field="book", message=f"'{book.book_id}': {message}")


def _another(book: Book, state: IngestionState, source: str) -> str:
    return (
        f"The book '{book.book_id}' comes from {state.source_root}, and this is {source}. Give this one an id of its own with "
        f"--book NEW, or say --replace (\"replace\": true in a job) to put it in the place of '{book.book_id}'."
    )
