"""Ingestion: makes the index say what the book says, lesson by lesson. At any moment each lesson is wholly old or wholly new.

The order makes it safe. A lesson is parsed and embedded first, then replaced in the index in one step, then recorded. Its record
is invalidated before it is replaced, so that a run that is killed in between is repeated for this lesson, whatever the author
does to the file meanwhile. That costs a look-up only: its embeddings are in the cache.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bythebook.books.chunker import embedded_text
from bythebook.books.model import Book, Chunk
from bythebook.books.sandbox import Sandbox
from bythebook.embedding.batches import Batches, EmbeddingCache, cache_key
from bythebook.embedding.embedder import Embedder
from bythebook.embedding.parallel import Spread
from bythebook.errors import InvalidBook, StorageFailure
from bythebook.index.lexical import document_terms
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import Filters, IndexedChunk, Replacement, VectorIndex
from bythebook.ingestion.parser import Parsed, Parser, record_of
from bythebook.ingestion.plan import Plan, PlannedTexts, check_removal, identify, make_plan
from bythebook.ingestion.progress import IngestionRun, IngestReport, Tally, Tell, nobody
from bythebook.ingestion.readings import ReadingStore
from bythebook.ingestion.records import BookCollections, Records
from bythebook.ingestion.request import DEFAULT_REQUEST, IngestionRequest

WINDOW_CHUNKS = 256
"""Chunks parsed ahead of the embedder: enough to sort them by length, few enough to keep in memory."""


class Ingestion:
    """Brings the index up to date with a book on disk. Use `Publisher` to calibrate the book as well."""

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
        readings: Path | None = None,
    ) -> None:
        """`folder`: where the index lies, when it is on this machine. `spread`: the executor whose workers parse and embed, if
        there is one. `sandbox`: the child process that reads lessons; without one they are read in this process. `readings`:
        where the readings of formats other than Markdown are kept."""
        self._spread = spread
        self._sandbox = sandbox
        self._store = ReadingStore(readings)
        self._slots = spread.slots if spread else 1
        self._index = index
        self._records = records
        self._cache = cache
        self._embedder = embedder
        self._batches = Batches(embedder=embedder, cache=cache)
        self._shelf = BookCollections(index, records, embedder, collection_name=collection_name)
        self._max_file_bytes = max_file_bytes
        self._folder = folder
        self.swaps = asyncio.Lock()
        """Held while the index and the records of some lessons do not agree."""

    async def run(
        self,
        root: Path,
        request: IngestionRequest = DEFAULT_REQUEST,
        *,
        tell: Tell = nobody,
    ) -> IngestReport:
        """Runs all steps in order. Tells Planned, then Advanced as it goes."""
        run = await self.plan(root, request)
        await tell(run.planned)
        if request.dry_run:
            return await self.rehearse(run)
        return await self.serve(run, await self.write(run, tell))

    async def plan(self, root: Path, request: IngestionRequest) -> IngestionRun:
        """Finds out what there is to do. Prepares the collection of a book that is new or moves to another collection."""
        started, texts = datetime.now(UTC), PlannedTexts()
        identified = await identify(self._records, root, request)
        book, state = identified.book, identified.state
        collection = await self._shelf.choose(book, state, request.mode)
        fresh = request.mode == "recreate" or state is None
        known = {} if fresh else await self._records.records(book.book_id, collection)
        plan = await asyncio.to_thread(
            make_plan,
            root,
            book,
            known,
            book_warnings=identified.warnings,
            limit_bytes=self._max_file_bytes,
            sandbox=self._sandbox,
            texts=texts,
            store=self._store,
            site=identified.site,
        )
        if not plan.pages:
            why = f"The first: {plan.failures[0].reason}" if plan.failures else "No file in it holds the text of a book."
            raise InvalidBook(f"No lesson in {root} can be read, so nothing was changed. {why}")
        if not request.dry_run:
            if state and not request.consent.remove:
                before = known or await self._records.records(book.book_id, state.collection_name)
                check_removal(book, before, plan.pages, plan.kept)
            if fresh:
                require_room(self._folder, TO_CREATE)
                collection = await self._shelf.prepare(book, state, request.mode)
            plan = await self._healed(plan, collection, known)
        return IngestionRun(
            root=root,
            mode=request.mode,
            plan=plan,
            texts=texts,
            known=known,
            before=state,
            collection=collection,
            started_at=started,
            options=identified.options,
            tally=Tally(failures=[*plan.failures], warnings=[*plan.warnings]),
        )

    async def write(self, run: IngestionRun, tell: Tell) -> IngestionState:
        """Writes the lessons into the index, and returns the state under which the book is to be served from there."""
        await self._carry_out(run, tell)
        await self._reorder(run)
        await self._index.settle(run.collection)
        book, before, now = run.plan.book, run.before, datetime.now(UTC)
        full = run.mode != "incremental" or before is None
        return IngestionState(
            book_id=book.book_id,
            title=book.title,
            language=book.language,
            collection_name=run.collection,
            source_root=str(await asyncio.to_thread(run.root.resolve)),
            total_chunks=await self._index.count(run.collection, Filters(book_id=book.book_id)),
            last_full_ingest=now if full or before is None else before.last_full_ingest,
            last_incremental_update=(before.last_incremental_update if before else None) if full else now,
            options=run.options,
        )

    async def serve(self, run: IngestionRun, state: IngestionState) -> IngestReport:
        """Serves the book from what was written."""
        await self._shelf.serve(state, run.before)
        return run.report(total_chunks=state.total_chunks)

    async def rehearse(self, run: IngestionRun) -> IngestReport:
        """A dry run: everything except embedding and writing."""
        parser, pages, tally = self._parser(run), iter(run.work), run.tally
        tally.count((), run.plan.deleted, run.known)
        while window := await asyncio.to_thread(parser.window, pages, tally, chunks=WINDOW_CHUNKS):
            keys = {cache_key(self._embedder.name, embedded_text(chunk)) for _, lesson in window for chunk in lesson.chunks}
            tally.embedded += len(keys) - len(await self._cache.get(sorted(keys)))
            tally.count(window, (), run.known)
        return run.report(total_chunks=0, dry_run=True)

    def _parser(self, run: IngestionRun) -> Parser:
        return Parser(
            root=run.root,
            book=run.plan.book,
            limit_bytes=self._max_file_bytes,
            spread=self._spread,
            sandbox=self._sandbox,
            texts=run.texts,
            store=self._store,
        )

    async def _healed(self, plan: Plan, collection: str, known: Mapping[str, IngestionRecord]) -> Plan:
        """Adds lessons whose index and record disagree, which a run that was killed between the two leaves behind: they are done
        again."""
        held = await self._index.source_files(collection, plan.book.book_id)
        on_disk = {page.path for page in plan.pages}
        apart = {path for path in on_disk if path in known and held.get(path, 0) != known[path].chunk_count}
        orphans = {path for path in held if path not in on_disk and path not in plan.kept}
        return replace(
            plan,
            modified=tuple(sorted({*plan.modified, *(apart - set(plan.new))})),
            deleted=tuple(sorted({*plan.deleted, *orphans})),
        )

    async def _carry_out(self, run: IngestionRun, tell: Tell) -> None:
        """Writes the changed lessons. Lessons that take over ids of others, or give theirs away, are swapped in one step,
        together with those that are removed."""
        parser, work, known, tally = self._parser(run), run.work, run.known, run.tally
        bases = {record.id_base: path for path, record in known.items()}
        moved = [page for page in work if bases.get(page.id_base, page.path) != page.path]
        moved += [page for page in work if page.path in known and known[page.path].id_base != page.id_base and page not in moved]
        if moved or run.plan.deleted:
            lessons = await asyncio.to_thread(parser.parse, moved, tally)
            await self._swap(run, lessons, tell, gone=run.plan.deleted)
        rest = iter([page for page in work if page not in moved] if moved else work)
        while window := await asyncio.to_thread(parser.window, rest, tally, chunks=WINDOW_CHUNKS * self._slots):
            await self._swap(run, window, tell)

    async def _reorder(self, run: IngestionRun) -> None:
        """Saves the order of lessons that did not change, for they may have another place in the book now, and what read them."""
        book_id, work = run.plan.book.book_id, {page.path for page in run.work}
        stay = [(page, run.known[page.path]) for page in run.plan.pages if page.path not in work and page.path in run.known]
        now = [(record, replace(record, order=page.order, read_by=page.read_by)) for page, record in stay]
        if changed := [record for before, record in now if before != record]:
            await self._records.save_records(book_id, run.collection, changed)

    async def _swap(self, run: IngestionRun, parsed: Sequence[Parsed], tell: Tell, *, gone: Sequence[str] = ()) -> None:
        """Embeds what the cache does not have, replaces the lessons in the index, and records them."""
        book, collection, tally = run.plan.book, run.collection, run.tally
        texts = {chunk.id: embedded_text(chunk) for _, lesson in parsed for chunk in lesson.chunks}
        keys = {id: cache_key(self._embedder.name, text) for id, text in texts.items()}
        vectors = await self._cache.get(list(dict.fromkeys(keys.values())))
        missing = {keys[id]: text for id, text in texts.items() if keys[id] not in vectors}
        before, size, known_already = tally.bytes, sum(page.size for page, _ in parsed), len(vectors)
        tally.lesson, tally.left = parsed[0][0].path if parsed else None, len(missing)
        await tell(tally.advanced())
        async with aclosing(self._batches.embed(missing)) as batches:
            async for embedded in batches:
                vectors.update(embedded)
                tally.embedded += len(embedded)
                tally.left -= len(embedded)
                tally.bytes = before + size * (len(vectors) - known_already) // (len(missing) + 1)
                await tell(tally.advanced())
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
        async with self.swaps:
            await self._records.invalidate(book.book_id, collection, (replacement.source_file for replacement in replacements))
            await self._index.replace(collection, book.book_id, replacements)
            await self._records.save_records(book.book_id, collection, [record_of(book, one, now) for one in parsed], gone=gone)
        tally.count(parsed, gone, run.known)
        tally.bytes = before + size
        await tell(tally.advanced())

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
        """A chunk that did not change keeps its version and times; one whose place or metadata changed gets the next version."""
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


TO_CREATE = 320_000_000
"""Free disk space needed to create a collection: it maps files of 250 MB into memory."""
TO_GROW = 100_000_000
"""Free disk space needed to write: a batch of lessons, its journal, and the two files of 32 MB by which the engine grows."""


def require_room(folder: Path | None, needed: int) -> None:
    """Raises StorageFailure where the disk is too full to go on. `folder`: where the index lies; None where a server holds it."""
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
