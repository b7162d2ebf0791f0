"""What both engines do alike before and after the engine: check names, prepare a swap of lessons, read by whole lessons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.errors import InvalidInput, Mismatch
from bythebook.index.payload import to_payload
from bythebook.index.vectors import IndexedChunk, Replacement

POINTS_PER_PAGE = 512
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POINT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPoint:
    """A chunk as it goes to an engine. Plain values, so that it can also be written down."""

    id: str
    payload: dict[str, Any]
    dense: list[float]
    term_ids: list[int]
    term_weights: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Everything that `book_id` has of `source_files` becomes `points`."""

    book_id: str
    source_files: list[str]
    points: list[StoredPoint]


def check_name(collection: str) -> str:
    """A collection is a folder to one engine and part of an address to the other."""
    if not _NAME.fullmatch(collection):
        raise InvalidInput(f"A collection is named by 1 to 64 letters, digits, '_' and '-', not {collection!r}.")
    return collection


def is_point_id(name: str) -> bool:
    """Whether a point can have this id at all. Engines fail on anything else, and ids come from outside too."""
    return _POINT_ID.fullmatch(name) is not None


def swap(book_id: str, replacements: Sequence[Replacement], *, dimension: int) -> Swap:
    points = []
    for replacement in replacements:
        for indexed in replacement.chunks:
            _check(indexed, book_id, replacement.source_file, dimension)
            points.append(_stored(indexed))
    return Swap(book_id=book_id, source_files=[replacement.source_file for replacement in replacements], points=points)


def pages(counts: Mapping[str, int], *, points: int = POINTS_PER_PAGE) -> Iterator[list[str]]:
    """Lessons in groups of about so many points: whole lessons, because half a lesson may be gone when the rest is read."""
    page: list[str] = []
    size = 0
    for source_file, count in counts.items():
        if page and size + count > points:
            yield page
            page, size = [], 0
        page.append(source_file)
        size += count
    if page:
        yield page


def _check(indexed: IndexedChunk, book_id: str, source_file: str, dimension: int) -> None:
    chunk = indexed.chunk
    if (chunk.book_id, chunk.source_file) != (book_id, source_file):
        raise ValueError(f"chunk {chunk.id} is of {chunk.book_id}:{chunk.source_file}, not of {book_id}:{source_file}")
    if indexed.embedding is None or indexed.terms is None or not np.isfinite(indexed.embedding).all():
        raise ValueError(f"chunk {chunk.id} of {source_file} has no usable embedding or no terms")
    check_dimension(indexed.embedding, dimension, book_id)


def check_dimension(embedding: NDArray[np.float32], dimension: int, book_id: str) -> None:
    """A server may have changed its model and kept the name."""
    if embedding.shape != (dimension,):
        raise Mismatch(
            f"An embedding of {embedding.shape[-1]} dimensions does not fit the index of '{book_id}', which has {dimension}. "
            "Configure the embedder that made the index, or build it anew: bythebook ingest FOLDER --mode recreate"
        )


def _stored(indexed: IndexedChunk) -> StoredPoint:
    assert indexed.embedding is not None
    assert indexed.terms is not None
    return StoredPoint(
        id=indexed.chunk.id,
        payload=to_payload(indexed),
        dense=indexed.embedding.astype(np.float32).tolist(),
        term_ids=list(indexed.terms.ids),
        term_weights=list(indexed.terms.weights),
    )
