"""Runs the operations of other commands while this process holds the index, so that a book can be asked while another is
ingested. Speaks HTTP by the standard library on the loopback, because importing anything larger would take a person's time.

`bythebook serve` runs the same operations by its own routes (`web.routes.local`).
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import parse_qs, urlsplit

from bythebook.errors import BookError, Released, Unavailable
from bythebook.index.qdrant_edge.index import is_read_only
from bythebook.operations.client import DONE
from bythebook.operations.runner import ServerAddress, announced, proof, read_address
from bythebook.plain import from_plain, to_plain

if TYPE_CHECKING:
    from bythebook.wiring.author import Resources

OPERATIONS = {
    name: f"bythebook.operations.{module}"
    for module, names in {
        "author": ("inspect", "list_books", "list_outdated", "publish", "calibrate", "read_calibration"),
        "backup": ("back_up",),
        "books": ("read_holdings", "remove_book", "rename_book"),
        "contents": ("read_contents", "read_texts"),
        "evaluation": ("evaluate", "draft_questions"),
        "reader": (
            "choose_book",
            "fetch_context",
            "fetch_lesson",
            "list_lessons",
            "list_states",
            "read_lesson_text",
            "read_state",
            "search",
        ),
        "threads": ("converse", "resume"),
        "turns": ("answer",),
    }.items()
    for name in names
}
"""Each operation with its module, which is imported when the operation is first run: a server starts without an author's
tools."""
TURNS = frozenset({"answer", "converse"})
"""Operations that finish when the process is told to end. Others, which may take hours, are cancelled."""
BROKEN_OFF = "The process that holds the index is ending. What is done is kept: run the command again."
LONGEST_REQUEST_BYTES = 64 * 1024 * 1024
REQUEST_SECONDS = 10.0
OTHER_VERSION = (
    "The process that holds the index is another version of this program and does not know what was asked. Stop it, start it "
    "with this version, and try again."
)


async def load_operation(name: str) -> Callable[..., Any] | None:
    """The operation of this name, or None where there is none that others may run."""
    if name not in OPERATIONS:
        return None
    operation: Callable[..., Any] = getattr(await asyncio.to_thread(import_module, OPERATIONS[name]), name)
    return operation


async def lines(
    operation: Callable[..., Any], plain: dict[str, Any], resources: Resources, stopping: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    """Each value on a line; at the end that it is done, or the error, which the command raises as its own."""
    kinds = get_type_hints(operation)
    if plain.keys() - kinds:
        yield _line({"error": Unavailable.__name__, "text": OTHER_VERSION})
        return
    given = {name: from_plain(kinds[name], value) for name, value in plain.items()}
    try:
        async with aclosing(_values(operation(resources, **given))) as values:
            async for value, last in values:
                yield _line({"value": to_plain(value)})
                if stopping.is_set() and not last and operation.__name__ not in TURNS:
                    raise Released(BROKEN_OFF)
    except BookError as error:
        yield _line({"error": type(error).__name__, "text": str(error)})
    else:
        yield _line(DONE)


async def _values(outcome: AsyncGenerator[Any, None] | Awaitable[Any]) -> AsyncGenerator[tuple[Any, bool], None]:
    """Each value, and whether it is known to be the last."""
    if isinstance(outcome, Awaitable):
        yield await outcome, True
        return
    async with aclosing(outcome) as values:
        async for value in values:
            yield value, False


def _line(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False).encode() + b"\n"


@asynccontextmanager
async def hosting(resources: Resources) -> AsyncIterator[None]:
    """While this is held, other commands that need this index have this process run their operations."""
    folder = resources.data_dir / "index"
    if resources.settings.qdrant_url or is_read_only(folder):  # a server can be reached by all, and a read-only folder copied
        yield
        return
    host = _Host(resources)
    server = await asyncio.start_server(host.answer, "127.0.0.1", 0)
    try:
        with announced(folder, host="127.0.0.1", port=server.sockets[0].getsockname()[1]):
            host.address = read_address(folder)
            yield
    finally:
        host.stopping.set()
        server.close()
        await host.end()


class _Host:
    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._answering: set[asyncio.Task[None]] = set()
        self.stopping = asyncio.Event()
        self.address: ServerAddress | None = None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request per connection. Work for a client that has gone is cancelled."""
        work = asyncio.create_task(self._answer(reader, writer))
        self._answering.add(work)
        try:
            await asyncio.wait({work})
            if not work.cancelled() and (error := work.exception()):
                raise error
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            pass  # not a request of ours, or the client has gone
        finally:
            self._answering.discard(work)
            work.cancel()
            writer.close()

    async def end(self) -> None:
        """Waits for turns and for operations with one result; the others are cancelled at their next value."""
        while self._answering:
            await asyncio.wait(self._answering)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(REQUEST_SECONDS):
            method, target, headers = await _head(reader)
        place = urlsplit(target)
        if method == "GET" and place.path == "/local/greeting" and self.address:
            nonce = parse_qs(place.query).get("nonce", [""])[0]
            await _send(writer, HTTPStatus.OK, proof(self.address, nonce).encode())
            return
        operation = await load_operation(place.path.removeprefix("/local/operations/")) if self._knows(headers) else None
        if operation is None:  # the rest of such a request is not read
            await _send(writer, HTTPStatus.NOT_FOUND, json.dumps({"detail": "There is nothing at this address."}).encode())
            return
        async with asyncio.timeout(REQUEST_SECONDS):
            body = await reader.readexactly(min(int(headers.get("content-length", "0")), LONGEST_REQUEST_BYTES))
        await _send(writer, HTTPStatus.OK)
        await self._run(operation, json.loads(body), reader, writer)

    async def _run(
        self, operation: Callable[..., Any], plain: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async def work() -> None:
            async with aclosing(lines(operation, plain, self._resources, self.stopping)) as told:
                async for line in told:
                    writer.write(line)
                    await writer.drain()

        working, gone = asyncio.create_task(work()), asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, gone):
                task.cancel()
            await asyncio.wait({working, gone})
        if not working.cancelled():
            working.result()

    def _knows(self, headers: dict[str, str]) -> bool:
        """Whether the request carries the token."""
        said = headers.get("authorization", "").removeprefix("Bearer ")
        return self.address is not None and hmac.compare_digest(said.encode(), self.address.token.encode())


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]]:
    """The method, the target and the headers. Raises ValueError for what is not a request."""
    with suppress(asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
        return method, target, headers
    raise ValueError("the head of the request is too long")


async def _send(writer: asyncio.StreamWriter, status: HTTPStatus, body: bytes = b"") -> None:
    """Sends the head of a response and what is known of its body; the body ends with the connection."""
    writer.write(f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
