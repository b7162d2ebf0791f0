"""OpenAI's and Cohere's embedding endpoints on the loopback, as strict as the real ones.

They check method, path, key, every field of the body and the limits, and refuse in the words and JSON of the real ones.
What goes wrong on a network is put before the next requests with `answers`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeGuard, TypeVar

import numpy as np

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    missing_bytes: int = 0
    """Promised by Content-Length, never sent: the connection is cut in the middle of the body."""
    silent: bool = False
    """Nothing is sent until the server closes."""


def json_answer(status: int, body: Json, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status=status, body=json.dumps(body).encode(), headers=headers or {})


class RequestError(Exception):
    """What the real server would refuse."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def direction(text: str, dimension: int) -> list[float]:
    """A vector of its own for every text, three times as long as it should be."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return [float(number) for number in 3 * vector / np.linalg.norm(vector)]


class EmbeddingServer:
    path: str
    model: str

    def __init__(self, *, key: str, dimension: int, model: str = "") -> None:
        self.key = key
        self.model = model or self.model
        self.dimension = dimension
        self.answers: deque[Answer] = deque()
        self.bodies: list[Json] = []
        self.closing = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def respond(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> Answer:
        try:
            return self._checked(method, path, headers, content)
        except RequestError as refused:
            return json_answer(refused.status, self.error(refused))

    def _checked(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> Answer:
        if (method, path) != ("POST", self.path):
            raise RequestError(404, f"Invalid URL ({method} {path})")
        sent = headers.get("Authorization")
        if sent != (f"Bearer {self.key}" if self.key else None):
            raise RequestError(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        if headers.get("Content-Type") != "application/json":
            raise RequestError(400, "Content-Type must be application/json")
        body = json.loads(content)
        self.bodies.append(body)
        return self.answers.popleft() if self.answers else json_answer(200, self.embed(body))

    def error(self, refused: RequestError) -> Json:
        raise NotImplementedError

    def embed(self, body: Json) -> Json:
        raise NotImplementedError


class OpenAIServer(EmbeddingServer):
    path = "/v1/embeddings"
    model = "text-embedding-3-small"

    def error(self, refused: RequestError) -> Json:
        return {"error": {"message": refused.message, "type": "invalid_request_error", "param": None, "code": refused.code}}

    def embed(self, body: Json) -> Json:
        if unknown := body.keys() - {"model", "input", "encoding_format", "dimensions", "user"}:
            raise RequestError(400, f"Unrecognized request argument supplied: {', '.join(sorted(unknown))}")
        if body.get("model") != self.model:
            raise RequestError(
                404, f"The model `{body.get('model')}` does not exist or you do not have access to it.", "model_not_found"
            )
        if body.get("encoding_format") != "float":
            raise RequestError(400, "This server answers in floats only")
        texts = body.get("input")
        if not is_texts(texts) or not 1 <= len(texts) <= 2048 or "" in texts:
            raise RequestError(400, "'$.input' is invalid. Please check the API reference.")
        # As its tokenizer would count at worst.
        tokens = [len(text.encode()) for text in texts]
        if max(tokens) > 8191:
            raise RequestError(
                400, f"This model's maximum context length is 8192 tokens, however you requested {max(tokens)} tokens."
            )
        if sum(tokens) > 300_000:
            raise RequestError(400, f"Requested {sum(tokens)} tokens, max 300000 tokens per request", "max_tokens_per_request")
        entries = [
            {"object": "embedding", "index": index, "embedding": direction(text, self.dimension)}
            for index, text in enumerate(texts)
        ]
        # The order is told by "index" and by nothing else.
        usage = {"prompt_tokens": sum(tokens), "total_tokens": sum(tokens)}
        return {"object": "list", "data": entries[::-1], "model": self.model, "usage": usage}


class CohereServer(EmbeddingServer):
    path = "/v2/embed"
    model = "embed-english-v3.0"

    def error(self, refused: RequestError) -> Json:
        return {"id": "7a1f", "message": "invalid api token" if refused.status == 401 else refused.message}

    def embed(self, body: Json) -> Json:
        allowed = {
            "model",
            "texts",
            "input_type",
            "embedding_types",
            "truncate",
            "output_dimension",
            "max_tokens",
            "images",
            "inputs",
        }
        if unknown := body.keys() - allowed:
            raise RequestError(422, f"unknown field: parameter '{', '.join(sorted(unknown))}' is not a valid field")
        if body.get("model") not in (self.model, "embed-v4.0"):
            raise RequestError(404, f"model '{body.get('model')}' not found, make sure the correct model ID was used")
        if body.get("input_type") not in ("search_document", "search_query", "classification", "clustering"):
            raise RequestError(400, "valid input_type must be provided with the provided model")
        if body.get("embedding_types") != ["float"] or body.get("truncate") not in ("NONE", "START", "END"):
            raise RequestError(400, "invalid request: embedding_types and truncate must be valid")
        texts = body.get("texts")
        if not is_texts(texts) or not texts or any(not text.strip() for text in texts):
            raise RequestError(400, "invalid request: texts must be a list of non-empty strings")
        if len(texts) > 96:
            raise RequestError(400, f"total number of texts must be at most 96 - received {len(texts)}")
        rows = [direction(f"{body['input_type']} {text}", self._dimension_for(body)) for text in texts]
        return {"id": "7a1f", "embeddings": {"float": rows}, "texts": texts, "response_type": "embeddings_by_type"}

    def _dimension_for(self, body: Json) -> int:
        if body["model"] == self.model:
            if "output_dimension" in body:
                raise RequestError(400, "output_dimension is not supported by the provided model")
            return self.dimension
        chosen = int(body.get("output_dimension", 1536))
        if chosen not in (256, 512, 1024, 1536):
            raise RequestError(
                400, f"{chosen} is not a valid output_dimension value for this model, [256 512 1024 1536] is supported"
            )
        return chosen


def is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def handler_for(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._respond()

        def do_GET(self) -> None:
            self._respond()

        def log_message(self, format: str, *args: Any) -> None:
            """Tests print nothing."""

        def _respond(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = server.respond(self.command, self.path, dict(self.headers), content)
            if answer.silent:
                server.closing.wait()
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(answer.body) + answer.missing_bytes))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = answer.missing_bytes > 0

    return Handler


AnyServer = TypeVar("AnyServer", bound=EmbeddingServer)


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()
