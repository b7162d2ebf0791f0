"""Qdrant's JSON as values of the real engine. Refuses every field that our engine has no reason to send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import qdrant_edge as edge

Json = Any


class RefusalError(Exception):
    """What the server answers instead of doing it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def fields(body: Json, required: str = "", optional: str = "") -> dict[str, Json]:
    """The object's fields, None left out as the real one does; any that is missing or not expected is refused."""
    if not isinstance(body, dict):
        raise RefusalError(400, f"Format error in JSON body: expected an object, not {body!r}")
    given = {name: value for name, value in body.items() if value is not None}
    needed, allowed = set(required.split()), set(required.split()) | set(optional.split())
    if needed - given.keys() or given.keys() - allowed:
        raise RefusalError(400, f"Format error in JSON body: {sorted(given)} given, {sorted(needed)} of {sorted(allowed)} needed")
    return given


def filter_of(body: Json) -> edge.Filter:
    given = fields(body, optional="must should must_not")
    conditions: dict[str, Any] = {name: [_condition(one) for one in listed] for name, listed in given.items()}
    return edge.Filter(**conditions)


def _condition(body: Json) -> Any:
    if "has_id" in body:
        return edge.HasIdCondition(set(fields(body, "has_id")["has_id"]))
    if "key" not in body:
        return filter_of(body)
    given = fields(body, "key", "match range")
    match = _match(given["match"]) if "match" in given else None
    limits = edge.RangeFloat(**fields(given["range"], optional="gt gte lt lte")) if "range" in given else None
    return edge.FieldCondition(key=given["key"], match=match, range=limits)


def _match(body: Json) -> Any:
    ((name, value),) = fields(body, optional="value any prefix").items()
    return {"value": edge.MatchValue, "any": edge.MatchAny, "prefix": edge.MatchPrefix}[name](value)


def point_of(body: Json) -> edge.Point:
    given = fields(body, "id vector payload")
    return edge.Point(
        id=given["id"],
        vector={name: vector_of(vector) for name, vector in given["vector"].items()},
        payload=given["payload"],
    )


def vector_of(body: Json) -> Any:
    if isinstance(body, list):
        return body
    sparse = fields(body, "indices values")
    return edge.SparseVector(sparse["indices"], sparse["values"])


def query_of(body: Json) -> edge.QueryRequest:
    given = fields(body, "query using filter limit params with_payload")
    params = fields(given["params"], "exact", "quantization idf")
    quantization, idf = None, None
    if "quantization" in params:
        quantization = edge.QuantizationSearchParams(**fields(params["quantization"], "ignore rescore oversampling"))
    if "idf" in params:
        idf = edge.IdfParams(corpus=filter_of(fields(params["idf"], "corpus")["corpus"]))
    return edge.QueryRequest(
        limit=given["limit"],
        query=edge.Query.Nearest(vector_of(fields(given["query"], "nearest")["nearest"]), using=given["using"]),
        filter=filter_of(given["filter"]),
        params=edge.SearchParams(exact=params["exact"], quantization=quantization, idf=idf),
        with_payload=given["with_payload"],
    )


def index_of(body: Json) -> edge.KeywordIndexParams | edge.IntegerIndexParams:
    if body.get("type") == "integer":
        given = fields(body, "type lookup range enable_hnsw")
        return edge.IntegerIndexParams(lookup=given["lookup"], range=given["range"], enable_hnsw=given["enable_hnsw"])
    given = fields(body, "type is_tenant prefix enable_hnsw")
    if given["type"] != "keyword":
        raise RefusalError(400, f"unknown index type {given['type']}")
    return edge.KeywordIndexParams(is_tenant=given["is_tenant"], prefix=given["prefix"], enable_hnsw=given["enable_hnsw"])


def config_of(body: Mapping[str, Json]) -> edge.EdgeConfig:
    dense = {name: fields(params, "size distance") for name, params in body["vectors"].items()}
    if {params["distance"] for params in dense.values()} != {"Cosine"}:
        raise RefusalError(400, "only cosine is expected")
    sparse = {name: fields(params, "modifier") for name, params in body["sparse_vectors"].items()}
    if {params["modifier"] for params in sparse.values()} != {"idf"}:
        raise RefusalError(400, "only idf is expected")
    scalar = fields(fields(body["quantization_config"], "scalar")["scalar"], "type quantile always_ram")
    return edge.EdgeConfig(
        vectors={name: edge.EdgeVectorParams(params["size"], edge.Distance.Cosine) for name, params in dense.items()},
        sparse_vectors={name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in sparse},
        hnsw_config=edge.HnswIndexConfig(fields(body["hnsw_config"], "m")["m"], 16, 10_000),
        quantization_config=edge.ScalarQuantizationConfig(edge.ScalarType.Int8, quantile=scalar["quantile"]),
    )


def record_json(record: edge.Record) -> dict[str, Json]:
    vectors = record.vector
    shown = {name: _vector_json(vector) for name, vector in vectors.items()} if isinstance(vectors, dict) else None
    return {"id": str(record.id), "payload": record.payload, "vector": shown}


def _vector_json(vector: Any) -> Json:
    if isinstance(vector, edge.SparseVector):
        return {"indices": vector.indices, "values": vector.values}
    return vector
