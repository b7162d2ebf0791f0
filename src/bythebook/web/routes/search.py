"""Document D: search, what stands around a chunk, and a whole lesson."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import UUID5

from bythebook.books.model import Chunk
from bythebook.errors import Unavailable
from bythebook.retrieval.context import Context, read_context, read_lesson_chunks
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
class LessonView:
    """A lesson in order, without a cap. Its chunks give its whole content."""

    parent_doc_id: str
    book_id: str
    source_file: str
    page_title: str
    chunks: tuple[Chunk, ...]


@router.post("/search", response_model=SearchResponse, summary="Find the passages that say it")
async def search(body: SearchRequest, who: Reader, current: Current) -> Response:
    query = body.query(await choose_book(current, who, body.book_id))
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            found = await current.resources.book_search.search(query)
    except TimeoutError as error:
        raise Unavailable(f"The search took longer than {SEARCH_SECONDS:g} seconds and was given up. Try again.") from error
    return json_response(found)


@router.get("/chunks/{chunk_id}/context", response_model=Context, summary="A chunk, and what stands before and after it")
async def context(
    chunk_id: Annotated[UUID5, Path(description="A result's `id`.")], who: Reader, current: Current, book_id: Wanted = None
) -> Response:
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    found = await read_context(current.resources.index, state, str(chunk_id))
    return json_response(found)


@router.get("/lessons/{parent_doc_id}", response_model=LessonView, summary="A whole lesson")
async def lesson(
    parent_doc_id: Annotated[UUID5, Path(description="A result's `parent_doc_id`.")],
    who: Reader,
    current: Current,
    book_id: Wanted = None,
) -> Response:
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    chunks = await read_lesson_chunks(current.resources.index, state, str(parent_doc_id))
    first = chunks[0]
    view = LessonView(
        parent_doc_id=first.parent_doc_id,
        book_id=first.book_id,
        source_file=first.source_file,
        page_title=first.page_title,
        chunks=tuple(chunks),
    )
    return json_response(view)
