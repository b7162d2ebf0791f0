"""Where the server that holds an index can be reached: a file beside the index's lock, for its owner's eyes only."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bythebook import __version__
from bythebook.errors import StorageFailure
from bythebook.plain import from_plain, to_plain

SERVER_FILE = "server.json"
REACHED_BY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""A server that listens everywhere is spoken to over the loopback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """`token` is new for each server: anyone who can read the file can have the server do what its owner may do."""

    host: str
    port: int
    pid: int
    version: str
    token: str = field(repr=False)


@contextmanager
def announced(index_folder: Path, *, host: str, port: int) -> Iterator[None]:
    """While this is held, commands that need this index go to the server."""
    address = ServerAddress(
        host=REACHED_BY.get(host, host), port=port, pid=os.getpid(), version=__version__, token=secrets.token_urlsafe(32)
    )
    file = index_folder / SERVER_FILE
    _write(file, json.dumps(to_plain(address)))
    try:
        yield
    finally:
        if read_address(index_folder) == address:  # another server may have taken over
            with suppress(OSError):
                file.unlink()


def read_address(index_folder: Path) -> ServerAddress | None:
    """Reads the address that a server left, or None. That server may be gone all the same."""
    try:
        return from_plain(ServerAddress, json.loads((index_folder / SERVER_FILE).read_text("utf-8")))
    except (OSError, ValueError):
        return None


def proof(address: ServerAddress, nonce: str) -> str:
    """Returns what only a holder of the token can compute, so that nothing is told to a stranger on a port that was ours."""
    return hmac.digest(address.token.encode(), nonce.encode(), "sha256").hex()


def _write(file: Path, text: str) -> None:
    """Writes the file in one step, and never readable by others, not even for a moment."""
    fresh = file.with_name(f".{SERVER_FILE}-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)  # with a Qdrant server there is no index in it
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(text)
        fresh.replace(file)
    except OSError as error:
        raise StorageFailure(f"{file} cannot be written ({error.strerror}): make room, or the folder writable.") from error
