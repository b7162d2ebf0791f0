"""What all threads tell an author about one book: which questions were refused, and which answers an edit affects."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, func, select, update

from bythebook.database.engine import Database, slices
from bythebook.database.tables import cited, turns
from bythebook.threads.model import CitedChunk, StoredQuote, StoredTurn
from bythebook.threads.rows import quoted_of, turn_of
from bythebook.threads.store import stored_turns


class Review:
    """Questions over all threads of a book: refused turns, uncertain answers, and citations of chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def refused(self, book_id: str, *, since: datetime | None = None) -> tuple[StoredTurn, ...]:
        """Returns turns that ended in a refusal, oldest first."""
        return await self._turns(book_id, turns.c.refused, since)

    async def low_confidence(self, book_id: str, *, since: datetime | None = None) -> tuple[StoredTurn, ...]:
        """Returns turns that were answered with a disclaimer."""
        return await self._turns(book_id, ~turns.c.refused & (turns.c.confidence_level == "low"), since)

    async def cited_chunks(self, book_id: str) -> dict[str, bool]:
        """The id of every chunk of the book that a stored answer cites, and whether any of these citations is stale."""
        stale = func.max(case((cited.c.stale_since.is_(None), 0), else_=1)).label("stale")
        wanted = select(cited.c.chunk_id, stale).where(cited.c.book_id == book_id).group_by(cited.c.chunk_id)
        rows = await self._database.run(lambda connection: connection.execute(wanted).all())
        return {row.chunk_id: bool(row.stale) for row in rows}

    async def quoted(self, book_id: str, chunk_ids: Collection[str]) -> tuple[StoredQuote, ...]:
        """Returns what stored answers quote from these chunks."""
        same = (cited.c.thread_id == turns.c.thread_id) & (cited.c.turn == turns.c.number)
        wanted = select(cited, turns.c.answer).join(turns, same).where(cited.c.book_id == book_id)
        in_order = wanted.order_by(cited.c.thread_id, cited.c.turn, cited.c.label, cited.c.chunk_id)

        def read(connection: Connection) -> list[StoredQuote]:
            some = [in_order.where(cited.c.chunk_id.in_(few)) for few in slices(sorted(chunk_ids))]
            return [quoted_of(row) for one in some for row in connection.execute(one)]

        return tuple(await self._database.run(read))

    async def mark(self, chunks: Collection[CitedChunk], *, stale_since: datetime | None) -> None:
        """Marks citations whose quotes the book no longer contains; None clears the mark."""
        names = ("thread_id", "turn", "label", "chunk_id")
        here = and_(*(cited.c[name] == bindparam(f"its_{name}") for name in names))
        rows = [{f"its_{name}": getattr(one, name) for name in names} for one in chunks]
        if rows:
            marking = update(cited).where(here).values(stale_since=stale_since)
            await self._database.run(lambda connection: connection.execute(marking, rows))

    async def _turns(self, book_id: str, wanted: ColumnElement[bool], since: datetime | None) -> tuple[StoredTurn, ...]:
        here = (turns.c.book_id == book_id) & wanted
        if since is not None:
            here &= turns.c.created_at >= since
        found = stored_turns().where(here).order_by(turns.c.created_at, turns.c.thread_id, turns.c.number)
        rows = await self._database.run(lambda connection: connection.execute(found).all())
        return tuple(turn_of(row) for row in rows)
