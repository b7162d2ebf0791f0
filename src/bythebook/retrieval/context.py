"""The surroundings of a chunk: its neighbours along the chain, and its whole lesson."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from bythebook.books.model import Chunk
from bythebook.errors import NotFound
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex

ALIKE = 0.5
"""How like a name must be to be proposed, 0 to 1."""


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
    """The parent_doc_id of a lesson named by its id or its path. A name that no lesson has is answered with near ones."""
    for wanted in (Filters(book_id=state.book_id, source_file=name), Filters(book_id=state.book_id, parent_doc_id=name)):
        async for held in index.scan(state.collection_name, wanted):
            return held.chunk.parent_doc_id
    near = nearest_names(name, await index.source_files(state.collection_name, state.book_id))
    meant = f"Did you mean {' or '.join(near)}?" if near else "'bythebook lessons' lists them."
    raise NotFound(f"The book '{state.book_id}' has no lesson {name}. {meant}")


def nearest_names(name: str, paths: Iterable[str], most: int = 3) -> list[str]:
    """The lessons whose path, or whose file's name without number and ending, is most like this."""
    names = {path: (path.casefold(), _bare(path)) for path in sorted(paths)}

    def likeness(path: str) -> float:
        wanted = (name.casefold(), _bare(name))
        within = bool(wanted[1]) and wanted[1] in names[path][0]
        return max(
            within * 0.9, *(SequenceMatcher(None, one, other).ratio() for one, other in zip(wanted, names[path], strict=True))
        )

    scored = {path: likeness(path) for path in names}
    near = [path for path in names if scored[path] >= ALIKE]
    return sorted(near, key=lambda path: -scored[path])[:most]


def _bare(path: str) -> str:
    return re.sub(r"^[\d\W_]+|\.\w+$", "", path.rpartition("/")[2].casefold())
