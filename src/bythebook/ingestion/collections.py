"""Which collection holds which book. A book is served from one; `recreate` fills another beside it and then switches."""

from __future__ import annotations

from bythebook.books.model import Book
from bythebook.embedding.embedder import Embedder
from bythebook.errors import StorageFailure
from bythebook.index.manifest import Manifest, wanted_manifest
from bythebook.index.state import IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.ingestion.progress import Mode
from bythebook.ingestion.records import Records


class BookCollections:
    def __init__(self, index: VectorIndex, records: Records, embedder: Embedder, *, collection_name: str) -> None:
        self._index = index
        self._records = records
        self._embedder = embedder
        self._collection_name = collection_name

    async def choose(self, book: Book, state: IngestionState | None, mode: Mode) -> str:
        """The collection this run writes to. It may not exist yet. The embedder is asked for its dimension only where the
        book may move: a vector that does not fit the collection it stays in is refused when it is written."""
        collections = await self._index.collections()
        if state and mode != "recreate":
            if state.collection_name in collections:
                collections[state.collection_name].require(self._embedder.name, book_id=book.book_id)
                return state.collection_name
            raise StorageFailure(
                f"The index of '{book.book_id}' (collection {state.collection_name}) is gone. "
                "Set QDRANT_COLLECTION_NAME back if it was changed, bring the index back from a backup, or build it anew: "
                "bythebook ingest FOLDER --mode recreate"
            )
        served, wanted = state.collection_name if state else None, await self._wanted()
        for name, manifest in sorted(collections.items()):
            if name != served and manifest.same_index(wanted):
                return name
        return self._free_name({*collections, served})

    async def prepare(self, book: Book, state: IngestionState | None, mode: Mode) -> str:
        """A collection made ready for a book that is not served from it: what an interrupted run left there goes."""
        async with self._records.catalog_lock():
            collection = await self.choose(book, state, mode)  # again: another worker may have just made one
            await self._records.reserve(book.book_id, collection)
            if collection in await self._index.collections():
                await self._index.remove_book(collection, book.book_id)
            else:
                await self._index.create(collection, await self._wanted())
            return collection

    async def serve(self, state: IngestionState, before: IngestionState | None) -> None:
        """From here on the book is served from `state.collection_name`, and nowhere else holds any of it."""
        async with self._records.catalog_lock():
            await self._serve(state, before)

    async def _serve(self, state: IngestionState, before: IngestionState | None) -> None:
        left = set(await self._records.leftover_collections(state.book_id, state.collection_name))
        if before and before.collection_name != state.collection_name:
            left.add(before.collection_name)
        there = await self._index.collections()
        await self._index.save_manifest(state.collection_name, there[state.collection_name].serving(state))
        await self._records.save_book(state)
        if self._collection_name not in there:
            await self._index.alias(self._collection_name, state.collection_name)
        for name in sorted(left):  # the reservation goes last: as long as it is there, a run that was killed is known of
            if name in there:
                await self._index.save_manifest(name, there[name].without(state.book_id))
                await self._index.remove_book(name, state.book_id)
                if not await self._records.used_by_others(name, state.book_id):
                    await self._index.drop(name)
                    if name == self._collection_name:
                        await self._index.alias(name, state.collection_name)
            await self._records.release(state.book_id, name)

    async def _wanted(self) -> Manifest:
        return wanted_manifest(self._embedder.name, await self._embedder.dimension())

    def _free_name(self, taken: set[str | None]) -> str:
        """The configured name is for the first collection of all. Later it may be an alias of the one that serves."""
        name, number = self._collection_name, 1
        while name in taken or (number == 1 and taken - {None}):
            number += 1
            name = f"{self._collection_name}_{number}"
        return name
