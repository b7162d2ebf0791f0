"""Operations of a reader besides asking: choosing the book, its state, a search, the context of a chunk, a lesson. The command
line and HTTP choose the book alike where none is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bythebook.books.model import Chunk
from bythebook.errors import NO_BOOK, NotFound, SeveralBooks
from bythebook.index.state import IngestionState
from bythebook.retrieval.context import Context, find_lesson, read_context, read_lesson_chunks, whole_text
from bythebook.retrieval.query import SearchQuery, SearchResponse
from bythebook.wiring.reader import Library


def choose_among(there: Iterable[IngestionState], *, wanted: str | None, configured: str | None = None, named_by: str) -> str:
    """The book that is wanted; else the configured one; else the only one. `named_by`: how a person says which."""
    states = sorted(there, key=lambda state: state.book_id)
    ids = [state.book_id for state in states]
    if not ids:
        raise NotFound(NO_BOOK)
    chosen = wanted or configured
    if chosen and chosen not in ids:
        set_by = "" if wanted else " (it is set by BYTHEBOOK_BOOK, or 'book' in bythebook.toml)"
        raise NotFound(f"There is no book '{chosen}'{set_by}. There is: {', '.join(ids)}.")
    if chosen or len(ids) == 1:
        return chosen or ids[0]
    last = max(states, key=lambda state: state.last_ingested).book_id
    raise SeveralBooks(
        f"There are several books: say which with {named_by} ({', '.join(ids)}). The last one ingested is '{last}'.",
        books=tuple(ids),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What was found, in which language, and how many chunks the whole book has."""

    response: SearchResponse
    language: str
    total_chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLesson:
    """A lesson whole, as the author wrote it."""

    book_id: str
    path: str
    title: str
    source_url: str
    text: str


async def choose_book(library: Library, *, wanted: str | None, configured: str | None = None) -> str:
    """The book that is wanted; else the configured one; else the only one."""
    from bythebook.index.manifest import served_books

    there = served_books(await library.index.collections()).values()
    return choose_among(there, wanted=wanted, configured=configured, named_by="--book")


async def read_state(library: Library, *, book_id: str) -> IngestionState:
    return await library.search.book(book_id)


async def list_states(library: Library) -> list[IngestionState]:
    """All books, by their ids."""
    from bythebook.index.manifest import served_books

    there = served_books(await library.index.collections())
    return [there[book_id] for book_id in sorted(there)]


async def list_lessons(library: Library, *, book_id: str) -> list[str]:
    """The paths of a book's lessons."""
    state = await library.search.book(book_id)
    return sorted(await library.index.source_files(state.collection_name, book_id))


async def search(library: Library, *, query: SearchQuery) -> Searched:
    from bythebook.index.vectors import Filters

    state, manifest = await library.search.served(query.book_id)
    response = await library.book_search.search_served(query, state, manifest)
    total = await library.index.count(state.collection_name, Filters(book_id=query.book_id))
    return Searched(response=response, language=state.language, total_chunks=total)


async def fetch_context(library: Library, *, book_id: str, chunk_id: str) -> Context:
    return await read_context(library.index, await library.search.book(book_id), chunk_id)


async def fetch_lesson(library: Library, *, book_id: str, name: str) -> list[Chunk]:
    """Returns the chunks of a lesson. `name` is its path or its parent_doc_id."""
    state = await library.search.book(book_id)
    return await read_lesson_chunks(library.index, state, await find_lesson(library.index, state, name))


async def read_lesson_text(library: Library, *, book_id: str, name: str) -> WholeLesson:
    """The text of a lesson. `name` is its path or its parent_doc_id."""
    import asyncio

    chunks = await fetch_lesson(library, book_id=book_id, name=name)
    state, first = await library.search.book(book_id), chunks[0]
    whole = await asyncio.to_thread(whole_text, chunks, state.source_root, limit_bytes=library.settings.max_file_bytes)
    return WholeLesson(
        book_id=book_id,
        path=first.source_file,
        title=first.page_title,
        source_url=first.source_url.partition("#")[0],
        text=whole.text,
    )
