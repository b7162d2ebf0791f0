"""Operations run by the server that holds the index: a request out, a line of JSON back for each value.

Speaks HTTP by the standard library, because a person waits for its import. Its calls block, so they run on a thread; a
cancelled one is woken by closing its socket, which is also how the server learns that nobody listens any more.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, get_type_hints

from bythebook import __version__, errors
from bythebook.errors import BookError, Locked, Released, Unavailable
from bythebook.operations.runner import ServerAddress, proof, read_address
from bythebook.plain import from_plain, to_plain
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.wiring.reader import Library

P = ParamSpec("P")
T = TypeVar("T")
L = TypeVar("L", bound="Library")

GREETING_SECONDS = 10.0
"""A server that is alive answers a greeting in milliseconds, unless the machine is swamped."""
LONGEST_GREETING = 4096
DONE: dict[str, Any] = {"done": True}
"""The last line of a response. A response without it was cut off."""


def find_server(index_folder: Path) -> ServerAddress | None:
    """Finds the running server that holds this index; None if there is none, or if something else has its port now."""
    address = read_address(index_folder)
    if address is None or not _greets(address):
        return None
    if address.version != __version__:
        raise Locked(
            f"The index in {index_folder} is held by a server (process {address.pid}) of version {address.version}, "
            f"and this is {__version__}. Restart the server."
        )
    return address


def _greets(address: ServerAddress) -> bool:
    """Returns whether the server there knows the token. It is told nothing, not even the token, before that is certain."""
    nonce = secrets.token_urlsafe(16)
    connection = HTTPConnection(address.host, address.port, timeout=GREETING_SECONDS)
    try:
        connection.request("GET", f"/local/greeting?nonce={nonce}")
        said = connection.getresponse().read(LONGEST_GREETING).decode("ascii", "replace")
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return hmac.compare_digest(said.encode(), proof(address, nonce).encode())


class ServerRunner(Generic[L]):
    """Sends operations to the server. Raises `Released` where the server has ended, or is ending and has cancelled what would
    take long."""

    def __init__(self, address: ServerAddress, settings: Settings) -> None:
        self._address = address
        self._settings = settings

    @property
    def settings(self) -> Settings:
        return self._settings

    async def run(self, operation: Callable[Concatenate[L, P], Coroutine[Any, Any, T]], *_: P.args, **named: P.kwargs) -> T:
        values: list[T] = [value async for value in self._values(operation.__name__, get_type_hints(operation)["return"], named)]
        return values[0]

    def follow(self, operation: Callable[Concatenate[L, P], AsyncIterator[T]], *_: P.args, **named: P.kwargs) -> AsyncIterator[T]:
        (kind,) = get_args(get_type_hints(operation)["return"])
        return self._values(operation.__name__, kind, named)

    async def _values(self, name: str, kind: Any, given: dict[str, Any]) -> AsyncIterator[Any]:
        connection = HTTPConnection(self._address.host, self._address.port)
        try:
            try:
                await asyncio.to_thread(connection.connect)
            except ConnectionRefusedError as error:
                raise Released(f"The process that held the index ({self._address.pid}) has ended. Run it again.") from error
            opened = connection.sock  # the connection lets go of it once the answer begins
            try:
                response = await asyncio.to_thread(self._send, connection, name, given)
                while (line := await asyncio.to_thread(_next_line, response)) != DONE:
                    yield from_plain(kind, line["value"])
            finally:
                with suppress(OSError):
                    opened.shutdown(socket.SHUT_RDWR)
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(
                f"The server that holds the index (process {self._address.pid}) stopped before it was done. "
                "Try again; its log says why."
            ) from error
        finally:
            connection.close()

    def _send(self, connection: HTTPConnection, name: str, given: dict[str, Any]) -> HTTPResponse:
        body = json.dumps(to_plain(given)).encode()
        headers = {"Authorization": f"Bearer {self._address.token}", "Content-Type": "application/json"}
        connection.request("POST", f"/local/operations/{name}", body, headers)
        response = connection.getresponse()
        if response.status != HTTPStatus.OK:
            raise Unavailable(f"The server that holds the index rejects this: {json.load(response)['detail']}")
        return response


def _next_line(response: HTTPResponse) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(response.readline())  # a ValueError where the stream ends without a last word
    if "error" in line:
        kind = getattr(errors, line["error"], BookError)
        raise kind(line["text"])
    return line
