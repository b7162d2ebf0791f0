"""Our values as the embedded engine's, and back; and its errors as ours."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from bythebook.errors import BookError, InvalidInput, StorageFailure
from bythebook.index.journal import StoredPoint
from bythebook.index.payload import FieldIndex, from_payload
from bythebook.index.vectors import DENSE, LEXICAL, Filters, IndexedChunk, Terms

NO_TERMS = Terms(ids=(), weights=())


@contextmanager
def storage(folder: Path) -> Iterator[None]:
    """Whatever goes wrong on disk or in the engine becomes one sentence that names the folder."""
    try:
        yield
    except OSError as error:
        raise StorageFailure(_sentence(folder, error.strerror or str(error), full=error.errno == errno.ENOSPC)) from error
    except (KeyError, ValueError) as error:
        raise StorageFailure(_sentence(folder, f"a record in it cannot be read: {error}")) from error
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
    """Only the tenant gets links of its own in the graph: links for all twelve fields make building it many times slower."""
    if index.kind == "integer":
        return edge.IntegerIndexParams(lookup=True, range=True, enable_hnsw=False)
    return edge.KeywordIndexParams(is_tenant=index.tenant, prefix=index.prefix, enable_hnsw=index.tenant)


def point(stored: StoredPoint) -> edge.Point:
    vector: dict[str, Any] = {DENSE: stored.embedding.tolist()}
    if stored.term_ids:
        vector[LEXICAL] = edge.SparseVector(indices=stored.term_ids, values=stored.term_weights)
    try:
        return edge.Point(id=stored.id, vector=vector, payload=stored.payload)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The lesson {stored.payload['source_file']!a} holds text that is not Unicode. Save it as UTF-8 and ingest it again."
        ) from error


def indexed_chunk(record: edge.Record | edge.ScoredPoint) -> IndexedChunk:
    if record.vector is None:
        return from_payload(str(record.id), record.payload or {})
    sparse = record.vector.get(LEXICAL)
    terms = Terms(ids=tuple(sparse.indices), weights=tuple(sparse.values)) if sparse else NO_TERMS
    dense = np.array(record.vector[DENSE], dtype=np.float32)
    return from_payload(str(record.id), record.payload or {}, embedding=dense, terms=terms)


def is_value(key: str, value: str | int) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchValue(value))


def is_any(key: str, values: list[str]) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchAny(values))


def begins(key: str, prefix: str) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchPrefix(prefix))


def condition(filters: Filters) -> edge.Filter:
    equal = {
        "book_id": filters.book_id,
        "module": filters.module,
        "lesson": filters.lesson,
        "layer": filters.layer,
        "parent_doc_id": filters.parent_doc_id,
        "source_file": filters.source_file,
    }
    must: list[Any] = [is_value(key, value) for key, value in equal.items() if value is not None]
    if filters.hardware_tier_max is not None:
        must.append(edge.FieldCondition(key="hardware_tier", range=edge.RangeFloat(lte=filters.hardware_tier_max)))
    if filters.chapter_min is not None or filters.chapter_max is not None:
        chapters = edge.RangeFloat(gte=filters.chapter_min, lte=filters.chapter_max)
        must.append(edge.FieldCondition(key="chapter", range=chapters))
    if filters.proficiency_levels is not None:
        must.append(is_any("proficiency_level", list(filters.proficiency_levels)))
    if filters.prefix is not None:
        either = [begins(key, filters.prefix) for key in ("source_file", "source_url")]
        must.append(edge.Filter(should=either))
    return edge.Filter(must=must)


def point_ids(ids: list[str] | tuple[str, ...]) -> list[UUID]:
    """Those that can be an id at all, as the engine spells them."""
    return [UUID(name) for name in ids if is_point_id(name)]


def is_point_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
