"""Removes a book, or gives it another id: in the index, the database and the cache together.

The book's row is changed last: after an interruption the same command does the rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import groupby

from sqlalchemy import Connection

from bythebook.books.chunker import embedded_text
from bythebook.books.model import BOOK_ID, Chunk, chunk_id, parent_id
from bythebook.database.audit import act
from bythebook.database.book_rows import check_idle, count_rows, delete_rows, rename_rows
from bythebook.database.engine import Database
from bythebook.embedding.batches import EmbeddingCache, cache_key
from bythebook.errors import Busy, InvalidInput, NotFound, no_such_book
from bythebook.index.manifest import manifest_of
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import Filters, IndexedChunk, Replacement, VectorIndex
from bythebook.ingestion.records import Records

LESSONS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BookHoldings:
    """What is removed with a book."""

    book_id: str
    title: str
    lessons: int
    chunks: int
    threads: int
    jobs: int
    keys: int
    """Keys for this book alone. They are revoked, because a book that later gets the same id is another book."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Removes and renames books."""

    index: VectorIndex
    records: Records
    cache: EmbeddingCache
    database: Database

    async def holdings(self, book_id: str) -> BookHoldings:
        state = await self.state(book_id)
        rows = await self.database.run(lambda connection: count_rows(connection, book_id))
        lessons = len(await self.records.records(book_id, state.collection_name))
        return BookHoldings(book_id=book_id, title=state.title, lessons=lessons, chunks=state.total_chunks, **rows)

    async def state(self, book_id: str) -> IngestionState:
        if state := await self.records.book(book_id):
            return state
        raise NotFound(no_such_book(book_id, [state.book_id for state in await self.records.books()]))

    async def remove(self, book_id: str) -> BookHoldings:
        """Deletes the book for good: its chunks, its fit, its embeddings, its threads and its jobs."""
        held = await self.holdings(book_id)
        told = act("book removed", book_id, title=held.title, threads=held.threads, keys=held.keys)

        def remove(connection: Connection) -> None:
            delete_rows(connection, book_id)
            told.write(connection)

        await self._check_idle(book_id)
        await self._forget_embeddings(await self.state(book_id))
        async with self.records.catalog_lock():
            await self._check_idle(book_id)
            await self._clear(book_id)
            await self.database.run(remove)
        return held

    async def rename(self, old: str, new: str) -> IngestionState:
        """Gives the book another id. Chunk ids are made from the book's id, so every chunk gets a new one; nothing is embedded
        again."""
        told = act("book renamed", old, new_id=new)
        async with self.records.catalog_lock():
            state = await self._renamable(old, new)  # in here: another rename may have just taken either id
            renamed = replace(state, book_id=new)
            try:
                ids = await self._copy(state, new)

                def change(connection: Connection) -> None:
                    rename_rows(connection, old, new, ids)
                    told.write(connection)

                await self._serve(renamed, instead_of=old)
                await self.database.run(change)
            except Busy:  # a job has started meanwhile; what it changes is not in the copy
                await self._serve(state, instead_of=new)
                await self._clear(new)
                await self.records.release(new, state.collection_name)
                raise
            # For a turn that began while the first change was being made, which PostgreSQL does not show.
            await self.database.run(lambda connection: rename_rows(connection, old, new, ids))
            await self._clear(old)
        return renamed

    async def _check_idle(self, *book_ids: str) -> None:
        await self.database.run(lambda connection: check_idle(connection, *book_ids))

    async def _serve(self, state: IngestionState, *, instead_of: str) -> None:
        """Serves the book, with its fit, under the id that the state has."""
        manifest = manifest_of(state, await self.index.collections())
        fit = manifest.calibration.get(instead_of)
        serving = manifest.serving(state).without(instead_of)
        await self.index.save_manifest(state.collection_name, serving.fitted(state.book_id, fit) if fit else serving)

    async def _renamable(self, old: str, new: str) -> IngestionState:
        if not BOOK_ID.fullmatch(new):
            raise InvalidInput(
                f"'{new}' cannot be a book's id: it takes 1 to 100 of a-z, 0-9, '.', '_' and '-', a letter or digit first."
            )
        state = await self.state(old)
        if await self.records.book(new):
            raise InvalidInput(f"There is a book '{new}' already. Choose another id, or remove that one first.")
        await self._check_idle(old, new)
        return state

    async def _clear(self, book_id: str) -> None:
        """Removes the book from every collection, and drops collections that no other book uses."""
        for name, manifest in (await self.index.collections()).items():
            if book_id in manifest.books or book_id in manifest.calibration:
                await self.index.save_manifest(name, manifest.without(book_id))
            if await self.index.source_files(name, book_id):
                await self.index.remove_book(name, book_id)
            if not manifest.without(book_id).books and not await self.records.used_by_others(name, book_id):
                await self.index.drop(name)

    async def _forget_embeddings(self, state: IngestionState) -> None:
        """Deletes the book's embeddings from the cache. Another book with the same words has its own in the index."""
        collections = await self.index.collections()
        if state.collection_name not in collections:
            return
        embedder, keys = collections[state.collection_name].embedder, []
        async for held in self.index.scan(state.collection_name, Filters(book_id=state.book_id)):
            keys.append(cache_key(embedder, embedded_text(held.chunk)))
        await self.cache.forget(keys)

    async def _copy(self, state: IngestionState, new: str) -> NewIds:
        """Copies every lesson under the new id, beside the old one. Returns the new ids of chunks and lessons by the old."""
        old, collection = state.book_id, state.collection_name
        records = await self.records.records(old, collection)
        ids = _new_ids(records, [held async for held in self.index.scan(collection, Filters(book_id=old))], new)
        await self.records.reserve(new, collection)
        async for lessons in self._lessons(state):
            replacements = [Replacement(source_file=path, chunks=_copied(held, new, ids)) for path, held in lessons]
            await self.index.replace(collection, new, replacements)
        copied = [_record(record, new, ids) for record in records.values()]
        await self.records.save_records(new, collection, copied)
        return ids

    async def _lessons(self, state: IngestionState) -> AsyncIterator[list[tuple[str, list[IndexedChunk]]]]:
        """Whole lessons with their vectors, some at a time."""
        paths = sorted(await self.index.source_files(state.collection_name, state.book_id))
        for start in range(0, len(paths), LESSONS_AT_ONCE):
            lessons = []
            for path in paths[start : start + LESSONS_AT_ONCE]:
                filters = Filters(book_id=state.book_id, source_file=path)
                scanned = self.index.scan(state.collection_name, filters, with_vectors=True)
                lessons.append((path, [held async for held in scanned]))
            yield lessons


class NewIds(dict[str, str]):
    """The new ids of chunks and lessons by the old ones. What is missing was written after they were read."""

    def __missing__(self, old: str) -> str:
        raise Busy("A job has changed the book while it was being renamed. Rename it again when the job has ended.")


def _new_ids(records: dict[str, IngestionRecord], held: list[IndexedChunk], new: str) -> NewIds:
    """New ids by document D's formulas, as an ingestion under the new id would give them."""
    ids = NewIds()
    in_order = sorted((one.chunk for one in held), key=lambda chunk: (chunk.source_file, chunk.chunk_index))
    for path, chunks in groupby(in_order, key=lambda chunk: chunk.source_file):
        if (record := records.get(path)) is None:
            continue
        base, seen = record.id_base, dict[str, int]()
        for chunk in chunks:
            seen[chunk.content_hash] = seen.get(chunk.content_hash, 0) + 1
            ids[chunk.id] = chunk_id(new, base, chunk.content_hash, seen[chunk.content_hash])
            ids[chunk.parent_doc_id] = parent_id(new, base)
    return ids


def _copied(held: list[IndexedChunk], new: str, ids: NewIds) -> tuple[IndexedChunk, ...]:
    return tuple(replace(one, chunk=_chunk(one.chunk, new, ids)) for one in held)


def _chunk(chunk: Chunk, new: str, ids: NewIds) -> Chunk:
    return replace(
        chunk,
        id=ids[chunk.id],
        book_id=new,
        parent_doc_id=ids[chunk.parent_doc_id],
        prev_chunk_id=ids[chunk.prev_chunk_id] if chunk.prev_chunk_id else None,
        next_chunk_id=ids[chunk.next_chunk_id] if chunk.next_chunk_id else None,
    )


def _record(record: IngestionRecord, new: str, ids: NewIds) -> IngestionRecord:
    return replace(record, book_id=new, chunk_ids=tuple(ids[id] for id in record.chunk_ids))
