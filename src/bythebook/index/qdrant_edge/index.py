"""The vector index inside the process: a folder with one folder for each collection, held by one process at a time. Where it
cannot be written, as on a read-only volume, a copy of it is opened, because the engine writes to whatever it opens."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from bythebook.errors import InvalidInput, Locked, NotFound, StorageFailure
from bythebook.index.lexical import Terms
from bythebook.index.manifest import Manifest
from bythebook.index.payload import check_name, pages
from bythebook.index.qdrant_edge.points import storage
from bythebook.index.qdrant_edge.shard import MANIFEST, EdgeShard, ReadCache, read_manifest
from bythebook.index.vectors import Candidate, ChunkText, Filters, IndexedChunk, Replacement

LOCK = "lock"
OWNER = "lock.pid"  # beside the lock, because some systems do not let anybody read a locked file
DROPPED = ".dropped-"
Stamps = tuple[int, tuple[tuple[str, int, int], ...]]


class EdgeIndex:
    """A `VectorIndex` in this process. Open it with `EdgeIndex.open`, and close it: other processes wait for the folder."""

    def __init__(self, folder: Path, lock: FileLock, snapshot: TemporaryDirectory[str] | None = None) -> None:
        """`snapshot`: the temporary folder with the copy, where the index itself cannot be written; it is removed when the index
        is closed."""
        self._folder = folder
        self._snapshot = snapshot
        self._lock = lock
        self._shards: dict[str, EdgeShard] = {}
        self._opening = threading.Lock()
        self._changes = 0
        self._seen: tuple[Stamps, dict[str, Manifest]] = ((-1, ()), {})

    @classmethod
    async def open(cls, folder: Path) -> EdgeIndex:
        return await asyncio.to_thread(cls._open, folder)

    @classmethod
    def _open(cls, folder: Path) -> EdgeIndex:
        snapshot = None
        if is_read_only(folder):
            with storage(folder):
                snapshot = take_snapshot(folder, LOCK, DROPPED)
            folder = Path(snapshot.name)
        lock = FileLock(folder / LOCK, thread_local=False)
        with storage(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise Locked(_held(folder)) from error
            (folder / OWNER).write_text(str(os.getpid()), encoding="ascii")
            for leftover in folder.glob(f"{DROPPED}*"):
                shutil.rmtree(leftover)
        return cls(folder, lock, snapshot)

    async def collections(self) -> Mapping[str, Manifest]:
        """The manifests of all collections. Read again only when a file has changed, because every question asks for them."""
        stamps = self._stamps()
        if stamps != self._seen[0]:
            self._seen = stamps, await asyncio.to_thread(self._collections)
        return self._seen[1]

    async def create(self, collection: str, manifest: Manifest) -> None:
        await asyncio.to_thread(self._create, collection, manifest)

    async def save_manifest(self, collection: str, manifest: Manifest) -> None:
        await asyncio.to_thread(self._save_manifest, collection, manifest)

    async def drop(self, collection: str) -> None:
        await asyncio.to_thread(self._drop, collection)

    async def alias(self, name: str, collection: str) -> None:
        """Does nothing: no other program uses the folder, so nobody looks for a name."""

    async def replace(self, collection: str, book_id: str, replacements: Sequence[Replacement]) -> None:
        if replacements:
            await asyncio.to_thread(lambda: self._shard(collection).replace(book_id, replacements))

    async def remove_book(self, collection: str, book_id: str) -> None:
        await asyncio.to_thread(lambda: self._shard(collection).remove_book(book_id))

    async def candidates(
        self,
        collection: str,
        *,
        embedding: NDArray[np.float32] | None,
        terms: Terms | None,
        filters: Filters,
        depth: int,
        exact: bool = False,
    ) -> list[Candidate]:
        def search() -> list[Candidate]:
            shard = self._shard(collection)
            return shard.candidates(embedding=embedding, terms=terms, filters=filters, depth=depth, exact=exact)

        return await asyncio.to_thread(search)

    async def chunks(
        self, collection: str, book_id: str, ids: Sequence[str], *, with_vectors: bool = False
    ) -> list[IndexedChunk]:
        recent = self._recent(collection)
        found = recent.chunks.all(ids) if recent and not with_vectors else None
        if found is None:
            found = await asyncio.to_thread(lambda: self._shard(collection).chunks(ids, with_vectors=with_vectors))
        return [one for one in found if one.chunk.book_id == book_id]

    async def texts(self, collection: str, book_id: str, ids: Sequence[str]) -> list[ChunkText]:
        recent = self._recent(collection)
        found = recent.texts.all(ids) if recent else None
        if found is None:
            found = await asyncio.to_thread(lambda: self._shard(collection).texts(ids))
        return [one for one in found if one.book_id == book_id]

    async def scan(self, collection: str, filters: Filters, *, with_vectors: bool = False) -> AsyncIterator[IndexedChunk]:
        """Yields lessons in order of path. A lesson that is replaced meanwhile is seen as it was or as it will be."""
        shard = await asyncio.to_thread(self._shard, collection)
        files = await asyncio.to_thread(shard.source_files, filters)
        for lessons in pages(files):
            for indexed in await asyncio.to_thread(shard.lessons, filters, lessons, with_vectors=with_vectors):
                yield indexed

    async def count(self, collection: str, filters: Filters) -> int:
        recent = self._recent(collection)
        if recent and (known := recent.counts.all([filters])):
            return known[0]
        return await asyncio.to_thread(lambda: self._shard(collection).count(filters))

    async def idf(self, collection: str, book_id: str, terms: Sequence[int]) -> dict[int, float]:
        recent = self._recent(collection)
        found = recent.idf.all([(book_id, term) for term in terms]) if recent else None
        if found is None:
            found = await asyncio.to_thread(lambda: self._shard(collection).idf(book_id, terms))
        return {term: idf for term, idf in zip(terms, found, strict=True) if idf}

    async def source_files(self, collection: str, book_id: str) -> dict[str, int]:
        return await asyncio.to_thread(lambda: self._shard(collection).source_files(Filters(book_id=book_id)))

    async def settle(self, collection: str) -> None:
        await asyncio.to_thread(lambda: self._shard(collection).settle())

    async def read_ahead(self, collection: str) -> None:
        await asyncio.to_thread(lambda: self._shard(collection).read_ahead())

    def copy_files(self, keep: Callable[[str, Path], None]) -> None:
        """Hands over every file of every collection, with its path in the index, while no writer changes it. Blocks."""
        for collection in self._collections():
            self._shard(collection).copy_files(lambda file: keep(file.relative_to(self._folder).as_posix(), file))

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _stamps(self) -> Stamps:
        """The times of all manifests, and how often this process has changed one, because a file's time is coarse. Takes
        microseconds."""
        with storage(self._folder):
            names = sorted(name for name in os.listdir(self._folder) if not name.startswith(DROPPED))  # noqa: PTH208  a path each is slow
            return self._changes, tuple((name, *_stamp(f"{self._folder}/{name}/{MANIFEST}")) for name in names)

    def _collections(self) -> dict[str, Manifest]:
        with storage(self._folder):
            names = sorted(entry.parent.name for entry in self._folder.glob(f"*/{MANIFEST}"))
        found = {}
        for name in (name for name in names if not name.startswith(DROPPED)):
            try:
                found[name] = read_manifest(self._folder / name)
            except StorageFailure:
                if (self._folder / name / MANIFEST).exists():  # otherwise it was dropped meanwhile
                    raise
        return found

    def _create(self, collection: str, manifest: Manifest) -> None:
        folder = self._path(collection)
        with self._opening:
            if (folder / MANIFEST).exists():
                raise InvalidInput(f"The index in {self._folder} has a collection '{collection}' already. Drop it first.")
            with storage(folder):
                shutil.rmtree(folder, ignore_errors=True)  # left by a creation that was interrupted
            self._shards[collection] = EdgeShard.create(folder, manifest)
            self._changes += 1

    def _save_manifest(self, collection: str, manifest: Manifest) -> None:
        self._shard(collection).save_manifest(manifest)
        with self._opening:
            self._changes += 1

    def _drop(self, collection: str) -> None:
        """Renames the folder before deleting it: a half-deleted folder must not look like a collection."""
        shard = self._shard(collection)
        with self._opening, storage(shard.folder):
            del self._shards[collection]
            shard.close()
            doomed = self._folder / f"{DROPPED}{uuid4().hex}"
            shard.folder.rename(doomed)
            self._changes += 1
            shutil.rmtree(doomed)

    def _shard(self, collection: str) -> EdgeShard:
        folder = self._path(collection)
        with self._opening:
            if not self._lock.is_locked:
                raise StorageFailure(f"The index in {self._folder} has been closed. Open it again.")
            if collection not in self._shards:
                if not (folder / MANIFEST).exists():
                    raise NotFound(f"The index in {self._folder} has no collection '{collection}'. Run: bythebook ingest")
                self._shards[collection] = EdgeShard.open(folder)
            return self._shards[collection]

    def _recent(self, collection: str) -> ReadCache | None:
        """The cache of an open collection. What is in it can be read without a thread."""
        shard = self._shards.get(collection)
        return shard.recent if shard else None

    def _path(self, collection: str) -> Path:
        return self._folder / check_name(collection)

    def _close(self) -> None:
        with self._opening:
            while self._shards:
                self._shards.popitem()[1].close()
            self._lock.release()
            if self._snapshot:
                self._snapshot.cleanup()


def _stamp(manifest: str) -> tuple[int, int]:
    try:
        found = os.stat(manifest)  # noqa: PTH116  on every search; a Path takes longer than the call
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _held(folder: Path) -> str:
    try:
        owner = f"process {int((folder / OWNER).read_text(encoding='ascii'))}"
    except (OSError, ValueError):
        owner = "another process"
    remedy = "Wait for its end or stop it, or set QDRANT_URL so that several can share a Qdrant server."
    return f"The index in {folder} is held by {owner}. {remedy}"


def is_read_only(folder: Path) -> bool:
    return folder.is_dir() and not os.access(folder, os.W_OK)


def take_snapshot(folder: Path, lock: str, skipped: str) -> TemporaryDirectory[str]:
    """Copies all collections as they stand at one moment. A writer holds the file `lock`. Names that begin with `skipped` belong
    to no collection."""
    made = TemporaryDirectory(prefix="bythebook-index-")
    try:
        with _shared(folder / lock):
            for collection in (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(skipped)):
                _copy(collection, Path(made.name) / collection.name)
    except BaseException:
        made.cleanup()
        raise
    return made


def _copy(source: Path, target: Path) -> None:
    """Copies a file without its mode, because the copy is written to."""
    for file in (path for path in source.rglob("*") if path.is_file()):
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)


@contextmanager
def _shared(lock: Path) -> Iterator[None]:
    """Holds a shared lock on the folder, which keeps writers out, even those of other users of the machine."""
    import fcntl  # missing on Windows, where every folder counts as writable

    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Locked(f"The index in {lock.parent} is being written. Try again when that is done.") from error
    finally:
        os.close(descriptor)
