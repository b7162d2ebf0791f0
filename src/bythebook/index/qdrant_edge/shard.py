"""One collection of the embedded engine: a shard, its manifest and its journal in one folder, and a cache of what was read
recently. Blocking calls only; `qdrant_edge.index` runs them in threads."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from bythebook.errors import StorageFailure
from bythebook.index.lexical import Terms
from bythebook.index.manifest import Manifest
from bythebook.index.payload import INDEXES, Swap, check_dimension, decoding, swap
from bythebook.index.qdrant_edge.compaction import NEW, OLD, SHARD, Compaction
from bythebook.index.qdrant_edge.journal import read_journal, remove_whole, write_journal, write_whole
from bythebook.index.qdrant_edge.points import (
    POINTS_PER_PAGE,
    as_chunks,
    as_texts,
    condition,
    counts_deleted,
    find_candidates,
    find_idf,
    has_id,
    index_params,
    is_alone,
    is_any,
    is_value,
    point,
    read_chunks,
    read_count,
    read_lessons,
    read_page,
    read_texts,
    storage,
)
from bythebook.index.vectors import DENSE, LEXICAL, Candidate, ChunkText, Filters, IndexedChunk, Replacement

MANIFEST = "manifest.json"
JOURNAL = "journal"
POINTS_PER_WRITE = 256
FACET_LIMIT = 1_000_000

PLAIN_UP_TO = 5_000
"""Above this many points, `settle` compacts the shard: it makes int8 copies to scan, and indexes that need not be read when the
shard is opened."""

COUNTS_KEPT = 256
TERMS_KEPT = 16_384
TEXTS_KEPT = 131_072
CHUNKS_KEPT = 16_384
"""Every search reads forty texts and shows ten chunks. Full, the caches take some 200 and 60 MB; for a book of 200 chunks less
than one."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class EdgeShard:
    """One open collection. All reading methods may run in parallel; a write waits for them, and they wait for it."""

    def __init__(self, folder: Path, manifest: Manifest, shard: edge.EdgeShard) -> None:
        self.folder = folder
        self.manifest = manifest
        self._shard = shard
        self._turns = ReadWriteLock()
        # Held for longer than a turn: a shard must not change while it is compacted.
        self._writers = threading.Lock()
        self._compaction: Compaction | None = None
        self._closing = False
        self._written = False
        self.recent = ReadCache()
        self._reads_ahead = False
        self._unfinished = (folder / JOURNAL).exists()

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> EdgeShard:
        """Makes a collection. The manifest is written last: a folder without one was not finished."""
        with storage(folder):
            (folder / SHARD).mkdir(parents=True)
            shard = edge.EdgeShard.create(str(folder / SHARD), _config(manifest.dimension))
            for name, index in INDEXES.items():
                shard.update(edge.UpdateOperation.create_field_index(name, index_params(index)))
            shard.flush()
            write_whole(folder / MANIFEST, manifest.to_json())
        return cls(folder, manifest, shard)

    @classmethod
    def open(cls, folder: Path) -> EdgeShard:
        manifest = read_manifest(folder)
        with storage(folder):
            recover(folder)
            shard = _load(folder, manifest)
        opened = cls(folder, manifest, shard)
        try:
            opened._finish()
        except StorageFailure:
            shard.close()
            raise
        return opened

    def save_manifest(self, manifest: Manifest) -> None:
        with self._turns.writing(), storage(self.folder):
            write_whole(self.folder / MANIFEST, manifest.to_json())
            self.manifest = manifest

    def replace(self, book_id: str, replacements: Sequence[Replacement]) -> None:
        planned = swap(book_id, replacements, dimension=self.manifest.dimension)
        points = [point(stored) for stored in planned.points]  # what the engine cannot take must not reach the journal
        self._finish()
        with self._writers, self._turns.writing(), storage(self.folder):
            write_journal(self.folder / JOURNAL, planned)
            self._unfinished = True
            self._apply(planned, points)

    def remove_book(self, book_id: str) -> None:
        self._finish()
        with self._writers, self._turns.writing(), storage(self.folder):
            self.recent.clear()
            everything = edge.Filter(must=[is_value("book_id", book_id)])
            self._shard.update(edge.UpdateOperation.delete_points_by_filter(everything))

    def candidates(
        self, *, embedding: NDArray[np.float32] | None, terms: Terms | None, filters: Filters, depth: int, exact: bool
    ) -> list[Candidate]:
        if embedding is not None:
            check_dimension(embedding, self.manifest.dimension, filters.book_id)
        with self._reading():
            return find_candidates(
                self._shard,
                embedding=embedding,
                terms=terms,
                filters=filters,
                alone=self._is_alone(filters.book_id),
                corpus=self._corpus(filters.book_id, terms.ids if terms else ()),
                depth=depth,
                exact=exact,
            )

    def chunks(self, ids: Sequence[str], *, with_vectors: bool) -> list[IndexedChunk]:
        """Chunks of any book, as with `texts`: the caller keeps to its own."""
        with self._reading():
            if with_vectors:
                found = read_chunks(self._shard, ids, with_vectors=True)
                return [found[name] for name in ids if name in found]
            return self.recent.chunks.read(ids, lambda missing: read_chunks(self._shard, missing))

    def texts(self, ids: Sequence[str]) -> list[ChunkText]:
        with self._reading():
            return self.recent.texts.read(ids, lambda missing: read_texts(self._shard, missing))

    def read_ahead(self) -> None:
        """Reads as many texts and chunks into memory as there is room for. Reads page by page, so that a writer need not wait for
        all."""
        self._reads_ahead = True
        offset = None
        for number in range(TEXTS_KEPT // POINTS_PER_PAGE):
            if self._closing:
                return
            whole = number < CHUNKS_KEPT // POINTS_PER_PAGE
            with self._reading():
                page, offset = read_page(self._shard, offset, whole=whole)
                self.recent.texts.keep(as_texts(page))
                if whole:
                    self.recent.chunks.keep(as_chunks(page))
            if offset is None:
                return

    def lessons(self, filters: Filters, source_files: Sequence[str], *, with_vectors: bool) -> list[IndexedChunk]:
        """All chunks of some lessons that pass the filters, in order. Each lesson as it stood at one moment."""
        with self._reading():
            found = list(read_lessons(self._shard, filters, source_files, with_vectors=with_vectors))
        return sorted(found, key=lambda indexed: (indexed.chunk.source_file, indexed.chunk.chunk_index))

    def count(self, filters: Filters) -> int:
        """Cached until the next write: readers ask for the same few counts, and counting 100,000 chunks takes 14 ms."""
        with self._reading():
            return self.recent.counts.read([filters], lambda missing: {one: read_count(self._shard, one) for one in missing})[0]

    def idf(self, book_id: str, terms: Sequence[int]) -> list[float]:
        """The IDF of each term, cached until the next write; 0 where no chunk of the book has it."""
        with self._reading():
            return self.recent.idf.read(
                [(book_id, term) for term in terms],
                lambda missing: self._idf(book_id, [term for _, term in missing]),
            )

    def source_files(self, filters: Filters) -> dict[str, int]:
        with self._reading():
            hits = self._shard.facet(
                edge.FacetRequest(key="source_file", limit=FACET_LIMIT, exact=True, filter=condition(filters))
            ).hits
        return {str(hit.value): hit.count for hit in sorted(hits, key=lambda hit: str(hit.value))}

    def settle(self) -> None:
        self._compact()
        if self._reads_ahead:
            self.read_ahead()

    def copy_files(self, keep: Callable[[Path], None]) -> None:
        """Hands over every file that makes up the collection, the manifest last. Readers go on meanwhile, writers wait."""
        self._finish()
        with self._writers, storage(self.folder):
            self._shard.flush()
            for file in sorted(path for path in (self.folder / SHARD).rglob("*") if path.is_file()):
                keep(file)
            keep(self.folder / MANIFEST)

    def close(self) -> None:
        self._closing = True
        if self._compaction is not None:
            self._compaction.stop()
        with self._writers, self._turns.writing(), storage(self.folder):
            self._shard.close()

    def _is_alone(self, book_id: str) -> bool:
        return self.recent.alone.read([book_id], lambda books: {one: is_alone(self._shard, one) for one in books})[0]

    def _corpus(self, book_id: str, terms: Sequence[int]) -> edge.Filter | None:
        """The chunks that the engine counts terms in; None where it may count everything it has."""
        if not self._is_alone(book_id):
            return edge.Filter(must=[is_value("book_id", book_id)])
        whole = self.recent.whole.read([book_id], lambda books: self._whole(books, terms)) if terms else None
        return None if whole == [True] else edge.Filter(must=[])

    def _whole(self, books: Sequence[str], terms: Sequence[int]) -> dict[str, bool]:
        deleted = counts_deleted(self._shard, terms)
        return {} if deleted is None else dict.fromkeys(books, not deleted)

    def _idf(self, book_id: str, terms: Sequence[int]) -> dict[tuple[str, int], float]:
        alone, corpus = self._is_alone(book_id), self._corpus(book_id, terms)
        found = find_idf(self._shard, book_id, terms, alone=alone, corpus=corpus)
        return {(book_id, term): idf for term, idf in found.items()}

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._finish()
        with self._turns.reading(), storage(self.folder):
            yield

    def _compact(self) -> None:
        """Compacts the shard. Readers go on meanwhile, writers wait."""
        self._finish()
        with self._writers, storage(self.folder):
            self._shard.flush()
            if self._closing or not self._written or self._shard.info().points_count <= PLAIN_UP_TO:
                return
            self._written = False
            self._compaction = Compaction(self.folder)
            if self._compaction.done():
                with self._turns.writing():
                    self._shard.close()
                    self._compaction.swap_in()
                    self._shard = _load(self.folder, self.manifest)

    def _finish(self) -> None:
        """Repeats what a journal says was begun: by a process that died, or by this one when the disk was full."""
        if not self._unfinished:
            return
        with self._writers, self._turns.writing(), storage(self.folder):
            if self._unfinished:
                planned = read_journal(self.folder / JOURNAL)
                self._apply(planned, [point(stored) for stored in planned.points])

    def _apply(self, planned: Swap, points: Sequence[edge.Point]) -> None:
        """Writes new points first. A chunk that moved to another lesson keeps its id, and has its new place by the time that the
        rest of the old lesson is deleted."""
        self.recent.clear()
        self._written = True
        for start in range(0, len(points), POINTS_PER_WRITE):
            self._shard.update(edge.UpdateOperation.upsert_points(list(points[start : start + POINTS_PER_WRITE])))
        leftovers = edge.Filter(
            must=[is_value("book_id", planned.book_id), is_any("source_file", planned.source_files)],
            must_not=[has_id(stored.id for stored in planned.points)],
        )
        self._shard.update(edge.UpdateOperation.delete_points_by_filter(leftovers))
        remove_whole(self.folder / JOURNAL)
        self._unfinished = False


def read_manifest(folder: Path) -> Manifest:
    with storage(folder), decoding(MANIFEST):  # it may also be the manifest of another version
        return Manifest.from_json((folder / MANIFEST).read_text(encoding="utf-8"), folder)


def recover(folder: Path) -> None:
    """Repairs what a process left behind that died during compaction."""
    if (folder / OLD).exists() and not (folder / SHARD).exists():
        (folder / OLD).rename(folder / SHARD)
    for leftover in (*folder.glob(OLD), *folder.glob(f"{NEW}*")):
        shutil.rmtree(leftover)


def _load(folder: Path, manifest: Manifest) -> edge.EdgeShard:
    return edge.EdgeShard.load(str(folder / SHARD), _config(manifest.dimension))


def _config(dimension: int) -> edge.EdgeConfig:
    """No graph (m=0): a filter by book leaves few enough points to score them all. Measured with 100,000 made-up vectors in
    clusters, scanning int8 took 8 ms and lost nothing after rescoring; a graph of 8 links took 1 ms, and lost up to half
    of the true best for questions outside the clusters."""
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
        sparse_vectors={LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=edge.Memory.Cold)},
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=16, full_scan_threshold=10_000),
        quantization_config=edge.ScalarQuantizationConfig(edge.ScalarType.Int8, quantile=0.99, memory=edge.Memory.Cached),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=1, indexing_threshold=max(1, PLAIN_UP_TO * dimension * 4 // 1024)
        ),
        wal_enabled=True,
    )


class BoundedCache(Generic[Key, Value]):
    """A cache for any number of threads. When it is full, the oldest entry is removed first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Key, Value] = {}
        self._changing = threading.Lock()

    def all(self, keys: Sequence[Key]) -> list[Value] | None:
        """The values of all `keys`, or None if one is not known."""
        found = [value for key in keys if (value := self._values.get(key)) is not None]
        return found if len(found) == len(keys) else None

    def read(self, keys: Sequence[Key], read: Callable[[list[Key]], Mapping[Key, Value]]) -> list[Value]:
        """The values of `keys`, in their order. `read` is called for those that are not cached, and leaves out those that do not
        exist."""
        found = self._known(keys)
        if missing := [key for key in keys if key not in found]:
            fresh = read(missing)
            self.keep(fresh)
            found |= fresh
        return [found[key] for key in keys if key in found]

    def keep(self, fresh: Mapping[Key, Value]) -> None:
        with self._changing:
            self._values.update(fresh)
            for key in list(itertools.islice(self._values, max(0, len(self._values) - self._most))):
                del self._values[key]

    def clear(self) -> None:
        with self._changing:
            self._values.clear()

    def _known(self, keys: Sequence[Key]) -> dict[Key, Value]:
        return {key: value for key in keys if (value := self._values.get(key)) is not None}


class ReadCache:
    """What readers of one collection need again and again. A write clears it."""

    def __init__(self) -> None:
        self.alone: BoundedCache[str, bool] = BoundedCache(COUNTS_KEPT)
        """By the book's id: whether the collection holds no other book."""
        self.whole: BoundedCache[str, bool] = BoundedCache(COUNTS_KEPT)
        """By the book's id: whether the collection holds no deleted points, either."""
        self.counts: BoundedCache[Filters, int] = BoundedCache(COUNTS_KEPT)
        self.idf: BoundedCache[tuple[str, int], float] = BoundedCache(TERMS_KEPT)
        """By the book's id and the term; 0 for a term that no chunk of it has."""
        self.texts: BoundedCache[str, ChunkText] = BoundedCache(TEXTS_KEPT)
        self.chunks: BoundedCache[str, IndexedChunk] = BoundedCache(CHUNKS_KEPT)

    def clear(self) -> None:
        self.alone.clear()
        self.whole.clear()
        self.counts.clear()
        self.idf.clear()
        self.texts.clear()
        self.chunks.clear()


class ReadWriteLock:
    """Lets many threads read, or one thread write. A waiting writer goes before later readers, so that it is never starved."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writers_waiting = 0
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._writing and not self._writers_waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._changed:
            self._writers_waiting += 1
            self._changed.wait_for(lambda: not self._writing and not self._readers)
            self._writers_waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
