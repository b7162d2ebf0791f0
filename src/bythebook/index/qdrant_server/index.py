"""The vector index on a Qdrant server or cluster: behaves as the embedded one, and is shared by many processes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from bythebook.errors import InvalidInput, InvalidSettings, NotFound
from bythebook.index.lexical import Terms
from bythebook.index.manifest import Manifest
from bythebook.index.payload import (
    INDEXES,
    TEXT_FIELDS,
    check_dimension,
    check_name,
    indexed_chunk,
    is_point_id,
    pages,
    record_terms,
    swap,
    text_from_payload,
)
from bythebook.index.qdrant_server.calls import Sleep, call, reading
from bythebook.index.qdrant_server.values import (
    condition,
    has_id,
    index_params,
    is_any,
    is_value,
    operations,
    requests,
)
from bythebook.index.vectors import DENSE, LEXICAL, Candidate, ChunkText, Filters, IndexedChunk, Replacement
from bythebook.retry import without_login

MANIFEST = "bythebook"
UNFINISHED = "unfinished"
POINTS_PER_REQUEST = 256
"""A chunk is some 20 kB of JSON, and a server takes 32 MB in one request unless it is told otherwise."""
FACET_LIMIT = 1_000_000
CONFLICT = 409

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
Name = TypeVar("Name", str, int)
Search = tuple[models.QueryRequest, models.Filter, int]


class ServerIndex:
    """A `VectorIndex` on a server. Collections whose name is not ours belong to others and are never read; those without our
    manifest are never changed."""

    def __init__(
        self, client: AsyncQdrantClient, url: str, *, collection_name: str, layout: Mapping[str, Any], sleep: Sleep
    ) -> None:
        self._client = client
        self._url = url
        self._own_name = re.compile(rf"{re.escape(collection_name)}(_\d+)?")
        self._layout = layout
        self._sleep = sleep
        self._manifests: dict[str, Manifest] = {}

    @classmethod
    async def open(
        cls,
        url: str,
        api_key: str = "",
        *,
        collection_name: str = "textbook_chunks",
        shard_number: int | None = None,
        replication_factor: int | None = None,
        write_consistency_factor: int | None = None,
        timeout_seconds: int = 30,
        sleep: Sleep = asyncio.sleep,
    ) -> ServerIndex:
        """Opens the client; asks nothing of the server yet. `collection_name`: the name of our first collection; the others have
        a number after it. The three numbers are for collections to be created; None leaves them to the server."""
        try:
            # As a header: given as `api_key`, the client would demand https and warn without it.
            client = AsyncQdrantClient(
                url=url,
                timeout=timeout_seconds,
                check_compatibility=False,
                headers={"api-key": api_key} if api_key else None,
            )
        except ValueError as error:
            raise InvalidSettings(f"QDRANT_URL cannot be {without_login(url)!r}: {error}. Give it as http://host:6333") from error
        copies = {"replication_factor": replication_factor, "write_consistency_factor": write_consistency_factor}
        layout = {"shard_number": shard_number, **copies}
        return cls(client, url, collection_name=collection_name, layout=layout, sleep=sleep)

    async def collections(self) -> Mapping[str, Manifest]:
        """The manifests of our collections. One request lists the names; one for each of ours, all at once, reads its
        manifest."""
        listed = await self._call(self._client.get_collections)
        names = sorted(one.name for one in listed.collections if self._own_name.fullmatch(one.name))
        stored = zip(names, await asyncio.gather(*map(self._listed_manifest, names)), strict=True)
        with reading(self._url, "a manifest"):
            found = {name: Manifest.from_json(text) for name, text in stored if text and text != UNFINISHED}
        self._manifests |= found
        return found

    async def create(self, collection: str, manifest: Manifest) -> None:
        """Makes a collection. The manifest is written last: a collection without it was not finished, and is created again."""
        check_name(collection)
        if any(one.name == collection for one in (await self._call(self._client.get_collections)).collections):
            if await self._stored_manifest(collection) != UNFINISHED:
                raise InvalidInput(
                    f"The server at {without_login(self._url)} has a collection '{collection}' already. Drop it first."
                )
            await self._call(self._client.delete_collection, collection)
        await self._call(self._create, collection, manifest.dimension)
        for name, index in INDEXES.items():
            await self._call(self._client.create_payload_index, collection, name, index_params(index))
        await self._save(collection, manifest)

    async def save_manifest(self, collection: str, manifest: Manifest) -> None:
        await self._manifest(collection)
        await self._save(collection, manifest)

    async def drop(self, collection: str) -> None:
        await self._manifest(collection)
        await self._call(self._client.delete_collection, collection)
        del self._manifests[collection]

    async def alias(self, name: str, collection: str) -> None:
        """Sets the alias in one step, also where the name belonged to another collection."""
        before = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name))
        now = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=collection, alias_name=name))
        await self._call(self._client.update_collection_aliases, [before, now])

    async def replace(self, collection: str, book_id: str, replacements: Sequence[Replacement]) -> None:
        """One request holds whole lessons: their new points, and the deletion of their old ones. The server applies it in
        order."""
        dimension = (await self._manifest(collection)).dimension
        by_file = {replacement.source_file: replacement for replacement in replacements}
        sizes = {name: len(replacement.chunks) for name, replacement in by_file.items()}
        planned = [
            swap(book_id, [by_file[name] for name in page], dimension=dimension)
            for page in pages(sizes, points=POINTS_PER_REQUEST)
        ]
        for one in planned:
            await self._call(self._client.batch_update_points, collection, operations(one), wait=True)

    async def remove_book(self, collection: str, book_id: str) -> None:
        await self._manifest(collection)
        everything = models.FilterSelector(filter=models.Filter(must=[is_value("book_id", book_id)]))
        await self._call(self._client.delete, collection, everything, wait=True)

    async def candidates(
        self,
        collection: str,
        *,
        embedding: NDArray[np.float32] | None,
        terms: Terms | None,
        filters: Filters,
        depth: int,
        exact: bool = False,
    ) -> list[Candidate]:
        """Two searches, then the score by each for what only the other found, so that both scores are exact for all."""
        manifest = await self._manifest(collection)
        if embedding is not None:
            check_dimension(embedding, manifest.dimension, filters.book_id)
        ask = requests(embedding, terms, filters.book_id, exact=exact)
        found = await self._search(collection, {name: (one, condition(filters), depth) for name, one in ask.items()})
        union = {point_id for scores in found.values() for point_id in scores}
        ask = requests(embedding, terms, filters.book_id, exact=True)
        missing = {name: union - scores.keys() for name, scores in found.items() if union - scores.keys()}
        rest = await self._search(collection, {name: (ask[name], has_id(ids), len(ids)) for name, ids in missing.items()})
        scores = {name: found.get(name, {}) | rest.get(name, {}) for name in (DENSE, LEXICAL)}
        return [
            Candidate(id=one, cosine=scores[DENSE].get(one, 0.0), lexical=scores[LEXICAL].get(one, 0.0)) for one in sorted(union)
        ]

    async def chunks(
        self, collection: str, book_id: str, ids: Sequence[str], *, with_vectors: bool = False
    ) -> list[IndexedChunk]:
        records = await self._records(collection, ids, with_payload=True, with_vectors=with_vectors)
        with reading(self._url, "a record"):
            found = {str(record.id): indexed_chunk(record) for record in records}
        return [found[name] for name in ids if name in found and found[name].chunk.book_id == book_id]

    async def texts(self, collection: str, book_id: str, ids: Sequence[str]) -> list[ChunkText]:
        records = await self._records(collection, ids, with_payload=TEXT_FIELDS)
        with reading(self._url, "a record"):
            found = {str(record.id): text_from_payload(str(record.id), record.payload or {}) for record in records}
        return [found[name] for name in ids if name in found and found[name].book_id == book_id]

    async def scan(self, collection: str, filters: Filters, *, with_vectors: bool = False) -> AsyncIterator[IndexedChunk]:
        """Yields lessons in order of path."""
        for page in pages(await self._source_files(collection, filters)):
            wanted = models.Filter(must=[condition(filters), is_any("source_file", page)])
            records = await self._scroll(collection, wanted, with_vectors)
            with reading(self._url, "a record"):
                found = [indexed_chunk(record) for record in records]
            for indexed in sorted(found, key=lambda one: (one.chunk.source_file, one.chunk.chunk_index)):
                yield indexed

    async def count(self, collection: str, filters: Filters) -> int:
        await self._manifest(collection)
        return (await self._call(self._client.count, collection, condition(filters), exact=True)).count

    async def idf(self, collection: str, book_id: str, terms: Sequence[int]) -> dict[int, float]:
        """A search for one term alone scores its IDF times its weight in the chunk found, and that weight is known."""
        await self._manifest(collection)
        asked = {term: requests(None, Terms(ids=(term,), weights=(1.0,)), book_id, exact=False)[LEXICAL] for term in terms}
        everything = condition(Filters(book_id=book_id))
        found = await self._search(collection, {term: (one, everything, 1) for term, one in asked.items()})
        best = {term: next(iter(scores.items())) for term, scores in found.items() if scores}
        held = await self._records(collection, list({id for id, _ in best.values()}), with_payload=False, with_vectors=[LEXICAL])
        chunks = {str(record.id): record_terms(record) for record in held}
        # A chunk that was replaced in between is gone.
        weights = {term: chunks[id].weight(term) for term, (id, _) in best.items() if id in chunks}
        return {term: best[term][1] / weight for term, weight in weights.items() if weight}

    async def source_files(self, collection: str, book_id: str) -> dict[str, int]:
        return await self._source_files(collection, Filters(book_id=book_id))

    async def settle(self, collection: str) -> None:
        """Does nothing: every write waited until it was durable, and a server builds its graphs by itself."""
        await self._manifest(collection)

    async def read_ahead(self, collection: str) -> None:
        """Does nothing: a server has its own memory, and other processes may write to it."""
        await self._manifest(collection)

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, method: Callable[Asked, Awaitable[Answer]], *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        return await call(self._url, partial(method, *args, **kwargs), sleep=self._sleep)

    async def _create(self, collection: str, dimension: int) -> None:
        """No graph, as in the embedded engine: a search scans the int8 copies of one book, and scores the best exactly."""
        int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        try:
            await self._client.create_collection(
                collection,
                vectors_config={DENSE: models.VectorParams(size=dimension, distance=models.Distance.COSINE)},
                sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                hnsw_config=models.HnswConfigDiff(m=0),
                quantization_config=models.ScalarQuantization(scalar=int8),
                metadata={MANIFEST: UNFINISHED},
                **self._layout,
            )
        except UnexpectedResponse as error:
            if error.status_code != CONFLICT:  # it exists: the answer to an earlier try was lost
                raise

    async def _save(self, collection: str, manifest: Manifest) -> None:
        await self._call(self._client.update_collection, collection, metadata={MANIFEST: manifest.to_json()})
        self._manifests[collection] = manifest

    async def _stored_manifest(self, collection: str) -> str | None:
        info = await self._call(self._client.get_collection, collection)
        text = (info.config.metadata or {}).get(MANIFEST)
        return text if isinstance(text, str) else None

    async def _listed_manifest(self, collection: str) -> str | None:
        """None also for a collection that was dropped since it was listed."""
        with suppress(NotFound):
            return await self._stored_manifest(collection)
        return None

    async def _manifest(self, collection: str) -> Manifest:
        """The manifest, read once: only its dimension is needed here, which never changes."""
        if collection not in self._manifests:
            text = await self._stored_manifest(check_name(collection))
            if text is None or text == UNFINISHED:
                raise NotFound(
                    f"The collection '{collection}' at {without_login(self._url)} holds no books. Run: bythebook ingest"
                )
            with reading(self._url, "a manifest"):
                self._manifests[collection] = Manifest.from_json(text)
        return self._manifests[collection]

    async def _search(self, collection: str, asked: Mapping[Name, Search]) -> dict[Name, dict[str, float]]:
        if not asked:
            return {}
        batch = [one.model_copy(update={"filter": wanted, "limit": limit}) for one, wanted, limit in asked.values()]
        answers = await self._call(self._client.query_batch_points, collection, batch)
        return {name: {str(hit.id): hit.score for hit in answer.points} for name, answer in zip(asked, answers, strict=True)}

    async def _records(
        self, collection: str, ids: Sequence[str], *, with_payload: bool | list[str], with_vectors: bool | list[str] = False
    ) -> list[models.Record]:
        await self._manifest(collection)
        possible = [name for name in ids if is_point_id(name)]
        if not possible:
            return []
        return await self._call(self._client.retrieve, collection, possible, with_payload=with_payload, with_vectors=with_vectors)

    async def _scroll(self, collection: str, wanted: models.Filter, with_vectors: bool) -> list[models.Record]:
        found: list[models.Record] = []
        offset = None
        while True:
            records, offset = await self._call(
                self._client.scroll,
                collection,
                wanted,
                limit=POINTS_PER_REQUEST,
                offset=offset,
                with_vectors=with_vectors,
            )
            found += records
            if offset is None:
                return found

    async def _source_files(self, collection: str, filters: Filters) -> dict[str, int]:
        await self._manifest(collection)
        wanted = condition(filters)
        answer = await self._call(self._client.facet, collection, "source_file", wanted, limit=FACET_LIMIT, exact=True)
        return {str(hit.value): hit.count for hit in sorted(answer.hits, key=lambda hit: str(hit.value))}
