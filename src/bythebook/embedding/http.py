"""What all embedders on a server share, and JSON requests to such a server: what is retried, what is an error, and what the
error says.

A key is sent in a header and nowhere else: no message or log of this module shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import httpx
import numpy as np
from numpy.typing import NDArray

from bythebook.embedding.embedder import Vectors
from bythebook.errors import InvalidSettings, RateLimited, Rejected, Unavailable
from bythebook.retry import MESSAGE_LENGTH, TRIED_AGAIN, FailedTry, Patience, checked_key, retry_after_seconds

TIMEOUT_SECONDS = 30.0
REQUESTS_AT_ONCE = 2
CUT_OFF = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError, httpx.DecodingError)

Item = TypeVar("Item")
Result = TypeVar("Result")


class EmbeddingServer:
    """One HTTP server, one key. `key_variable` is what a person sets to change the key."""

    def __init__(
        self,
        base_url: str,
        *,
        key: str,
        key_variable: str,
        patience: Patience | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        address = checked_address(base_url)
        self.host = address.host
        self._key = checked_key(key, key_variable)
        self._key_variable = key_variable
        self._patience = patience or Patience()
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.AsyncClient(base_url=address, headers=headers, timeout=timeout_seconds)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends a request and returns the response's JSON. Raises Rejected, RateLimited or Unavailable."""
        patience = self._patience
        started = patience.clock()
        tries = 0
        while True:
            outcome = await self._try(path, body)
            tries += 1
            if not isinstance(outcome, FailedTry):
                return self._read(outcome)
            delay = patience.delay(tries, outcome.retry_after_seconds)
            if tries >= patience.tries or patience.clock() - started + delay > patience.total_seconds:
                raise self._given_up(outcome, tries)
            await patience.sleep(delay)

    async def close(self) -> None:
        await self._client.aclose()

    def unit_rows(self, rows: Any, *, count: int, dimension: int | None) -> Vectors:
        """Checks the server's embeddings and L2-normalises them."""
        try:
            vectors = np.array(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self.nonsense("embeddings that are not numbers, or not all as many") from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise self.nonsense(f"embeddings of shape {vectors.shape} for {count} texts")
        if dimension is not None and vectors.shape[1] != dimension:
            raise Rejected(
                f"The model at {self.host} answered with {dimension} dimensions before, and with {vectors.shape[1]} now; "
                "check that the server keeps to one model, and start again"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise self.nonsense("an embedding of length zero or infinity")
        return np.asarray(vectors / lengths, dtype=np.float32)

    def nonsense(self, what: str) -> Unavailable:
        return Unavailable(f"{self.host} answered with {what}; check that its address is that of an embedding server")

    async def _try(self, path: str, body: Mapping[str, Any]) -> httpx.Response | FailedTry:
        try:
            response = await self._client.post(path, json=body)
        except CUT_OFF as error:
            return FailedTry(reason=type(error).__name__)
        if response.status_code in TRIED_AGAIN and "insufficient_quota" not in response.text:
            return FailedTry(
                reason=f"status {response.status_code}",
                rate_limited=response.status_code == 429,
                retry_after_seconds=retry_after_seconds(response.headers.get("Retry-After", "")),
            )
        return response

    def _read(self, response: httpx.Response) -> Any:
        if response.status_code in (401, 403):
            wrong = "does not accept the key it was sent" if self._key else "asks for a key"
            raise Rejected(f"{self.host} {wrong}; set {self._key_variable} to one it accepts")
        if not response.is_success:
            said = said_by_server(response).replace(self._key or "\0", "…")[:MESSAGE_LENGTH]
            raise Rejected(
                f"{self.host} refused the request with status {response.status_code} ({said}); "
                "check the model's name, the server's address and your plan there"
            )
        try:
            return response.json()
        except ValueError as error:
            raise self.nonsense("something that is not JSON") from error

    def _given_up(self, failure: FailedTry, tries: int) -> Unavailable:
        if failure.rate_limited:
            wait = failure.retry_after_seconds
            when = "in a while" if wait is None else f"in {wait:.0f} seconds"
            return RateLimited(
                f"{self.host} accepts no more requests for now, asked {tries} times; try again {when}", retry_after_seconds=wait
            )
        return Unavailable(
            f"{self.host} does not answer ({failure.reason}), asked {tries} times; check the network and try again"
        )


class RemoteEmbedder:
    """An `Embedder` on a server. Its dimension is the one of the server's first answer. A vendor's class says how the server is
    asked, and what it is called there where the address is not the vendor's own."""

    vendor: ClassVar[str]
    url: ClassVar[str]
    default_model: ClassVar[str]
    key_variable: ClassVar[str]

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str | None = None,
        model: str | None = None,
        key_variable: str | None = None,
        requests_at_once: int = REQUESTS_AT_ONCE,
        patience: Patience | None = None,
    ) -> None:
        self.server = EmbeddingServer(
            base_url or self.url, key=api_key, key_variable=key_variable or self.key_variable, patience=patience
        )
        self.model = model or self.default_model
        self._dimension: int | None = None
        self._requests_at_once = requests_at_once

    @property
    def name(self) -> str:
        at_vendor = self.server.host == httpx.URL(self.url).host
        return f"{self.vendor if at_vendor else self.server.host}:{self.model}"

    async def dimension(self) -> int:
        if self._dimension is None:
            await self._embed_batch(["dimension"])
        assert self._dimension is not None
        return self._dimension

    async def load(self) -> None:
        """Nothing is opened ahead: the server has its model loaded, or loads it at the first question."""

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        parts = await in_order(self._embed_batch, list(self.batches(texts)), at_once=self._requests_at_once)
        return np.concatenate([np.empty((0, self._dimension or 0), np.float32), *parts])

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        (batch,) = self.batches([text])
        vector: NDArray[np.float32] = (await self._embed_batch(batch, question=True))[0]
        return vector

    async def close(self) -> None:
        await self.server.close()

    async def _embed_batch(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        rows = await self.request(texts, question=question)
        vectors = self.server.unit_rows(rows, count=len(texts), dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return vectors

    @staticmethod
    def batches(texts: Sequence[str]) -> Iterable[Sequence[str]]:
        """The texts in order, ready to be sent, as many at a time as a request may have."""
        raise NotImplementedError

    async def request(self, texts: Sequence[str], *, question: bool) -> Any:
        """The server's embeddings of a batch, unchecked."""
        raise NotImplementedError


async def in_order(work: Callable[[Item], Awaitable[Result]], items: Sequence[Item], *, at_once: int) -> list[Result]:
    """Runs `work` on several items at once and returns the results in order; the first error stops all of it."""
    results: dict[int, Result] = {}
    pending = iter(enumerate(items))

    async def go_on() -> None:
        for index, item in pending:
            results[index] = await work(item)

    tasks = [asyncio.create_task(go_on()) for _ in range(at_once)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [results[index] for index in range(len(items))]


def sendable(text: str) -> str:
    """Makes a text sendable: servers refuse one of only spaces, and a lone surrogate has no UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8") if text.strip() else "-"


def checked_address(base_url: str) -> httpx.URL:
    try:
        address = httpx.URL(base_url)
    except httpx.InvalidURL:
        address = httpx.URL()
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidSettings("The embedding server's address must be like https://host/path")
    return address


def said_by_server(response: httpx.Response) -> str:
    """Returns the message in the error's JSON, wherever the server puts it, or else the text; on one line."""
    try:
        said = response.json()
    except ValueError:
        said = response.text
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and name in said:
            said = said[name]
    return " ".join(str(said).split()) or response.reason_phrase
