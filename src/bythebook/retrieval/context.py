"""The surroundings of a chunk: its neighbours along the chain, and its whole lesson."""

from __future__ import annotations

from dataclasses import dataclass

from bythebook.books.model import Chunk
from bythebook.errors import NotFound
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A chunk and what stands before and after it; None at the ends of the lesson."""

    prev: Chunk | None
    chunk: Chunk
    next: Chunk | None


async def read_context(index: VectorIndex, state: IngestionState, chunk_id: str) -> Context:
    found = await index.chunks(state.collection_name, state.book_id, [chunk_id])
    if not found:
        raise NotFound(f"The book '{state.book_id}' has no chunk {chunk_id}. Ids change when the text does: search again.")
    chunk = found[0].chunk
    ids = [id for id in (chunk.prev_chunk_id, chunk.next_chunk_id) if id]
    neighbours = {held.chunk.id: held.chunk for held in await index.chunks(state.collection_name, state.book_id, ids)}
    return Context(prev=neighbours.get(chunk.prev_chunk_id or ""), chunk=chunk, next=neighbours.get(chunk.next_chunk_id or ""))


async def read_lesson_chunks(index: VectorIndex, state: IngestionState, parent_doc_id: str) -> list[Chunk]:
    """All chunks of a lesson, in order, however many."""
    filters = Filters(book_id=state.book_id, parent_doc_id=parent_doc_id)
    chunks = [held.chunk async for held in index.scan(state.collection_name, filters)]
    if not chunks:
        raise NotFound(f"The book '{state.book_id}' has no lesson {parent_doc_id}.")
    return sorted(chunks, key=lambda chunk: chunk.chunk_index)


async def find_lesson(index: VectorIndex, state: IngestionState, name: str) -> str:
    """The parent_doc_id of a lesson named by its id or its path."""
    filters = Filters(book_id=state.book_id, source_file=name)
    async for held in index.scan(state.collection_name, filters):
        return held.chunk.parent_doc_id
    return name
