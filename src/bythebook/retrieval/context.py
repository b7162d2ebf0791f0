"""The context of a chunk: its neighbours along the chain, and its whole lesson as chunks or as one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from bythebook.books.markdown import letters, readable
from bythebook.books.model import Chunk
from bythebook.errors import InvalidBook, InvalidInput, NotFound
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, IndexedChunk, VectorIndex

ALIKE = 0.5
"""How similar a name must be to be proposed, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A chunk and the chunks before and after it; None at the ends of the lesson."""

    prev: Chunk | None
    chunk: Chunk
    next: Chunk | None


async def read_context(index: VectorIndex, state: IngestionState, chunk_id: str) -> Context:
    before, found, after = await read_indexed_context(index, state, chunk_id)
    return Context(prev=before.chunk if before else None, chunk=found.chunk, next=after.chunk if after else None)


async def read_indexed_context(
    index: VectorIndex, state: IngestionState, chunk_id: str
) -> tuple[IndexedChunk | None, IndexedChunk, IndexedChunk | None]:
    """The chunk before, the chunk and the chunk after it, as the index holds them."""
    found = await index.chunks(state.collection_name, state.book_id, [chunk_id])
    if not found:
        raise NotFound(f"The book '{state.book_id}' has no chunk {chunk_id}. Ids change when the text does: search again.")
    chunk = found[0].chunk
    ids = [id for id in (chunk.prev_chunk_id, chunk.next_chunk_id) if id]
    neighbours = {held.chunk.id: held for held in await index.chunks(state.collection_name, state.book_id, ids)}
    return neighbours.get(chunk.prev_chunk_id or ""), found[0], neighbours.get(chunk.next_chunk_id or "")


async def read_lesson_chunks(index: VectorIndex, state: IngestionState, parent_doc_id: str) -> list[Chunk]:
    return [held.chunk for held in await read_indexed_lesson(index, state, parent_doc_id)]


async def read_indexed_lesson(index: VectorIndex, state: IngestionState, parent_doc_id: str) -> list[IndexedChunk]:
    """All chunks of a lesson, in order, however many."""
    filters = Filters(book_id=state.book_id, parent_doc_id=parent_doc_id)
    chunks = [held async for held in index.scan(state.collection_name, filters)]
    if not chunks:
        raise NotFound(f"The book '{state.book_id}' has no lesson {parent_doc_id}.")
    return sorted(chunks, key=lambda held: held.chunk.chunk_index)


async def find_lesson(index: VectorIndex, state: IngestionState, name: str) -> str:
    """The parent_doc_id of a lesson, by its id or its path. The error for an unknown name lists similar ones."""
    for wanted in (Filters(book_id=state.book_id, source_file=name), Filters(book_id=state.book_id, parent_doc_id=name)):
        async for held in index.scan(state.collection_name, wanted):
            return held.chunk.parent_doc_id
    near = nearest_names(name, await index.source_files(state.collection_name, state.book_id))
    meant = f"Did you mean {' or '.join(near)}?" if near else "'bythebook lessons' lists them."
    raise NotFound(f"The book '{state.book_id}' has no lesson {name}. {meant}")


async def check_selection(index: VectorIndex, state: IngestionState, source_file: str, text: str) -> None:
    """Raises InvalidInput unless the lesson has these words. Each line is searched for by itself, and what stands on either side
    of "…": there a page may have left out what it shows in another form, such as a formula."""
    filters = Filters(book_id=state.book_id, source_file=source_file)
    chunks = sorted([held.chunk async for held in index.scan(state.collection_name, filters)], key=lambda one: one.chunk_index)
    words = letters(readable("\n\n".join(chunk.text for chunk in chunks)))
    if not chunks or not all(letters(part) in words for part in text.replace("…", "\n").splitlines()):
        raise InvalidInput(
            f"The selected words do not stand in the lesson {source_file}. The book may have changed: reload the page, and "
            "select them again."
        )


async def lesson_at(index: VectorIndex, state: IngestionState, address: str) -> str:
    """The path of the lesson that has this address on the book's site."""
    wanted = _bare_address(address)
    async for held in index.scan(state.collection_name, Filters(book_id=state.book_id, prefix=wanted)):
        if _bare_address(held.chunk.source_url) == wanted:
            return held.chunk.source_file
    raise InvalidInput(
        f"The book has no lesson at {address}, so the selected words cannot be found there: ask about them in your own words. "
        "If this page is a lesson, base_url in its book.toml is not the address of this site."
    )


def _bare_address(address: str) -> str:
    """The address without its fragment and what hosts add to it: a slash, an ending, the name of an index page."""
    page = re.sub(r"[?#].*", "", address, flags=re.DOTALL)
    return re.sub(r"(?:/index)?(?:\.html?)?/?$", "", page)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeText:
    """A lesson's text. `text` is the stretch of the source file that begins at character `start`, from the first chunk to the end
    of the last."""

    text: str
    start: int
    exact: bool
    """Whether it was read from the file itself. Otherwise only white space between chunks may differ from it."""


def whole_text(chunks: Sequence[Chunk], source_root: str, *, limit_bytes: int) -> WholeText:
    """The text of a lesson, from all its chunks in order. It is read from the file if that has not changed since the ingestion,
    so that the white space between chunks is exact. Otherwise it is rebuilt from the places of the chunks."""
    start, end = chunks[0].span.start, chunks[-1].span.end
    source = _source(Path(source_root), chunks[0], limit_bytes)
    if source is not None and all(source[one.span.start : one.span.end] == one.text for one in chunks):
        return WholeText(text=source[start:end], start=start, exact=True)
    return WholeText(text=_joined(chunks), start=start, exact=False)


def _source(root: Path, chunk: Chunk, limit_bytes: int) -> str | None:
    from bythebook.books.discovery import file_hash, read_source
    from bythebook.books.lesson import decode  # late: it brings what reads a whole book

    try:
        raw = read_source(root, chunk.source_file, limit_bytes=limit_bytes)
        return decode(raw, chunk.source_file) if file_hash(raw) == chunk.source_file_hash else None
    except InvalidBook:
        return None  # gone, or another machine's, or no text by itself


def _joined(chunks: Sequence[Chunk]) -> str:
    parts = [chunks[0].text]
    for before, after in pairwise(chunks):
        parts += [_gap(before, after), after.text]
    return "".join(parts)


def _gap(before: Chunk, after: Chunk) -> str:
    """A gap as long as in the source, so that positions in the text stay right, and with as many lines. The rest is the
    indentation of a block that continues, such as split code; elsewhere it is white space at the end of a line."""
    length, lines = after.span.start - before.span.end, after.span.first_line - before.span.last_line
    line_end = "\r\n" if "\r\n" in before.text or "\r\n" in after.text else "\n"
    ends = (line_end * lines)[:length] if len(line_end) * lines <= length else "\n" * min(lines, length)
    blanks = " " * (length - len(ends))
    return ends + blanks if after.preface else blanks + ends
