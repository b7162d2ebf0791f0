"""Reads points of the embedded engine: by id, by whole lessons, or all of them page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import qdrant_edge as edge

from bythebook.index.payload import TEXT_FIELDS, decoding, text_from_payload
from bythebook.index.qdrant_edge.values import condition, indexed_chunk, is_any, is_value
from bythebook.index.swap import is_point_id
from bythebook.index.vectors import ChunkText, Filters, IndexedChunk

POINTS_PER_PAGE = 256


def read_chunks(shard: edge.EdgeShard, ids: Sequence[str], *, with_vectors: bool = False) -> dict[str, IndexedChunk]:
    return as_chunks(shard.retrieve([name for name in ids if is_point_id(name)], True, with_vectors))


def read_texts(shard: edge.EdgeShard, ids: Sequence[str]) -> dict[str, ChunkText]:
    return as_texts(shard.retrieve([name for name in ids if is_point_id(name)], TEXT_FIELDS, False))


def read_count(shard: edge.EdgeShard, filters: Filters) -> int:
    return shard.count(edge.CountRequest(exact=True, filter=condition(filters)))


def is_alone(shard: edge.EdgeShard, book_id: str) -> bool:
    """Whether there is no other book."""
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
    """Some points, whole or what their texts need, and where the next page begins, None after the last."""
    fields = True if whole else TEXT_FIELDS
    return shard.scroll(edge.ScrollRequest(offset=offset, limit=POINTS_PER_PAGE, with_payload=fields, with_vector=False))


def as_texts(records: Sequence[edge.Record]) -> dict[str, ChunkText]:
    with decoding("a record"):
        return {str(record.id): text_from_payload(str(record.id), record.payload or {}) for record in records}


def as_chunks(records: Sequence[edge.Record]) -> dict[str, IndexedChunk]:
    with decoding("a record"):
        return {str(record.id): indexed_chunk(record) for record in records}
