"""The protocol of a vector engine: what is stored, filtered and searched. Two engines implement it:
`qdrant_edge` (in process, the default) and `qdrant_server` (a Qdrant server or cluster)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from bythebook.books.model import Chunk

if TYPE_CHECKING:  # a command that has a server search for it uses Filters, and needs no arrays
    import numpy as np
    from numpy.typing import NDArray

    from bythebook.index.lexical import Terms
    from bythebook.index.manifest import Manifest

DENSE = "dense"
LEXICAL = "lexical"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChunk:
    """A chunk as the index holds it."""

    chunk: Chunk
    version: int
    created_at: datetime
    updated_at: datetime
    embedding_model: str
    embedded_at: datetime
    embedding: NDArray[np.float32] | None = None
    terms: Terms | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Replaces everything the index holds of one lesson by `chunks`, in one step. Without chunks the lesson is removed."""

    source_file: str
    chunks: tuple[IndexedChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which chunks may be seen. All conditions must hold, `book_id` always."""

    book_id: str
    hardware_tier_max: int | None = None
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    proficiency_levels: tuple[str, ...] | None = None
    layer: str | None = None
    parent_doc_id: str | None = None
    source_file: str | None = None
    prefix: str | None = None
    """Path prefix (`source_file`) or URL prefix (`source_url`); either may match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that one of the two searches found, with the raw score of both."""

    id: str
    cosine: float
    lexical: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkText:
    """What reading a chunk closely takes. `folded` is its title, headings and text in one case."""

    id: str
    book_id: str
    content_hash: str
    folded: str


class VectorIndex(Protocol):
    """Every method that takes a `book_id` or `Filters` sees that book and no other."""

    async def collections(self) -> Mapping[str, Manifest]: ...

    async def create(self, collection: str, manifest: Manifest) -> None: ...

    async def save_manifest(self, collection: str, manifest: Manifest) -> None: ...

    async def drop(self, collection: str) -> None: ...

    async def alias(self, name: str, collection: str) -> None:
        """Lets other programs find the collection by this name, which no collection has. Does nothing where no other program can
        read it."""

    async def replace(self, collection: str, book_id: str, replacements: Sequence[Replacement]) -> None:
        """Replaces lessons, each completely or not at all, whatever kills the process."""

    async def remove_book(self, collection: str, book_id: str) -> None: ...

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
        """The best `depth` chunks by each of the two searches together, ordered by id; both raw scores are known for all of
        them."""

    async def chunks(
        self, collection: str, book_id: str, ids: Sequence[str], *, with_vectors: bool = False
    ) -> list[IndexedChunk]:
        """Returns chunks in the order of `ids`, without those that do not exist or belong to another book."""

    async def texts(self, collection: str, book_id: str, ids: Sequence[str]) -> list[ChunkText]:
        """The texts of chunks, in the order of `ids`: much less than the chunks."""

    def scan(self, collection: str, filters: Filters, *, with_vectors: bool = False) -> AsyncIterator[IndexedChunk]: ...

    async def count(self, collection: str, filters: Filters) -> int: ...

    async def idf(self, collection: str, book_id: str, terms: Sequence[int]) -> dict[int, float]:
        """How rare each term is in the book, as `candidates` weighs it; a term that no chunk has is left out."""

    async def source_files(self, collection: str, book_id: str) -> dict[str, int]:
        """Returns how many chunks of each lesson the index has."""

    async def settle(self, collection: str) -> None:
        """Call it after much writing: makes it durable, and builds what makes search fast."""

    async def read_ahead(self, collection: str) -> None:
        """Call it before many searches: reads what they need into memory."""

    async def close(self) -> None: ...
