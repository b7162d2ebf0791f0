"""Marks stored answers that quote words which an ingestion took out of the book.

A chunk that is gone need not take its quotes with it: an edit beside them makes another chunk of the same words. So the words
are looked for in their lesson as it now is, and the mark is removed when an edit is undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.ingestion.progress import StaleCitation
from bythebook.ingestion.records import Records
from bythebook.threads.model import StoredQuote
from bythebook.threads.review import Review


async def mark_stale(
    review: Review, records: Records, index: VectorIndex, *, book_id: str, since: datetime
) -> tuple[StaleCitation, ...]:
    """Marks answers that are stale, unmarks those that are not, and returns the citations that became stale at `since`: called
    again with the same time, after an outage or by another worker, it returns the same."""
    cited, state = await review.cited_chunks(book_id), await records.book(book_id)
    if not cited or state is None:
        return ()
    lessons = await records.records(book_id, state.collection_name)
    present = {id for record in lessons.values() for id in record.chunk_ids}
    quoted = await review.quoted(book_id, [id for id, stale in cited.items() if stale or id not in present])
    texts = await _texts(index, state, lessons, [one for one in quoted if one.cited.chunk_id not in present])
    stale: list[StoredQuote] = []
    good: list[StoredQuote] = []
    for one in quoted:
        (good if one.cited.chunk_id in present or _stands(one, texts) else stale).append(one)
    await review.mark([one.cited for one in good if one.cited.stale_since], stale_since=None)
    await review.mark([one.cited for one in stale if one.cited.stale_since is None], stale_since=since)
    return tuple(_told(one, texts) for one in stale if one.cited.stale_since in (None, since))


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
