"""Hybrid search for candidates in one shard of the embedded engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from bythebook.index.qdrant_edge.values import condition, has_id, record_terms
from bythebook.index.vectors import DENSE, LEXICAL, Candidate, Filters, Terms

OVERSAMPLING = 2.0

Scores = dict[str, float]


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
    """The nearest chunks and those with the best terms, then the score of each by the other: both are exact for all. The
    engine works in parallel on what it is asked at once. `alone`: the shard holds no other book."""
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
    """Whether the engine, unless it is told what to count, counts chunks that are deleted: any of them makes every term seem
    another bit rarer. None where no chunk has any of the terms."""
    counted, told = (
        [_alone(term, params, edge.Filter(must=[])) for term in terms]
        for params in (edge.SearchParams(), _rare(edge.Filter(must=[]), exact=False))
    )
    scores = [hits[0].score if hits else 0.0 for hits in shard.query_batch(edge.QueryBatchRequest(queries=counted + told))]
    return scores[: len(terms)] != scores[len(terms) :] if any(scores) else None


def find_idf(
    shard: edge.EdgeShard, book_id: str, terms: Sequence[int], *, alone: bool, corpus: edge.Filter | None
) -> dict[int, float]:
    """0 for a term that no chunk of the book has. A search for one term alone scores its IDF times its weight in the chunk
    found, and the weight is known."""
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
    """The chunk that a term weighs most in."""
    return _request(edge.Query.Nearest(edge.SparseVector([term], [1.0]), using=LEXICAL), params, wanted, 1)


def _request(query: edge.Query, params: edge.SearchParams, wanted: edge.Filter, limit: int) -> edge.QueryRequest:
    return edge.QueryRequest(limit=limit, query=query, filter=wanted, params=params, with_payload=False)


def _near(*, exact: bool) -> edge.SearchParams:
    rescored = edge.QuantizationSearchParams(ignore=exact, rescore=True, oversampling=OVERSAMPLING)
    return edge.SearchParams(exact=exact, quantization=rescored)


def _rare(corpus: edge.Filter | None, *, exact: bool) -> edge.SearchParams:
    """How rare a term is, is asked of this book alone: what other books hold must not change an answer. Where there is no other
    book, and nothing deleted that the engine would count, it need not count anew (2 ms of 4 in 100,000 chunks)."""
    return edge.SearchParams(exact=exact, idf=edge.IdfParams(corpus=corpus) if corpus else None)
