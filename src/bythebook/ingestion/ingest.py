"""Ingestion: the index made to say what the book says, lesson by lesson, each wholly old or wholly new at any moment.

The order is what makes it safe. A lesson is parsed and embedded first, then replaced in the index in one step, then
recorded. Before it is replaced its record is doubted, so that, killed in between, it is done again: whatever the author
does to the file meanwhile, and at the cost of a look-up, for its embeddings are known.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bythebook.books.chunker import embedded_text
from bythebook.books.model import Book, Chunk
from bythebook.books.sandbox import Sandbox
from bythebook.embedding.batches import Batches
from bythebook.embedding.cache import EmbeddingCache, cache_key
from bythebook.embedding.embedder import Embedder
from bythebook.embedding.parallel import Spread
from bythebook.errors import InvalidBook, StorageFailure
from bythebook.index.lexical import document_terms
from bythebook.index.state import NO_CONSENT, Consent, IngestionRecord, IngestionState
from bythebook.index.vectors import Filters, IndexedChunk, Replacement, VectorIndex
from bythebook.ingestion.collections import BookCollections
from bythebook.ingestion.identity import check_removal, identify
from bythebook.ingestion.parser import Parsed, Parser, record_of
from bythebook.ingestion.plan import Plan, PlannedLesson, make_plan
from bythebook.ingestion.progress import Filled, IngestionEvent, Mode, Planned, Tally
from bythebook.ingestion.records import Records

WINDOW_CHUNKS = 256
"""Chunks parsed ahead of the embedder: enough to sort them by length, few enough to forget."""


class Ingestion:
    """Keeps books and index in step."""

    def __init__(
        self,
        *,
        index: VectorIndex,
        records: Records,
        cache: EmbeddingCache,
        embedder: Embedder,
        collection_name: str,
        max_file_bytes: int = 10_000_000,
        folder: Path | None = None,
        spread: Spread | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        """`folder`: where the index lies, when it is on this machine. `spread`: who parses and embeds, when others do.
        `sandbox`: the child process that reads lessons; without one they are read here."""
        self._spread = spread
        self._sandbox = sandbox
        self._slots = spread.slots if spread else 1
        self._index = index
        self._records = records
        self._cache = cache
        self._embedder = embedder
        self._batches = Batches(embedder=embedder, cache=cache)
        self._shelf = BookCollections(index, records, embedder, collection_name=collection_name)
        self._max_file_bytes = max_file_bytes
        self._folder = folder

    async def run(
        self,
        root: Path,
        *,
        book_id: str | None = None,
        mode: Mode = "incremental",
        dry_run: bool = False,
        consent: Consent = NO_CONSENT,
    ) -> AsyncIterator[IngestionEvent]:
        """Planned, then Advanced as it goes, Filled where the book is about to move, then the Report."""
        started, tally = datetime.now(UTC), Tally()
        identified = await identify(self._records, root, book_id=book_id, consent=consent)
        book, state = identified.book, identified.state
        collection = await self._shelf.choose(book, state, mode)
        fresh = mode == "recreate" or state is None
        known = {} if fresh else await self._records.records(book.book_id, collection)
        plan = await asyncio.to_thread(
            make_plan,
            root,
            book,
            known,
            book_warnings=identified.warnings,
            limit_bytes=self._max_file_bytes,
            sandbox=self._sandbox,
        )
        if not plan.pages:
            raise InvalidBook(f"No lesson in {root} can be read, so nothing was changed. The first: {plan.failures[0].reason}")
        if not dry_run:
            if state and not consent.remove:
                before = known or await self._records.records(book.book_id, state.collection_name)
                check_removal(book, before, plan.pages, plan.kept)
            if fresh:
                require_room(self._folder, TO_CREATE)
                collection = await self._shelf.prepare(book, state, mode)
            plan = await self._healed(plan, collection, known)
        work = plan.changed() if mode == "incremental" else list(plan.pages)
        tally.failures.extend(plan.failures)
        tally.warnings.extend(plan.warnings)
        yield Planned(plan=plan, mode=mode, files_total=len(work), bytes_total=sum(page.size for page in work))
        if dry_run:
            await self._rehearse(root, plan, work, known, tally)
        else:
            async for _ in self._carry_out(root, plan, work, known, collection, tally):
                yield tally.advanced()
            serving = await self._serving(book, state, collection, root, mode)
            if state is None or state.collection_name != collection:
                yield Filled(state=serving)
            await self._shelf.serve(serving, state)
        total = 0 if dry_run else await self._index.count(collection, Filters(book_id=book.book_id))
        yield tally.report(plan, mode, collection, dry_run=dry_run, total_chunks=total, started=started)

    def _parser(self, root: Path, plan: Plan) -> Parser:
        return Parser(root=root, book=plan.book, limit_bytes=self._max_file_bytes, spread=self._spread, sandbox=self._sandbox)

    async def _healed(self, plan: Plan, collection: str, known: Mapping[str, IngestionRecord]) -> Plan:
        """A run that was killed between index and record leaves them apart. Where they disagree, the lesson is done again."""
        held = await self._index.source_files(collection, plan.book.book_id)
        on_disk = {page.path for page in plan.pages}
        apart = {path for path in on_disk if path in known and held.get(path, 0) != known[path].chunk_count}
        orphans = {path for path in held if path not in on_disk and path not in plan.kept}
        return replace(
            plan,
            modified=tuple(sorted({*plan.modified, *(apart - set(plan.new))})),
            deleted=tuple(sorted({*plan.deleted, *orphans})),
        )

    async def _carry_out(
        self,
        root: Path,
        plan: Plan,
        work: Sequence[PlannedLesson],
        known: Mapping[str, IngestionRecord],
        collection: str,
        tally: Tally,
    ) -> AsyncIterator[None]:
        """Lessons whose ids came from or go to another lesson are swapped in one step, together with those that go."""
        parser = self._parser(root, plan)
        bases = {record.id_base: path for path, record in known.items()}
        moved = [page for page in work if bases.get(page.id_base, page.path) != page.path]
        moved += [page for page in work if page.path in known and known[page.path].id_base != page.id_base and page not in moved]
        gone = plan.deleted
        if moved or gone:
            lessons = await asyncio.to_thread(parser.parse, moved, tally)
            async for _ in self._swap(plan.book, collection, lessons, known, tally, gone=gone):
                yield
        rest = iter([page for page in work if page not in moved] if moved else work)
        while window := await asyncio.to_thread(parser.window, rest, tally, chunks=WINDOW_CHUNKS * self._slots):
            async for _ in self._swap(plan.book, collection, window, known, tally):
                yield

    async def _swap(
        self,
        book: Book,
        collection: str,
        parsed: Sequence[Parsed],
        known: Mapping[str, IngestionRecord],
        tally: Tally,
        *,
        gone: Sequence[str] = (),
    ) -> AsyncIterator[None]:
        """Embed what is not known, replace the lessons in the index, record them."""
        texts = {chunk.id: embedded_text(chunk) for _, lesson in parsed for chunk in lesson.chunks}
        keys = {id: cache_key(self._embedder.name, text) for id, text in texts.items()}
        vectors = await self._cache.get(list(dict.fromkeys(keys.values())))
        missing = {keys[id]: text for id, text in texts.items() if keys[id] not in vectors}
        before, size, known_already = tally.bytes, sum(page.size for page, _ in parsed), len(vectors)
        tally.lesson, tally.left = parsed[0][0].path if parsed else None, len(missing)
        yield
        async with aclosing(self._batches.embed(missing)) as batches:
            async for embedded in batches:
                vectors.update(embedded)
                tally.embedded += len(embedded)
                tally.left -= len(embedded)
                tally.bytes = before + size * (len(vectors) - known_already) // (len(missing) + 1)
                yield
        now = datetime.now(UTC)
        old = {held.chunk.id: held for held in await self._index.chunks(collection, book.book_id, list(texts))}
        replacements = [Replacement(source_file=path, chunks=()) for path in gone]
        for _, lesson in parsed:
            chunks = tuple(
                self._indexed(
                    chunk, texts[chunk.id], vectors[keys[chunk.id]], old.get(chunk.id), book, now, keys[chunk.id] in missing
                )
                for chunk in lesson.chunks
            )
            replacements.append(Replacement(source_file=lesson.source_file, chunks=chunks))
        require_room(self._folder, TO_GROW)
        await self._records.invalidate(book.book_id, collection, (replacement.source_file for replacement in replacements))
        await self._index.replace(collection, book.book_id, replacements)
        await self._records.save_records(book.book_id, collection, [record_of(book, one, now) for one in parsed], gone=gone)
        tally.count(parsed, gone, known)
        tally.bytes = before + size
        yield

    def _indexed(
        self,
        chunk: Chunk,
        text: str,
        vector: NDArray[np.float32],
        old: IndexedChunk | None,
        book: Book,
        now: datetime,
        embedded_now: bool,
    ) -> IndexedChunk:
        """A chunk that says what it said keeps its version and times; one that only moved gets the next version."""
        same = old is not None and old.chunk == chunk and old.embedding_model == self._embedder.name
        return IndexedChunk(
            chunk=chunk,
            version=1 if old is None else old.version + (not same),
            created_at=old.created_at if old else now,
            updated_at=old.updated_at if old and same else now,
            embedding_model=self._embedder.name,
            embedded_at=old.embedded_at if old and not embedded_now else now,
            embedding=vector,
            terms=document_terms(text, book.language),
        )

    async def _rehearse(
        self, root: Path, plan: Plan, work: Sequence[PlannedLesson], known: Mapping[str, IngestionRecord], tally: Tally
    ) -> None:
        """A dry run: everything but the embedding and the writing."""
        parser, pages = self._parser(root, plan), iter(work)
        tally.count((), plan.deleted, known)
        while window := await asyncio.to_thread(parser.window, pages, tally, chunks=WINDOW_CHUNKS):
            keys = {cache_key(self._embedder.name, embedded_text(chunk)) for _, lesson in window for chunk in lesson.chunks}
            tally.embedded += len(keys) - len(await self._cache.get(sorted(keys)))
            tally.count(window, (), known)

    async def _serving(self, book: Book, state: IngestionState | None, collection: str, root: Path, mode: Mode) -> IngestionState:
        """The book as it will be served from where this run wrote."""
        await self._index.settle(collection)
        now = datetime.now(UTC)
        full = mode != "incremental" or state is None
        return IngestionState(
            book_id=book.book_id,
            title=book.title,
            language=book.language,
            collection_name=collection,
            source_root=str(await asyncio.to_thread(root.resolve)),
            total_chunks=await self._index.count(collection, Filters(book_id=book.book_id)),
            last_full_ingest=now if full or state is None else state.last_full_ingest,
            last_incremental_update=(state.last_incremental_update if state else None) if full else now,
        )


TO_CREATE = 320_000_000
"""A new collection maps 250 MB."""
TO_GROW = 100_000_000
"""A batch of lessons, its journal, and the two files of 32 MB by which the engine grows."""


def require_room(folder: Path | None, needed: int) -> None:
    """`folder`: where the index lies; None where it is a server's affair."""
    if folder is None:
        return
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageFailure(
            f"The data folder {folder} cannot be read ({error.strerror}). Check that its disk is there."
        ) from error
    if free < needed:
        raise StorageFailure(
            f"The disk that holds {folder} is full, or nearly: {free // 1_000_000:,} MB are left, and the index may grow by "
            f"{needed // 1_000_000:,} MB. Free some space and run the same command again."
        )
