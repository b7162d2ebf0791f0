"""A chunk as a flat record and back: document D's QdrantPayload, plus what our own readers need to cite a chunk.
Also which fields an engine must index. Knows nothing of any engine; id and vectors travel beside the payload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk, ChunkSection, Span
from bythebook.books.source_places import pack_marks, unpack_marks
from bythebook.index.vectors import ChunkText, IndexedChunk, Terms


class UnreadableRecord(ValueError):
    """Something stored does not decode. The engines say where it is stored."""


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Only what decodes runs in here: an error of our own must not pass for a damaged index."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise UnreadableRecord(f"{what} in it cannot be read: {reason}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldIndex:
    """How a field is looked up. `tenant`: points of one value lie together. `prefix`: beginnings can be asked for. `few`: readers
    filter by it and it has few values, so its index is small and worth keeping in memory."""

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
"""Dashes and quotes beyond Latin-1: no word has them, and a text without them takes half the memory."""
TEXT_FIELDS = ["book_id", "content_hash", "page_title", "heading_path", "text"]
"""Of these a `ChunkText` is made."""


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
    """Counts are worked out from the text again. Whoever reads a stored record does so within `decoding`."""
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
    """Chunks that an earlier version stored have none."""
    stored = payload.get("sections") or ()
    return tuple(ChunkSection(**{**section, "heading_path": tuple(section["heading_path"])}) for section in stored)


def text_from_payload(point_id: str, payload: Mapping[str, Any]) -> ChunkText:
    return ChunkText(
        id=point_id,
        book_id=payload["book_id"],
        content_hash=payload["content_hash"],
        folded=_OUTLANDISH.sub(" ", "\n".join((payload["page_title"], *payload["heading_path"], payload["text"])).casefold()),
    )
