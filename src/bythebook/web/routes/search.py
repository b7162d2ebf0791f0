"""Document D: search, the context of a chunk, and a whole lesson."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import UUID5

from bythebook.books.model import Chunk
from bythebook.errors import Unavailable
from bythebook.index.vectors import IndexedChunk
from bythebook.retrieval.context import read_indexed_context, read_indexed_lesson
from bythebook.retrieval.query import SearchResponse
from bythebook.web.access import Reader, choose_book
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId, SearchRequest
from bythebook.web.responses import json_response
from bythebook.web.state import Current

router = APIRouter(tags=["search"], responses=ERRORS)
SEARCH_SECONDS = 30.0
Wanted = Annotated[BookId | None, Query(description="Default: the key's book, or the only one there is.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkView(Chunk):
    """A chunk with document D's counts, and what the index knows of it."""

    # without `field()`, the chunk's properties of these names would be their defaults
    word_count: int = field()
    token_count: int = field()
    char_count: int = field()
    version: int
    created_at: datetime
    updated_at: datetime
    embedding_model: str
    embedded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """A chunk and the chunks before and after it; null at the ends of the lesson."""

    prev: ChunkView | None
    chunk: ChunkView
    next: ChunkView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonView:
    """A whole lesson in order, however long. Its chunks together are its whole content."""

    parent_doc_id: str
    book_id: str
    source_file: str
    page_title: str
    chunks: tuple[ChunkView, ...]


@router.post("/search", response_model=SearchResponse, summary="Find the passages that say it")
async def search(body: SearchRequest, who: Reader, current: Current) -> Response:
    query = body.query(await choose_book(current, who, body.book_id))
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            found = await current.resources.book_search.search(query)
    except TimeoutError as error:
        raise Unavailable(f"The search took longer than {SEARCH_SECONDS:g} seconds and was given up. Try again.") from error
    return json_response(found)


@router.get("/chunks/{chunk_id}/context", response_model=ContextView, summary="A chunk, and what stands before and after it")
async def context(
    chunk_id: Annotated[UUID5, Path(description="A result's `id`.")], who: Reader, current: Current, book_id: Wanted = None
) -> Response:
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    before, found, after = await read_indexed_context(current.resources.index, state, str(chunk_id))
    view = ContextView(prev=_view(before) if before else None, chunk=_view(found), next=_view(after) if after else None)
    return json_response(view)


@router.get("/lessons/{parent_doc_id}", response_model=LessonView, summary="A whole lesson")
async def lesson(
    parent_doc_id: Annotated[UUID5, Path(description="A result's `parent_doc_id`.")],
    who: Reader,
    current: Current,
    book_id: Wanted = None,
) -> Response:
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    chunks = await read_indexed_lesson(current.resources.index, state, str(parent_doc_id))
    first = chunks[0].chunk
    view = LessonView(
        parent_doc_id=first.parent_doc_id,
        book_id=first.book_id,
        source_file=first.source_file,
        page_title=first.page_title,
        chunks=tuple(map(_view, chunks)),
    )
    return json_response(view)


def _view(held: IndexedChunk) -> ChunkView:
    chunk = held.chunk
    return ChunkView(
        **{one.name: getattr(chunk, one.name) for one in fields(Chunk)},
        word_count=chunk.word_count,
        token_count=chunk.token_count,
        char_count=chunk.char_count,
        version=held.version,
        created_at=held.created_at,
        updated_at=held.updated_at,
        embedding_model=held.embedding_model,
        embedded_at=held.embedded_at,
    )
