"""`llms.txt` and `llms-full.txt` of each book, for language models that read sites."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from bythebook.answering.markdown import page_address, web_url
from bythebook.errors import NotFound
from bythebook.operations.contents import LinkOfLesson, TableOfContents, full_text, list_text, read_contents, read_texts
from bythebook.web.access import Guest, Principal
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId
from bythebook.web.state import Current, State

router = APIRouter(prefix="/books/{book_id}", tags=["books"], responses=ERRORS)
Wanted = Annotated[BookId, Path(description="The book's id.")]
MARKDOWN = "text/markdown; charset=utf-8"
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "As Markdown.", "content": {"text/markdown": {"schema": {"type": "string"}}}}
}


@router.get("/llms.txt", response_class=Response, responses=TEXT, summary="A book's lessons with their links, as Markdown")
async def list_lessons(book_id: Wanted, request: Request, who: Guest, current: Current) -> Response:
    contents = await _contents(book_id, who, current)
    return Response(list_text(contents, _link(book_id, request)), media_type=MARKDOWN)


@router.get("/llms-full.txt", response_class=Response, responses=TEXT, summary="All of a book's text, as Markdown")
async def read_all(book_id: Wanted, request: Request, who: Guest, current: Current) -> Response:
    contents = await _contents(book_id, who, current)
    texts = read_texts(current.resources, book_id=book_id)
    return StreamingResponse(_encoded(full_text(contents, texts, _link(book_id, request))), media_type=MARKDOWN)


async def _contents(book_id: str, who: Principal, current: State) -> TableOfContents:
    if not who.opens(book_id):
        raise NotFound(f"There is no book '{book_id}' for this key.")
    return await read_contents(current.resources, book_id=book_id)


async def _encoded(parts: AsyncIterator[str]) -> AsyncIterator[bytes]:
    async for part in parts:
        yield part.encode("utf-8", "replace")


def _link(book_id: str, request: Request) -> LinkOfLesson:
    return partial(_address, book_id, str(request.base_url))


def _address(book_id: str, base_url: str, source_url: str) -> str:
    return web_url(source_url) or page_address(book_id, base_url, source_url, None)
