"""Errands of a reader who knows the place: a chunk with its neighbours, a whole lesson."""

from __future__ import annotations

from bythebook.books.model import Chunk
from bythebook.retrieval.context import Context, find_lesson, read_context, read_lesson_chunks
from bythebook.wiring import Library


async def fetch_context(library: Library, *, book_id: str, chunk_id: str) -> Context:
    return await read_context(library.index, await library.search.book(book_id), chunk_id)


async def fetch_lesson(library: Library, *, book_id: str, name: str) -> list[Chunk]:
    """`name` is the lesson's path or its parent_doc_id."""
    state = await library.search.book(book_id)
    return await read_lesson_chunks(library.index, state, await find_lesson(library.index, state, name))
