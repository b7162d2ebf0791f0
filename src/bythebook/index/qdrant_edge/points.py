"""Points of the embedded engine: written, filtered, searched, and read by id or by whole lessons. Converts our values to the
engine's, and its errors to ours."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from bythebook.books.model import HARDWARE_TIERS
from bythebook.errors import InvalidInput, StorageFailure
from bythebook.index.lexical import Terms
from bythebook.index.payload import (
    TEXT_FIELDS,
    FieldIndex,
    StoredPoint,
    UnreadableRecord,
    decoding,
    indexed_chunk,
    is_point_id,
    record_terms,
    text_from_payload,
)
from bythebook.index.vectors import DENSE, LEXICAL, Candidate, ChunkText, Filters, IndexedChunk

POINTS_PER_PAGE = 256

OVERSAMPLING = 2.0

Scores = dict[str, float]


@contextmanager
def storage(folder: Path) -> Iterator[None]:
    """Turns an error of the disk or the engine, or a record that cannot be decoded, into one sentence that names the folder.
    Errors of our own code are not changed."""
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
    """Indexes that are mapped from disk, so that opening a collection does not read them."""
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


def is_value(key: str, value: str | int) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchValue(value))


def is_any(key: str, values: list[str] | list[int]) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchAny(values))


def begins(key: str, prefix: str) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchPrefix(prefix))


@lru_cache(maxsize=256)  # readers use the same few filters
def condition(filters: Filters, *, alone: bool = False) -> edge.Filter:
    """The engine's filter. `alone`: the book has the collection to itself; checking the book of each of 100,000 chunks would take
    half of a search."""
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
        # matching a value is faster for the engine than comparing one
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


def read_chunks(shard: edge.EdgeShard, ids: Sequence[str], *, with_vectors: bool = False) -> dict[str, IndexedChunk]:
    return as_chunks(shard.retrieve([name for name in ids if is_point_id(name)], True, with_vectors))


def read_texts(shard: edge.EdgeShard, ids: Sequence[str]) -> dict[str, ChunkText]:
    return as_texts(shard.retrieve([name for name in ids if is_point_id(name)], TEXT_FIELDS, False))


def read_count(shard: edge.EdgeShard, filters: Filters) -> int:
    return shard.count(edge.CountRequest(exact=True, filter=condition(filters)))


def is_alone(shard: edge.EdgeShard, book_id: str) -> bool:
    """Whether the collection holds no other book."""
    return not shard.count(edge.CountRequest(exact=True, filter=edge.Filter(must_not=[is_value("book_id", book_id)])))


def read_lessons(
    shard: edge.EdgeShard, filters: Filters, source_files: Sequence[str], *, with_vectors: bool
) -> Iterator[IndexedChunk]:
    """All chunks of some lessons that pass the filters, in no order."""
    wanted = edge.Filter(must=[condition(filters), is_any("source_file", list(source_files))])
    offset = None
    while True:
        records, offset = shard.scroll(
            edge.ScrollRequest(offset=offset, limit=POINTS_PER_PAGE, filter=wanted, with_payload=True, with_vector=with_vectors)
        )
        yield from as_chunks(records).values()
        if offset is None:
            return


def read_page(
    shard: edge.EdgeShard, offset: edge.PointId | None, *, whole: bool
) -> tuple[Sequence[edge.Record], edge.PointId | None]:
    """One page of points, whole or only what their texts need, and where the next page begins; None after the last."""
    fields = True if whole else TEXT_FIELDS
    return shard.scroll(edge.ScrollRequest(offset=offset, limit=POINTS_PER_PAGE, with_payload=fields, with_vector=False))


def as_texts(records: Sequence[edge.Record]) -> dict[str, ChunkText]:
    with decoding("a record"):
        return {str(record.id): text_from_payload(str(record.id), record.payload or {}) for record in records}


def as_chunks(records: Sequence[edge.Record]) -> dict[str, IndexedChunk]:
    with decoding("a record"):
        return {str(record.id): indexed_chunk(record) for record in records}


def find_candidates(
    shard: edge.EdgeShard,
    *,
    embedding: NDArray[np.float32] | None,
    terms: Terms | None,
    filters: Filters,
    alone: bool,
    corpus: edge.Filter | None,
    depth: int,
    exact: bool,
) -> list[Candidate]:
    """Finds the nearest chunks and those with the best terms, then the score of each by the other search, so that both are exact
    for all. The engine runs requests in parallel that are sent together. `alone`: the shard holds no other book."""
    wanted = condition(filters, alone=alone)
    nearest = None if embedding is None else edge.Query.Nearest(np.asarray(embedding, dtype=np.float32).tolist(), using=DENSE)
    sparse = edge.SparseVector(list(terms.ids), list(terms.weights)) if terms and terms.ids else None
    rarest = edge.Query.Nearest(sparse, using=LEXICAL) if sparse else None
    dense, lexical = _both(
        shard,
        _request(nearest, _near(exact=exact), wanted, depth) if nearest else None,
        _request(rarest, _rare(corpus, exact=exact), wanted, depth) if rarest else None,
    )
    unscored, unread = lexical.keys() - dense.keys(), dense.keys() - lexical.keys()
    more_dense, more_lexical = _both(
        shard,
        _request(nearest, _near(exact=True), has_id(unscored), len(unscored)) if nearest and unscored else None,
        _request(rarest, _rare(corpus, exact=True), has_id(unread), len(unread)) if rarest and unread else None,
    )
    dense |= more_dense
    lexical |= more_lexical
    return [
        Candidate(id=one, cosine=dense.get(one, 0.0), lexical=lexical.get(one, 0.0))
        for one in sorted(dense.keys() | lexical.keys())
    ]


def counts_deleted(shard: edge.EdgeShard, terms: Sequence[int]) -> bool | None:
    """Whether the engine counts deleted chunks in a term's rarity unless it is told what to count. None where no chunk has any of
    the terms."""
    counted, told = (
        [_alone(term, params, edge.Filter(must=[])) for term in terms]
        for params in (edge.SearchParams(), _rare(edge.Filter(must=[]), exact=False))
    )
    scores = [hits[0].score if hits else 0.0 for hits in shard.query_batch(edge.QueryBatchRequest(queries=counted + told))]
    return scores[: len(terms)] != scores[len(terms) :] if any(scores) else None


def find_idf(
    shard: edge.EdgeShard, book_id: str, terms: Sequence[int], *, alone: bool, corpus: edge.Filter | None
) -> dict[int, float]:
    """The IDF of each term; 0 for a term that no chunk of the book has. A search for one term alone scores its IDF times its
    weight in the chunk found, and that weight is known."""
    wanted = condition(Filters(book_id=book_id), alone=alone)
    asked = [_alone(term, _rare(corpus, exact=False), wanted) for term in terms]
    answers = shard.query_batch(edge.QueryBatchRequest(queries=asked))
    best = {term: hits[0] for term, hits in zip(terms, answers, strict=True) if hits}
    held = shard.retrieve(list({hit.id for hit in best.values()}), False, [LEXICAL])
    weights = {record.id: record_terms(record) for record in held}
    return {term: best[term].score / weights[best[term].id].weight(term) if term in best else 0.0 for term in terms}


def _both(shard: edge.EdgeShard, dense: edge.QueryRequest | None, lexical: edge.QueryRequest | None) -> tuple[Scores, Scores]:
    asked = [one for one in (dense, lexical) if one is not None]
    answers = iter(shard.query_batch(edge.QueryBatchRequest(queries=asked)) if asked else ())
    return _scores(next(answers)) if dense else {}, _scores(next(answers)) if lexical else {}


def _scores(hits: Sequence[edge.ScoredPoint]) -> Scores:
    return {str(hit.id): hit.score for hit in hits}


def _alone(term: int, params: edge.SearchParams, wanted: edge.Filter) -> edge.QueryRequest:
    """The chunk in which a term weighs most."""
    return _request(edge.Query.Nearest(edge.SparseVector([term], [1.0]), using=LEXICAL), params, wanted, 1)


def _request(query: edge.Query, params: edge.SearchParams, wanted: edge.Filter, limit: int) -> edge.QueryRequest:
    return edge.QueryRequest(limit=limit, query=query, filter=wanted, params=params, with_payload=False)


def _near(*, exact: bool) -> edge.SearchParams:
    rescored = edge.QuantizationSearchParams(ignore=exact, rescore=True, oversampling=OVERSAMPLING)
    return edge.SearchParams(exact=exact, quantization=rescored)


def _rare(corpus: edge.Filter | None, *, exact: bool) -> edge.SearchParams:
    """The filter within which IDF is computed: this book alone, because other books must not change an answer. None where there
    is no other book and no deleted chunk that the engine would count; counting takes 2 of 4 ms in 100,000 chunks."""
    return edge.SearchParams(exact=exact, idf=edge.IdfParams(corpus=corpus) if corpus else None)
