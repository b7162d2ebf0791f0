"""Stores the questions worth asking, one row for each lesson and one for the whole book."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, select

from bythebook.database.engine import Database, upsert
from bythebook.database.tables import books, worth_asking

WHOLE_BOOK = ""
"""Stored in place of a lesson's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuestion:
    """A question with its answer. `quote` is the book's sentence that answers it, as it is written in `source_file`; `answer`
    says the same in a model's words, where they differ."""

    id: str
    question: str
    source_file: str
    page_title: str
    quote: str
    by: Literal["author", "model", "draft"]
    answer: str = ""
    table_head: str = ""
    """The head of the table that the quote is a row of."""


class QuestionStore:
    """Reads and writes these rows. `found_in` is a digest of the text and of the author's questions that a row was made from: a
    row with another digest is outdated."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, book_id: str, lesson: str, found_in: str) -> tuple[StudyQuestion, ...] | None:
        """The stored questions; None where they have to be found first."""
        here = (worth_asking.c.book_id == book_id) & (worth_asking.c.source_file == lesson)
        stored = select(worth_asking.c.questions).where(here, worth_asking.c.found_in == found_in)
        rows: list[dict[str, Any]] | None = await self._database.run(
            lambda connection: connection.execute(stored).scalar_one_or_none()
        )
        return None if rows is None else tuple(StudyQuestion(**row) for row in rows)

    async def keep(self, book_id: str, lesson: str, found_in: str, questions: Sequence[StudyQuestion]) -> None:
        """Stores the questions, unless the book was removed meanwhile."""
        kept = [asdict(one) for one in questions]
        row = {"book_id": book_id, "source_file": lesson, "found_in": found_in, "questions": kept}

        def write(connection: Connection) -> None:
            if connection.execute(select(books.c.book_id).where(books.c.book_id == book_id)).first():
                upsert(connection, worth_asking, [row], keys=("book_id", "source_file"))

        await self._database.run(write)

    async def forget_others(self, book_id: str, lessons: Collection[str]) -> None:
        """Deletes the rows of lessons that the book no longer has."""

        def forget(connection: Connection) -> None:
            of_book = worth_asking.c.book_id == book_id
            stored = set(connection.execute(select(worth_asking.c.source_file).where(of_book)).scalars())
            for gone in stored - {WHOLE_BOOK, *lessons}:
                connection.execute(delete(worth_asking).where(of_book, worth_asking.c.source_file == gone))

        await self._database.run(forget)
