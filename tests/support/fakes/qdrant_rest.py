"""A Qdrant server on the loopback: its paths, JSON and errors for the requests that our engine makes, and no others,
answered by the real engine. It can be told to fail."""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import qdrant_edge as edge

from tests.support.fakes.qdrant_wire import (
    Json,
    RefusalError,
    config_of,
    fields,
    filter_of,
    index_of,
    point_of,
    query_of,
    record_json,
)

OPTIMIZERS = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "flush_interval_sec": 5,
}
LAYOUT = "shard_number replication_factor write_consistency_factor"


class Collection:
    def __init__(self, folder: Path, asked: dict[str, Json]) -> None:
        self.asked = asked
        self.metadata: dict[str, Json] = asked.get("metadata", {})
        self.lock = threading.Lock()
        folder.mkdir()
        self.shard = edge.EdgeShard.create(str(folder), config_of(asked))

    def info(self) -> Json:
        names = ("vectors", "sparse_vectors", *LAYOUT.split())
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": self.shard.info().segments_count,
            "points_count": self.shard.info().points_count,
            "payload_schema": {},
            "config": {
                "params": {name: self.asked[name] for name in names if name in self.asked},
                "hnsw_config": {"m": 0, "ef_construct": 100, "full_scan_threshold": 10_000},
                "optimizer_config": OPTIMIZERS,
                "metadata": self.metadata,
            },
        }

    def index(self, body: Json) -> Json:
        given = fields(body, "field_name field_schema")
        return self._updated(edge.UpdateOperation.create_field_index(given["field_name"], index_of(given["field_schema"])))

    def batch(self, body: Json) -> Json:
        return [self._operation(operation) for operation in fields(body, "operations")["operations"]]

    def _operation(self, body: Json) -> Json:
        ((name, value),) = fields(body, optional="upsert delete").items()
        if name == "delete":
            return self.delete(value)
        points = [point_of(point) for point in fields(value, "points")["points"]]
        return self._updated(edge.UpdateOperation.upsert_points(points))

    def delete(self, body: Json) -> Json:
        return self._updated(edge.UpdateOperation.delete_points_by_filter(filter_of(fields(body, "filter")["filter"])))

    def forget(self, point_id: str, key: str) -> None:
        """Not asked by anybody: a field of a record is lost."""
        self._updated(edge.UpdateOperation.delete_payload([point_id], [key]))

    def _updated(self, operation: edge.UpdateOperation) -> Json:
        with self.lock:
            self.shard.update(operation)
        return {"operation_id": 0, "status": "completed"}

    def query(self, body: Json) -> Json:
        searches = [query_of(search) for search in fields(body, "searches")["searches"]]
        answers = self.shard.query_batch(edge.QueryBatchRequest(queries=searches))
        return [{"points": [{"id": str(hit.id), "version": 0, "score": hit.score} for hit in hits]} for hits in answers]

    def retrieve(self, body: Json) -> Json:
        given = fields(body, "ids with_payload with_vector")
        return [record_json(one) for one in self.shard.retrieve(given["ids"], given["with_payload"], given["with_vector"])]

    def scroll(self, body: Json) -> Json:
        given = fields(body, "filter limit with_payload with_vector", "offset")
        records, offset = self.shard.scroll(edge.ScrollRequest(**{**given, "filter": filter_of(given["filter"])}))
        return {
            "points": [record_json(one) for one in records],
            "next_page_offset": None if offset is None else str(offset),
        }

    def count(self, body: Json) -> Json:
        given = fields(body, "filter exact")
        return {"count": self.shard.count(edge.CountRequest(exact=given["exact"], filter=filter_of(given["filter"])))}

    def facet(self, body: Json) -> Json:
        given = fields(body, "key limit filter exact")
        answer = self.shard.facet(edge.FacetRequest(**{**given, "filter": filter_of(given["filter"])}))
        return {"hits": [{"value": hit.value, "count": hit.count} for hit in answer.hits]}


PATHS: dict[tuple[str, str], Callable[[Collection, Json], Json]] = {
    ("PUT", "/index"): Collection.index,
    ("POST", "/points"): Collection.retrieve,
    ("POST", "/points/batch"): Collection.batch,
    ("POST", "/points/delete"): Collection.delete,
    ("POST", "/points/query/batch"): Collection.query,
    ("POST", "/points/scroll"): Collection.scroll,
    ("POST", "/points/count"): Collection.count,
    ("POST", "/facet"): Collection.facet,
}
MUST_WAIT = {"/index", "/points/batch", "/points/delete"}


class QdrantServer:
    """`troubles` holds what happens to the next requests, one each: "fine", a status, "cut" (no answer at all), "lost" (done, but
    the answer is cut) or "garbage"."""

    def __init__(self, folder: Path, *, api_key: str = "") -> None:
        self.folder = folder
        self.api_key = api_key
        self.url = ""
        self.collections: dict[str, Collection] = {}
        self.aliases: dict[str, str] = {}
        self.troubles: list[int | str] = []
        self.requests: list[str] = []
        self.together: threading.Barrier | None = None
        """Who asks for a collection waits here for others who do."""
        self.dropped: set[str] = set()
        """Gone, but listed once more."""

    def answer(self, method: str, address: str, key: str | None, body: Json) -> Json:
        parts = urlsplit(address)
        self.requests.append(f"{method} {parts.path}")
        if self.api_key and key != self.api_key:
            raise RefusalError(401, "Must provide an API key or an Authorization bearer token")
        if (method, parts.path) == ("GET", "/collections"):
            return {"collections": [{"name": name} for name in (*self.collections, *self.dropped)]}
        if (method, parts.path) == ("POST", "/collections/aliases"):
            return self._alias(body)
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", parts.path)
        if not found:
            raise RefusalError(404, "Not Found")
        name, rest = found[1], found[2] or ""
        if not rest and method == "PUT":
            return self._create(name, body)
        name = self.aliases.get(name, name)
        if name not in self.collections:
            if (method, rest) == ("DELETE", ""):
                return False
            raise RefusalError(404, f"Not found: Collection `{name}` doesn't exist!")
        return self._ask(method, name, rest, parts.query, body)

    def _ask(self, method: str, name: str, rest: str, query: str, body: Json) -> Json:
        collection = self.collections[name]
        if not rest:
            return self._whole(method, name, collection, body)
        if (method, rest) not in PATHS:
            raise RefusalError(404, "Not Found")
        if rest in MUST_WAIT and parse_qs(query).get("wait") != ["true"]:
            raise RefusalError(400, "a write that does not wait")
        return PATHS[method, rest](collection, body)

    def _whole(self, method: str, name: str, collection: Collection, body: Json) -> Json:
        if method == "GET":
            if self.together:
                self.together.wait()
            return collection.info()
        if method == "PATCH":
            collection.metadata |= fields(body, "metadata")["metadata"]
        elif method == "DELETE":
            self.collections.pop(name).shard.close()
            self.aliases = {alias: of for alias, of in self.aliases.items() if of != name}
        else:
            raise RefusalError(405, "Method Not Allowed")
        return True

    def _alias(self, body: Json) -> bool:
        for action in fields(body, "actions")["actions"]:
            ((kind, given),) = fields(action, optional="create_alias delete_alias").items()
            if kind == "delete_alias":
                self.aliases.pop(fields(given, "alias_name")["alias_name"], None)
                continue
            asked = fields(given, "collection_name alias_name")
            if asked["alias_name"] in self.collections:
                raise RefusalError(409, f"Wrong input: Collection `{asked['alias_name']}` already exists!")
            if asked["collection_name"] not in self.collections:
                raise RefusalError(404, f"Not found: Collection `{asked['collection_name']}` doesn't exist!")
            self.aliases[asked["alias_name"]] = asked["collection_name"]
        return True

    def _create(self, name: str, body: Json) -> bool:
        asked = fields(body, "vectors sparse_vectors hnsw_config quantization_config", f"metadata {LAYOUT}")
        if name in self.collections:
            raise RefusalError(409, f"Wrong input: Collection `{name}` already exists!")
        if name in self.aliases:
            raise RefusalError(
                400, f"Wrong input: Can't create collection with name {name}. Alias with the same name already exists"
            )
        self.collections[name] = Collection(Path(tempfile.mkdtemp(dir=self.folder)) / "shard", asked)
        return True


@contextmanager
def qdrant_server(folder: Path, *, api_key: str = "") -> Iterator[QdrantServer]:
    held = QdrantServer(folder, api_key=api_key)

    class Handler(_Handler):
        server_of = held

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        held.url = f"http://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield held
        finally:
            listening.shutdown()
            thread.join()
            for collection in held.collections.values():
                collection.shard.close()


class _Handler(BaseHTTPRequestHandler):
    server_of: QdrantServer

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        trouble = self.server_of.troubles.pop(0) if self.server_of.troubles else None
        if trouble == "cut":
            return
        if isinstance(trouble, int):
            self._send(trouble, {"status": {"error": "Service internal error: told to fail"}, "time": 0.0})
            return
        status, answer = self._answered(body)
        if trouble == "garbage":
            self._send(200, "no answer of a Qdrant server")
        elif trouble != "lost":
            self._send(status, answer)

    def _answered(self, body: Json) -> tuple[int, Json]:
        try:
            result = self.server_of.answer(self.command, self.path, self.headers.get("api-key"), body)
        except RefusalError as refused:
            return refused.status, {"status": {"error": str(refused)}, "time": 0.0}
        except Exception as error:
            if type(error) is not Exception:  # the engine raises the bare class
                raise
            return 400, {"status": {"error": f"Wrong input: {error}"}, "time": 0.0}
        return 200, {"result": result, "status": "ok", "time": 0.0}

    def _send(self, status: int, answer: Json) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815
