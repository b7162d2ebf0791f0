"""Converts our values to the embedded engine's and back, and its errors to ours."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge

from bythebook.books.model import HARDWARE_TIERS
from bythebook.errors import InvalidInput, StorageFailure
from bythebook.index.payload import FieldIndex, UnreadableRecord, from_payload
from bythebook.index.swap import StoredPoint
from bythebook.index.vectors import DENSE, LEXICAL, Filters, IndexedChunk, Terms


@contextmanager
def storage(folder: Path) -> Iterator[None]:
    """What goes wrong on disk or in the engine, or does not decode, becomes one sentence that names the folder. An error of our
    own stays what it is."""
    try:
        yield
    except OSError as error:
        raise StorageFailure(_sentence(folder, error.strerror or str(error), full=error.errno == errno.ENOSPC)) from error
    except UnreadableRecord as error:
        raise StorageFailure(_sentence(folder, str(error))) from error
    except Exception as error:
        if type(error) is not Exception:  # the engine raises the bare class, and nothing else does
            raise
        reason = " ".join(str(error).split())
        raise StorageFailure(_sentence(folder, reason, full="No space left" in reason)) from error


def _sentence(folder: Path, reason: str, *, full: bool = False) -> str:
    if full:
        return f"The index in {folder} cannot be written because the disk is full. Free some space and run the command again."
    return f"The index in {folder} cannot be used ({reason[:300]}). If it is damaged, run: bythebook ingest --mode recreate"


def index_params(index: FieldIndex) -> edge.KeywordIndexParams | edge.IntegerIndexParams:
    """Cold: mapped from disk, so that opening an index does not read them."""
    memory = edge.Memory.Pinned if index.few else edge.Memory.Cold
    if index.kind == "integer":
        return edge.IntegerIndexParams(lookup=True, range=True, enable_hnsw=False, memory=memory)
    return edge.KeywordIndexParams(is_tenant=index.tenant, prefix=index.prefix, enable_hnsw=False, memory=memory)


def point(stored: StoredPoint) -> edge.Point:
    vector: dict[str, Any] = {DENSE: stored.dense}
    if stored.term_ids:
        vector[LEXICAL] = edge.SparseVector(indices=stored.term_ids, values=stored.term_weights)
    try:
        return edge.Point(id=stored.id, vector=vector, payload=stored.payload)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The lesson {stored.payload['source_file']!a} holds text that is not Unicode. Save it as UTF-8 and ingest it again."
        ) from error


def indexed_chunk(record: edge.Record) -> IndexedChunk:
    payload, vectors = record.payload or {}, record.vector
    if not isinstance(vectors, dict):
        return from_payload(str(record.id), payload)
    return from_payload(str(record.id), payload, embedding=np.array(vectors[DENSE], dtype=np.float32), terms=record_terms(record))


def record_terms(record: edge.Record) -> Terms:
    """None of them for a chunk without words."""
    sparse = record.vector.get(LEXICAL) if isinstance(record.vector, dict) else None
    if not isinstance(sparse, edge.SparseVector):
        return Terms(ids=(), weights=())
    return Terms(ids=tuple(sparse.indices), weights=tuple(sparse.values))


def is_value(key: str, value: str | int) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchValue(value))


def is_any(key: str, values: list[str] | list[int]) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchAny(values))


def begins(key: str, prefix: str) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchPrefix(prefix))


@lru_cache(maxsize=256)  # readers have the same few
def condition(filters: Filters, *, alone: bool = False) -> edge.Filter:
    """`alone`: the book has the collection to itself. To ask each of 100,000 chunks for its book takes half of a search."""
    equal = {
        "book_id": None if alone else filters.book_id,
        "module": filters.module,
        "lesson": filters.lesson,
        "layer": filters.layer,
        "parent_doc_id": filters.parent_doc_id,
        "source_file": filters.source_file,
    }
    must: list[Any] = [is_value(key, value) for key, value in equal.items() if value is not None]
    if filters.hardware_tier_max is not None and filters.hardware_tier_max < HARDWARE_TIERS[-1]:
        # The engine finds a value in less time than it compares one.
        must.append(is_any("hardware_tier", [tier for tier in HARDWARE_TIERS if tier <= filters.hardware_tier_max]))
    if filters.chapter_min is not None or filters.chapter_max is not None:
        chapters = edge.RangeFloat(gte=filters.chapter_min, lte=filters.chapter_max)
        must.append(edge.FieldCondition(key="chapter", range=chapters))
    if filters.proficiency_levels is not None:
        must.append(is_any("proficiency_level", list(filters.proficiency_levels)))
    if filters.prefix is not None:
        either: list[Any] = [begins(key, filters.prefix) for key in ("source_file", "source_url")]
        must.append(edge.Filter(should=either))
    return edge.Filter(must=must)


def has_id(ids: Iterable[str]) -> edge.Filter:
    return edge.Filter(must=[edge.HasIdCondition(set(ids))])
