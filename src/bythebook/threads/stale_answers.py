"""Marks stored answers that quote words which an ingestion took out of the book.

A chunk that is gone need not take its quotes with it: an edit beside them makes another chunk of the same words. So the words
are looked for in their lesson as it now is, and the mark is removed when an edit is undone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, bindparam, case, func, select, update

from bythebook.database.engine import Database, slices
from bythebook.database.tables import cited, turns
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.ingestion.progress import StaleCitation
from bythebook.ingestion.records import Records
from bythebook.threads.model import CitedChunk, StoredQuote
from bythebook.threads.rows import quoted_of


class StaleAnswers:
    """Finds the stored answers of a book that an ingestion made stale, and marks them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def update(self, records: Records, index: VectorIndex, *, book_id: str, since: datetime) -> tuple[StaleCitation, ...]:
        """Marks answers that are stale, unmarks those that are not, and returns the citations that became stale at `since`:
        called again with the same time, after an outage or by another worker, it returns the same."""
        cited_ids, state = await self.cited_chunks(book_id), await records.book(book_id)
        if not cited_ids or state is None:
            return ()
        lessons = await records.records(book_id, state.collection_name)
        present = {id for record in lessons.values() for id in record.chunk_ids}
        quoted = await self.quoted(book_id, [id for id, stale in cited_ids.items() if stale or id not in present])
        texts = await _texts(index, state, lessons, [one for one in quoted if one.cited.chunk_id not in present])
        stale: list[StoredQuote] = []
        good: list[StoredQuote] = []
        for one in quoted:
            (good if one.cited.chunk_id in present or _stands(one, texts) else stale).append(one)
        await self.mark([one.cited for one in good if one.cited.stale_since], stale_since=None)
        await self.mark([one.cited for one in stale if one.cited.stale_since is None], stale_since=since)
        return tuple(_told(one, texts) for one in stale if one.cited.stale_since in (None, since))

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


async def _texts(
    index: VectorIndex, state: IngestionState, lessons: dict[str, IngestionRecord], quoted: Sequence[StoredQuote]
) -> dict[str, str]:
    """The texts of the lessons that these were quoted from, as far as they still exist."""
    paths = {citation.source_file for one in quoted for citation in one.citations} & lessons.keys()
    texts = {}
    for path in sorted(paths):
        held = await index.chunks(state.collection_name, state.book_id, lessons[path].chunk_ids)
        texts[path] = _plain(" ".join(one.chunk.text for one in held))
    return texts


def _stands(quoted: StoredQuote, texts: dict[str, str]) -> bool:
    return all(_plain(one.quote) in texts.get(one.source_file, "") for one in quoted.citations)


def _told(quoted: StoredQuote, texts: dict[str, str]) -> StaleCitation:
    gone = next(one for one in quoted.citations if _plain(one.quote) not in texts.get(one.source_file, ""))
    return StaleCitation(
        thread_id=quoted.cited.thread_id,
        turn=quoted.cited.turn,
        label=quoted.cited.label,
        question=quoted.question,
        page_title=gone.page_title,
        section=gone.section,
        quote=gone.quote,
    )


def _plain(text: str) -> str:
    return " ".join(text.split())
