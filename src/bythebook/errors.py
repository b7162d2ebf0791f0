"""Everything that can go wrong in a way a person can act on.

    BookError                     the root: a sentence that says what is wrong, where, and what to do
    ├── InvalidInput              what was asked cannot be asked like that      (exit 2, HTTP 422)
    │   ├── SeveralBooks          there are several books, and none was named
    │   └── NeedsConsent          it would cost much, and nobody has said yes
    ├── NotFound                  no such book, lesson, chunk, thread or key    (exit 1, HTTP 404)
    ├── InvalidBook               the book's folder cannot be read as a book    (exit 1, HTTP 422)
    ├── InvalidSettings           a setting is out of range or missing          (exit 2)
    ├── Mismatch                  the index was made by another embedder        (exit 1, HTTP 409)
    ├── Busy                      a turn of the thread is running already       (exit 1, HTTP 409)
    ├── Locked                    another process holds the index               (exit 1, HTTP 503)
    ├── StorageFailure            disk full, index damaged, database gone       (exit 1, HTTP 503)
    └── Unavailable               a remote server does not answer as it should  (exit 1, HTTP 503)
        ├── Released              it holds the index no longer: another process may take it over
        ├── Rejected              it says no, and asking again will not help
        └── RateLimited           it says later; `retry_after_seconds` when it said when

A refusal to answer is a result, never an error.
"""

from __future__ import annotations

from collections.abc import Iterable

NO_BOOK = "There is no book yet. Ingest one with 'bythebook ingest FOLDER', or try 'bythebook demo'."
NAMED_AT_MOST = 20


def no_such_book(book_id: str, there: Iterable[str], *, set_by: str = "") -> str:
    """The sentence for an id that no book has: which ids there are."""
    ids = sorted(there)
    if not ids:
        return NO_BOOK
    more = f" and {len(ids) - NAMED_AT_MOST:,} more, which 'bythebook books' lists" if len(ids) > NAMED_AT_MOST else ""
    return f"There is no book '{book_id}'{set_by}. The library has: {', '.join(ids[:NAMED_AT_MOST])}{more}."


class BookError(Exception):
    """Root of all errors meant for a person. Its text is one clear sentence with a remedy."""


class InvalidInput(BookError):
    """What was asked cannot be asked like that."""


class SeveralBooks(InvalidInput):
    """There are several books, and none was named."""

    def __init__(self, message: str, *, books: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.books = books


class NeedsConsent(InvalidInput):
    """What was asked would cost much of a book, and nobody has said yes to that."""


class NotFound(BookError):
    """No such book, lesson, chunk, thread or key. What belongs to another key is not there either."""


class InvalidBook(BookError):
    """The book's folder cannot be read as a book."""


class InvalidSettings(BookError):
    """A setting is out of range or missing."""


def missing_extra(setting: str, what: str, extra: str) -> InvalidSettings:
    """A setting asks for a library that only some installations have."""
    return InvalidSettings(
        f"{setting} is set, but {what} is not installed. Run: pip install 'bythebook[{extra}]'. Or unset {setting}."
    )


class Mismatch(BookError):
    """The index was made by another embedder or an older chunker."""


class Busy(BookError):
    """A turn of the thread is running already."""


class Locked(BookError):
    """Another process holds the index."""


class StorageFailure(BookError):
    """The disk is full, the index is damaged, the database is gone."""


class Unavailable(BookError):
    """A remote server does not answer as it should."""


class Released(Unavailable):
    """The process that held the index does so no longer."""


class Rejected(Unavailable):
    """The server says no, and asking again will not help."""


class RateLimited(Unavailable):
    """The server says later."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
