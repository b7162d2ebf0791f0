"""Chunks as both engines store them: a chunk becomes a flat record (document D's QdrantPayload, plus what is needed to cite it)
and is read back; which fields an engine must index; and the swap of a lesson's old points for its new ones. Knows nothing of
either engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk, ChunkSection, Span, pack_marks, unpack_marks
from bythebook.errors import InvalidInput, Mismatch
from bythebook.index.lexical import Terms
from bythebook.index.vectors import DENSE, LEXICAL, ChunkText, IndexedChunk, Replacement

POINTS_PER_PAGE = 512
_COLLECTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POINT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class UnreadableRecord(ValueError):
    """Something stored cannot be decoded. The engines say where it is stored."""


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Wrap only decoding in this: an error of our own code must not be reported as a damaged index."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise UnreadableRecord(f"{what} in it cannot be read: {reason}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldIndex:
    """How a field is looked up. `tenant`: points with the same value are stored together. `prefix`: it can be searched by prefix.
    `few`: readers filter by it and it has few values, so its index is small and worth keeping in memory."""

    kind: Literal["keyword", "integer"]
    tenant: bool = False
    prefix: bool = False
    few: bool = False


_KEYWORD = FieldIndex(kind="keyword")
_NAME = FieldIndex(kind="keyword", few=True)
_NUMBER = FieldIndex(kind="integer", few=True)
_PATH = FieldIndex(kind="keyword", prefix=True)

INDEXES: Mapping[str, FieldIndex] = MappingProxyType(
    {
        "book_id": FieldIndex(kind="keyword", tenant=True),
        "module": _NAME,
        "chapter": _NUMBER,
        "lesson": _NUMBER,
        "hardware_tier": _NUMBER,
        "proficiency_level": _NAME,
        "layer": _NAME,
        "parent_doc_id": _KEYWORD,
        "content_hash": _KEYWORD,
        "source_file_hash": _KEYWORD,
        "source_file": _PATH,
        "source_url": _PATH,
    }
)

# What a chunk holds as it is; its id is the point's own, its span and heading path are flattened below.
_PLAIN = tuple(field.name for field in fields(Chunk) if field.name not in {"id", "span", "heading_path", "sections", "marks"})
_TIMES = ("created_at", "updated_at", "embedded_at")
_OUTLANDISH = re.compile(r"[^\w\x00-\xff]")
"""Dashes and quotes beyond Latin-1: no word contains them, and a text without them takes half the memory."""
TEXT_FIELDS = ["book_id", "content_hash", "page_title", "heading_path", "text"]
"""The fields that a `ChunkText` is made of."""


def to_payload(indexed: IndexedChunk) -> dict[str, Any]:
    chunk = indexed.chunk
    payload: dict[str, Any] = {name: getattr(chunk, name) for name in _PLAIN}
    payload |= {
        "heading_path": list(chunk.heading_path),
        "sections": [{**asdict(section), "heading_path": list(section.heading_path)} for section in chunk.sections],
        "span_start": chunk.span.start,
        "span_end": chunk.span.end,
        "first_line": chunk.span.first_line,
        "last_line": chunk.span.last_line,
        "word_count": chunk.word_count,
        "token_count": chunk.token_count,
        "char_count": chunk.char_count,
        "version": indexed.version,
        "embedding_model": indexed.embedding_model,
    }
    if chunk.marks:
        payload["marks"] = pack_marks(chunk.marks)
    payload |= {name: getattr(indexed, name).isoformat() for name in _TIMES}
    return payload


def from_payload(
    point_id: str,
    payload: Mapping[str, Any],
    *,
    embedding: NDArray[np.float32] | None = None,
    terms: Terms | None = None,
) -> IndexedChunk:
    """Reads a stored record back. Counts are computed from the text again. Call it within `decoding`."""
    span = Span(
        start=payload["span_start"],
        end=payload["span_end"],
        first_line=payload["first_line"],
        last_line=payload["last_line"],
    )
    plain = {name: payload[name] for name in _PLAIN}
    times = {name: datetime.fromisoformat(payload[name]) for name in _TIMES}
    return IndexedChunk(
        chunk=Chunk(
            id=point_id,
            span=span,
            heading_path=tuple(payload["heading_path"]),
            sections=_sections(payload),
            marks=unpack_marks(payload.get("marks") or ()),
            **plain,
        ),
        version=payload["version"],
        embedding_model=payload["embedding_model"],
        embedding=embedding,
        terms=terms,
        **times,
    )


def _sections(payload: Mapping[str, Any]) -> tuple[ChunkSection, ...]:
    """The sections of a chunk; none where an earlier version stored it."""
    stored = payload.get("sections") or ()
    return tuple(ChunkSection(**{**section, "heading_path": tuple(section["heading_path"])}) for section in stored)


class EngineRecord(Protocol):
    """A point as either engine returns it: its vectors by their names, where they were asked for."""

    @property
    def id(self) -> object: ...
    @property
    def payload(self) -> Mapping[str, Any] | None: ...
    @property
    def vector(self) -> Any: ...


def indexed_chunk(record: EngineRecord) -> IndexedChunk:
    payload, vectors = record.payload or {}, record.vector
    if not isinstance(vectors, dict):
        return from_payload(str(record.id), payload)
    return from_payload(str(record.id), payload, embedding=np.array(vectors[DENSE], dtype=np.float32), terms=record_terms(record))


def record_terms(record: EngineRecord) -> Terms:
    """The terms of a record; None for a chunk without words."""
    sparse = record.vector.get(LEXICAL) if isinstance(record.vector, dict) else None
    if sparse is None:
        return Terms(ids=(), weights=())
    return Terms(ids=tuple(sparse.indices), weights=tuple(sparse.values))


def text_from_payload(point_id: str, payload: Mapping[str, Any]) -> ChunkText:
    return ChunkText(
        id=point_id,
        book_id=payload["book_id"],
        content_hash=payload["content_hash"],
        folded=_OUTLANDISH.sub(" ", "\n".join((payload["page_title"], *payload["heading_path"], payload["text"])).casefold()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPoint:
    """A chunk as it is sent to an engine. Plain values, so that it can also be written to the journal."""

    id: str
    payload: dict[str, Any]
    dense: list[float]
    term_ids: list[int]
    term_weights: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Replaces everything that the index holds of `source_files` of `book_id` by `points`."""

    book_id: str
    source_files: list[str]
    points: list[StoredPoint]


def check_name(collection: str) -> str:
    """Checks a collection's name, which is a folder to one engine and part of an address to the other."""
    if not _COLLECTION_NAME.fullmatch(collection):
        raise InvalidInput(f"A collection is named by 1 to 64 letters, digits, '_' and '-', not {collection!r}.")
    return collection


def is_point_id(name: str) -> bool:
    """Whether this can be the id of a point. Engines fail on anything else, and ids come from outside too."""
    return _POINT_ID.fullmatch(name) is not None


def swap(book_id: str, replacements: Sequence[Replacement], *, dimension: int) -> Swap:
    points = []
    for replacement in replacements:
        for indexed in replacement.chunks:
            _check(indexed, book_id, replacement.source_file, dimension)
            points.append(_stored(indexed))
    return Swap(book_id=book_id, source_files=[replacement.source_file for replacement in replacements], points=points)


def pages(counts: Mapping[str, int], *, points: int = POINTS_PER_PAGE) -> Iterator[list[str]]:
    """Groups lessons into pages of about this many points. Lessons stay whole, because one may be replaced before the rest of
    it is read."""
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
    """Raises where a vector has another dimension: a server may have changed its model and kept the name."""
    if embedding.shape != (dimension,):
        raise Mismatch(
            f"An embedding of {embedding.shape[-1]} dimensions does not fit the index of '{book_id}', which has {dimension}. "
            "Configure the embedder that made the index, or rebuild it: bythebook ingest FOLDER --mode recreate"
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
