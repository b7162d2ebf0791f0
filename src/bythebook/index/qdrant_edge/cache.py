"""A bounded cache of what was read recently."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from bythebook.index.vectors import ChunkText, Filters, IndexedChunk

COUNTS_KEPT = 256
TERMS_KEPT = 16_384
TEXTS_KEPT = 131_072
CHUNKS_KEPT = 16_384
"""Of every search forty texts are looked at, and ten chunks shown. Full, they take some 200 and 60 MB; those of a book of 200
chunks take less than one."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """For any number of threads. Where there is no room, what was read first goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Key, Value] = {}
        self._changing = threading.Lock()

    def all(self, keys: Sequence[Key]) -> list[Value] | None:
        """The values of all `keys`, or None if one is not known."""
        found = [value for key in keys if (value := self._values.get(key)) is not None]
        return found if len(found) == len(keys) else None

    def read(self, keys: Sequence[Key], read: Callable[[list[Key]], Mapping[Key, Value]]) -> list[Value]:
        """The values of `keys`, in their order; `read` is asked for those that are not known, and leaves out what is nowhere."""
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
        """The same: whether it holds nothing that was deleted, either."""
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
