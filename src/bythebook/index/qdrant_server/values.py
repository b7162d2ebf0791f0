"""Converts our values to the Qdrant client's and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from bythebook.index.lexical import Terms
from bythebook.index.payload import FieldIndex, StoredPoint, Swap
from bythebook.index.vectors import DENSE, LEXICAL, Filters

OVERSAMPLING = 2.0


def index_params(index: FieldIndex) -> models.KeywordIndexParams | models.IntegerIndexParams:
    if index.kind == "integer":
        return models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True, enable_hnsw=False)
    keyword = models.KeywordIndexType.KEYWORD
    return models.KeywordIndexParams(type=keyword, is_tenant=index.tenant, prefix=index.prefix, enable_hnsw=False)


def point(stored: StoredPoint) -> models.PointStruct:
    vector: dict[str, Any] = {DENSE: stored.dense}
    if stored.term_ids:
        vector[LEXICAL] = models.SparseVector(indices=stored.term_ids, values=stored.term_weights)
    return models.PointStruct(id=stored.id, vector=vector, payload=stored.payload)


def is_value(key: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def is_any(key: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def begins(key: str, prefix: str) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchPrefix(prefix=prefix))


def has_id(ids: Iterable[str]) -> models.Filter:
    return models.Filter(must=[models.HasIdCondition(has_id=sorted(ids))])


def condition(filters: Filters) -> models.Filter:
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
        must.append(models.FieldCondition(key="hardware_tier", range=models.Range(lte=filters.hardware_tier_max)))
    if filters.chapter_min is not None or filters.chapter_max is not None:
        chapters = models.Range(gte=filters.chapter_min, lte=filters.chapter_max)
        must.append(models.FieldCondition(key="chapter", range=chapters))
    if filters.proficiency_levels is not None:
        must.append(is_any("proficiency_level", filters.proficiency_levels))
    if filters.prefix is not None:
        must.append(models.Filter(should=[begins(key, filters.prefix) for key in ("source_file", "source_url")]))
    return models.Filter(must=must)


def requests(
    embedding: NDArray[np.float32] | None, terms: Terms | None, book_id: str, *, exact: bool
) -> dict[str, models.QueryRequest]:
    """One request for each search that can be made. The rarity of a term is computed in this book alone, because other books must
    not change an answer."""
    ask: dict[str, models.QueryRequest] = {}
    if embedding is not None:
        nearest = np.asarray(embedding, dtype=np.float32).tolist()
        rescored = models.QuantizationSearchParams(ignore=exact, rescore=True, oversampling=OVERSAMPLING)
        params = models.SearchParams(exact=exact, quantization=rescored)
        ask[DENSE] = models.QueryRequest(query=nearest, using=DENSE, params=params, with_payload=False)
    if terms is not None and terms.ids:
        sparse = models.SparseVector(indices=list(terms.ids), values=list(terms.weights))
        corpus = models.Filter(must=[is_value("book_id", book_id)])
        params = models.SearchParams(exact=exact, idf=models.IdfCorpusParams(corpus=corpus))
        ask[LEXICAL] = models.QueryRequest(query=sparse, using=LEXICAL, params=params, with_payload=False)
    return ask


def operations(planned: Swap) -> list[models.UpdateOperation]:
    """New points first. A chunk that moved to another lesson keeps its id, and has its new place by the time that the rest of the
    old lesson is deleted."""
    leftovers = models.Filter(
        must=[is_value("book_id", planned.book_id), is_any("source_file", planned.source_files)],
        must_not=[has_id(stored.id for stored in planned.points)],
    )
    delete = models.DeleteOperation(delete=models.FilterSelector(filter=leftovers))
    if not planned.points:
        return [delete]
    return [
        models.UpsertOperation(upsert=models.PointsList(points=[point(stored) for stored in planned.points])),
        delete,
    ]
