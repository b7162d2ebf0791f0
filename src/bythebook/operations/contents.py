"""A book as language models read it: `llms.txt` lists its lessons, `llms-full.txt` is all its text (llmstxt.org)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from bythebook.books.model import Chunk
from bythebook.errors import NotFound
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.operations.reader import WholeLesson
from bythebook.retrieval.context import whole_text
from bythebook.wiring.author import Resources

LinkOfLesson = Callable[[str], str]
"""Turns an address of the book into the one under which a reader opens it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentsEntry:
    """A lesson in the table of contents. `group`: its chapter or module in words; empty outside the hierarchy."""

    path: str
    title: str
    source_url: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOfContents:
    """A book's lessons in reading order."""

    book_id: str
    title: str
    language: str
    lessons: tuple[ContentsEntry, ...]


async def read_contents(resources: Resources, *, book_id: str) -> TableOfContents:
    state, records = await _records(resources, book_id)
    firsts = [record.chunk_ids[0] for record in records]
    held = await resources.index.chunks(state.collection_name, book_id, firsts)
    chunks = {one.chunk.source_file: one.chunk for one in held}
    lessons = tuple(_listed(record, chunks[record.source_file]) for record in records if record.source_file in chunks)
    return TableOfContents(book_id=book_id, title=state.title, language=state.language, lessons=lessons)


async def read_texts(resources: Resources, *, book_id: str) -> AsyncIterator[WholeLesson]:
    """All lessons, each whole, one after the other."""
    state, records = await _records(resources, book_id)
    limit = resources.settings.max_file_bytes
    for record in records:
        held = await resources.index.chunks(state.collection_name, book_id, record.chunk_ids)
        chunks = sorted((one.chunk for one in held), key=lambda chunk: chunk.chunk_index)
        if chunks:
            whole = await asyncio.to_thread(whole_text, chunks, state.source_root, limit_bytes=limit)
            yield WholeLesson(
                book_id=book_id,
                path=record.source_file,
                title=chunks[0].page_title,
                source_url=chunks[0].source_url.partition("#")[0],
                text=whole.text,
            )


def list_text(contents: TableOfContents, link: LinkOfLesson) -> str:
    """Writes `llms.txt`."""
    count = len(contents.lessons)
    parts = [
        _head(contents.title),
        f"> A book with {count:,} {'lesson' if count == 1 else 'lessons'}, language {contents.language}.",
    ]
    group: str | None = None
    for lesson in contents.lessons:
        if lesson.group != group:
            group = lesson.group
            parts.append(f"\n## {group or 'Pages'}\n")
        parts.append(f"- [{_bracketed(lesson.title)}]({link(lesson.source_url)})")
    return "\n".join(parts) + "\n"


async def full_text(contents: TableOfContents, texts: AsyncIterator[WholeLesson], link: LinkOfLesson) -> AsyncIterator[str]:
    """Yields `llms-full.txt`, lesson by lesson."""
    yield f"{_head(contents.title)}\n"
    async for lesson in texts:
        yield f"\n---\n\nSource: {link(lesson.source_url)}\n\n{lesson.text.strip()}\n"


async def _records(resources: Resources, book_id: str) -> tuple[IngestionState, list[IngestionRecord]]:
    state = await resources.records.book(book_id)
    if state is None:
        raise NotFound(f"There is no book '{book_id}'.")
    found = await resources.records.records(book_id, state.collection_name)
    ordered = sorted(found.values(), key=lambda record: record.reading_order)
    return state, [record for record in ordered if record.chunk_ids]


def _listed(record: IngestionRecord, first: Chunk) -> ContentsEntry:
    chapter = f"Chapter {first.chapter}" + (f": {first.chapter_title}" if first.chapter_title else "") if first.chapter else ""
    return ContentsEntry(
        path=record.source_file,
        title=first.page_title or record.source_file,
        source_url=first.source_url.partition("#")[0],
        group=chapter or first.module,
    )


def _head(title: str) -> str:
    return f"# {' '.join(title.split())}\n"


def _bracketed(title: str) -> str:
    return re.sub(r"([\[\]\\])", r"\\\1", " ".join(title.split()))
