"""The page itself, and the passages that it shows: the book's Markdown rendered, with the quoted words marked."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import UUID5

from bythebook.books.discovery import read_beside
from bythebook.books.model import Chunk
from bythebook.errors import BookError, InvalidBook, InvalidInput, NotFound
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters
from bythebook.retrieval.context import read_context, read_lesson_chunks, whole_text
from bythebook.settings import Settings
from bythebook.texts import LANGUAGES, page_words
from bythebook.web.access import Reader, choose_book, principal
from bythebook.web.render.book_links import NOTEBOOK, PICTURES, BookLinks
from bythebook.web.render.labels import REFERENCE, LabelledPlace, read_labels
from bythebook.web.requests import BookId
from bythebook.web.state import Current, State

TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
SHARED = {"Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*"}
"""Headers of the widget's files, which pages elsewhere fetch. They are the same for everyone."""
LARGEST_PICTURE = 5_000_000
LARGEST_NOTEBOOK = 50_000_000
SCAN_SECONDS = 20.0
DATA = b"<!-- data -->"
MODULES = b"<!-- modules -->"
"""The place in the page where all modules of its first load are listed, so that a browser fetches them at once and not one
after another."""
WIDGET_WORDS = b"const WORDS = {};"
BEFORE_THE_PANEL = ("Ask the book", "Ask about this", "The tutor does not answer just now. Try again in a moment.")
IMPORT = re.compile(rb'^import\s(?:[^"]*?\sfrom\s)?"\./([\w-]+\.js)"', re.MULTILINE)
QUOTE = re.compile(r"(\d{1,9})-(\d{1,9})")

Quotes = Annotated[tuple[str, ...], Query(max_length=50)]
"""Stretches of the lesson's source file to be marked, each as START-END."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of the page as it is sent."""

    body: bytes
    packed: bytes
    tag: str
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageView:
    """A chunk, rendered, and its neighbours along the chain."""

    book_id: str
    chunk_id: str
    parent_doc_id: str
    source_file: str
    prev_chunk_id: str | None
    next_chunk_id: str | None
    source_url: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedLesson:
    """A whole lesson, rendered."""

    parent_doc_id: str
    source_file: str
    page_title: str
    chapter: str
    source_url: str
    html: str


@router.get("/")
async def page(request: Request, current: Current) -> Response:
    """The page. Where no key is needed, a browser fetches the list of books, and the only book, while it fetches the modules."""
    addresses: list[str] = []
    with suppress(BookError):
        await principal(request, current, None)
        books = await current.resources.records.books()
        addresses = ["/books", *(f"/books/{one.book_id}" for one in books if len(books) == 1)]
    return _send_file(_page(tuple(addresses)), request)


@lru_cache(maxsize=64)
def _page(addresses: tuple[str, ...]) -> File:
    links = [f'<link rel="preload" as="fetch" crossorigin href="{escape(one)}">'.encode() for one in addresses]
    return _file("index.html", _files()["index.html"].body.replace(DATA, b"\n".join(links)))


@router.get("/page/{name}")
async def page_file(name: str, request: Request) -> Response:
    return _send(name, request)


@router.get("/page/chunks/{chunk_id}")
async def passage(
    chunk_id: UUID5, current: Current, who: Reader, book_id: BookId | None = None, quote: Quotes = ()
) -> PassageView:
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    chunk = (await read_context(current.resources.index, state, str(chunk_id))).chunk
    return PassageView(
        book_id=chunk.book_id,
        chunk_id=chunk.id,
        parent_doc_id=chunk.parent_doc_id,
        source_file=chunk.source_file,
        prev_chunk_id=chunk.prev_chunk_id,
        next_chunk_id=chunk.next_chunk_id,
        source_url=_web_address(chunk),
        html=await asyncio.to_thread(_rendered_chunk, chunk, _spans(quote), await _links(current, state, [chunk])),
    )


@router.get("/page/lessons/{parent_doc_id}")
async def lesson(
    parent_doc_id: UUID5, current: Current, who: Reader, book_id: BookId | None = None, quote: Quotes = ()
) -> RenderedLesson:
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    chunks = await read_lesson_chunks(current.resources.index, state, str(parent_doc_id))
    first = chunks[0]
    links = await _links(current, state, chunks)
    async with current.rendering:
        html = await asyncio.to_thread(_rendered_lesson, chunks, state, current.settings, _spans(quote), links)
    return RenderedLesson(
        parent_doc_id=first.parent_doc_id,
        source_file=first.source_file,
        page_title=first.page_title,
        chapter=f"Chapter {first.chapter}: {first.chapter_title}" if first.chapter and first.chapter_title else "",
        source_url=_web_address(first).partition("#")[0],
        html=html,
    )


@router.get("/page/pictures/{book_id}")
async def picture(
    book_id: BookId, path: Annotated[str, Query(min_length=1, max_length=1000)], current: Current, who: Reader
) -> Response:
    """A picture of the book's folder. Opened by itself it can do nothing, because an SVG may contain scripts."""
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    kind = PICTURES.get(path.rpartition(".")[2].lower(), "")
    notebook, _, name = path.partition("#")
    body = None
    if kind and name and notebook.lower().endswith(NOTEBOOK):
        async with current.drawing:
            body = await asyncio.to_thread(_kept_picture, current, Path(state.source_root), notebook, name, kind)
    elif kind:
        body = await asyncio.to_thread(_picture, Path(state.source_root), path)
    if body is None:
        raise NotFound(f"The book '{book_id}' has no picture '{path}' on this machine.")
    headers = {"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, max-age=300"}
    return Response(body, media_type=kind, headers=headers)


@router.get("/page/scans/{chunk_id}")
async def scan(chunk_id: UUID5, current: Current, who: Reader, book_id: BookId | None = None, quote: Quotes = ()) -> Response:
    """The page of the PDF with the quote, as a picture with the quote marked."""
    state = await current.resources.search.book(await choose_book(current, who, book_id))
    chunk = (await read_context(current.resources.index, state, str(chunk_id))).chunk
    quotes = _within(_spans(quote), chunk.span.start)
    async with current.drawing:
        body = await asyncio.to_thread(_scan, current, state, chunk, quotes)
    return Response(body, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def _scan(current: State, state: IngestionState, chunk: Chunk, quotes: Sequence[tuple[int, int]]) -> bytes:
    """Drawn by the child process: the file is not trusted, and PDFium is not safe for threads."""
    from bythebook.books.discovery import folder_of
    from bythebook.books.formats.pypdfium2.picture import page_picture, quoted_characters
    from bythebook.books.sandbox import SandboxCall, Unreadable

    leading, marked = quoted_characters(chunk, quotes or [(0, len(chunk.text))])
    root = folder_of(Path(state.source_root)).resolve()
    file = (root / leading.place.file).resolve() if leading else root
    if leading is None or not file.is_relative_to(root) or not file.is_file():
        raise NotFound("This passage is not from a PDF on this machine.")
    call = partial(page_picture, file, leading.place.number, marked)
    (drawn,) = current.resources.painter.run([SandboxCall(call=call, characters=0, seconds=SCAN_SECONDS)])
    if isinstance(drawn, Unreadable):
        raise NotFound(f"{leading.place.file} {drawn.reason}.")
    return drawn


def _picture(root: Path, path: str) -> bytes | None:
    try:
        return read_beside(root, path, limit_bytes=LARGEST_PICTURE)
    except (InvalidBook, ValueError, OSError):
        return None  # outside the book, too large, or not a file


def _kept_picture(current: State, root: Path, notebook: str, name: str, kind: str) -> bytes | None:
    """Read by the child process: a notebook may be large, and is not trusted."""
    from bythebook.books.discovery import folder_of
    from bythebook.books.formats.notebook import attachment
    from bythebook.books.sandbox import SandboxCall

    try:
        raw = read_beside(folder_of(root), notebook, limit_bytes=LARGEST_NOTEBOOK)
    except (InvalidBook, ValueError, OSError):
        return None  # outside the book, too large, or not a file
    call = SandboxCall(call=partial(attachment, raw or b"", name, kind), characters=0, seconds=SCAN_SECONDS)
    (found,) = current.resources.painter.run([call])
    return found if isinstance(found, bytes) and len(found) <= LARGEST_PICTURE else None


async def _links(current: State, state: IngestionState, chunks: Sequence[Chunk]) -> BookLinks:
    records = await current.resources.records.records(state.book_id, state.collection_name)
    refers = any(REFERENCE.search(chunk.text) for chunk in chunks)
    labels = await _labels(current, state) if refers else {}
    return BookLinks(book_id=state.book_id, source_file=chunks[0].source_file, lessons=frozenset(records), labels=labels)


async def _labels(current: State, state: IngestionState) -> Mapping[str, LabelledPlace]:
    """The labels of the whole book, read once after each ingestion."""
    since, labels = current.labels.get(state.book_id, (None, {}))
    if since != state.last_ingested:
        held = current.resources.index.scan(state.collection_name, Filters(book_id=state.book_id))
        labels = read_labels([one.chunk async for one in held])
        current.labels[state.book_id] = (state.last_ingested, labels)
    return labels


def _rendered_chunk(chunk: Chunk, spans: Sequence[tuple[int, int]], links: BookLinks) -> str:
    from bythebook.web.render.html import render_passage  # late: it brings a highlighter for every language

    return render_passage(chunk.text, preface=chunk.preface, quotes=_within(spans, chunk.span.start), links=links)


def _rendered_lesson(
    chunks: Sequence[Chunk], state: IngestionState, settings: Settings, spans: Sequence[tuple[int, int]], links: BookLinks
) -> str:
    """Runs in a thread of its own: a long lesson takes seconds, and others wait."""
    from bythebook.web.render.html import render_passage

    whole = whole_text(chunks, state.source_root, limit_bytes=settings.max_file_bytes)
    return render_passage(whole.text, quotes=_within(spans, whole.start), links=links)


def _within(spans: Sequence[tuple[int, int]], start: int) -> list[tuple[int, int]]:
    return [(first - start, end - start) for first, end in spans]


def _spans(quotes: Sequence[str]) -> list[tuple[int, int]]:
    found = [QUOTE.fullmatch(quote) for quote in quotes]
    if not all(found):
        raise InvalidInput("A quote is two numbers, as in 120-180: where it begins and ends in the lesson's file.")
    return [(int(match[1]), int(match[2])) for match in found if match]


def _web_address(chunk: Chunk) -> str:
    """Only an address that a browser can open: a book without a base_url has paths instead."""
    return chunk.source_url if chunk.source_url.startswith(("https://", "http://")) else ""


def _send(name: str, request: Request) -> Response:
    file = _files().get(name)
    if file is None:
        raise NotFound(f"The page has no file '{name}'.")
    return _send_file(file, request)


def _send_file(file: File, request: Request) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    headers |= SHARED if file.media_type != TYPES["html"] else {}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers |= {"Content-Encoding": "gzip"} if packed else {}
    return Response(file.packed if packed else file.body, media_type=file.media_type, headers=headers)


@cache
def _files() -> dict[str, File]:
    """All files of the page, read once: they are few and small."""
    bodies = {entry.name: entry.read_bytes() for entry in files("bythebook.web").joinpath("page").iterdir()}
    for language in LANGUAGES:
        bodies[f"words-{language}.js"] = f"export default {json.dumps(page_words(language), ensure_ascii=False)};\n".encode()
    bodies["widget.js"] = bodies["widget.js"].replace(WIDGET_WORDS, b"const WORDS = %b;" % _widget_words())
    links = [b'<link rel="modulepreload" href="/page/%b">' % name.encode() for name in _imported(bodies, "app.js")]
    bodies["index.html"] = bodies["index.html"].replace(MODULES, b"\n".join(links))
    return {name: _file(name, body) for name, body in bodies.items()}


def _widget_words() -> bytes:
    """What the widget says before its panel is there: it loads nothing until a reader opens it."""
    said = {language: [page_words(language)[text] for text in BEFORE_THE_PANEL] for language in LANGUAGES}
    return json.dumps(said, ensure_ascii=False).encode()


def _imported(bodies: Mapping[str, bytes], first: str) -> list[str]:
    """The modules that a module imports, directly or not; without those that it imports later."""
    found = [first]
    for name in found:  # grows while it is read
        found += dict.fromkeys(one for one in map(bytes.decode, IMPORT.findall(bodies[name])) if one not in found)
    return found[1:]


def _file(name: str, body: bytes) -> File:
    return File(
        body=body,
        packed=gzip.compress(body, mtime=0),
        tag=f'"{hashlib.sha256(body).hexdigest()[:16]}"',
        media_type=TYPES[name.rpartition(".")[2]],
    )
