"""By the Book: a textbook in, a tutor out. It answers only from the book and shows the exact passage.

from bythebook import Book

await Book.ingest("my-course/")
async with Book.open() as book:
    answer = await book.ask("What is a node?")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bythebook.operations.reader import OpenBook as Book

__version__ = "0.1.0"
__all__ = ["Book", "__version__"]


def __getattr__(name: str) -> Any:
    """`Book` is imported when it is first asked for: the commands start without it."""
    if name != "Book":
        raise AttributeError(f"module 'bythebook' has no attribute '{name}'")
    from bythebook.operations.reader import OpenBook

    return OpenBook
