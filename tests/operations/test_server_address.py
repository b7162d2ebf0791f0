"""The file that says where the server is: written for its owner alone, and never believed without proof."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bythebook.errors import Locked, StorageFailure
from bythebook.index.qdrant_edge.index import EdgeIndex
from bythebook.operations import runner
from bythebook.operations.client import find_server
from bythebook.operations.runner import SERVER_FILE, Guest, InProcess, ServerAddress, announced, open_runner, proof, read_address
from bythebook.plain import to_plain
from bythebook.settings import read_settings
from bythebook.wiring.reader import open_library

VERSION_BEFORE = "0.0.1"


class Listener(HTTPServer):
    """Somebody on a port. Greets with what a test says, and writes down all it is sent."""

    def __init__(self) -> None:
        self.address: ServerAddress | None = None
        self.heard: list[str] = []
        super().__init__(("127.0.0.1", 0), Answering)


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Listener)
        self.server.heard += [self.requestline, str(self.headers)]
        nonce = self.path.rpartition("=")[2]
        said = proof(self.server.address, nonce) if self.server.address else "Welcome to somebody else's page."
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as there:
        thread = threading.Thread(target=there.serve_forever, args=(0.02,))
        thread.start()
        yield there
        there.shutdown()
        thread.join()


@pytest.fixture
def index_folder(folder: Path) -> Path:
    made = folder / "data" / "index"
    made.mkdir(parents=True)
    return made


@contextmanager
def another_holds(index_folder: Path) -> Iterator[None]:
    index = asyncio.run(EdgeIndex.open(index_folder))
    try:
        yield
    finally:
        asyncio.run(index.close())


async def runner_of(index_folder: Path) -> type:
    async with open_runner(read_settings(data_dir=index_folder.parent), open_library) as opened:
        return type(opened)


def test_it_stands_while_the_server_does_and_for_its_owner_alone(index_folder: Path) -> None:
    with announced(index_folder, host="127.0.0.1", port=8000):
        assert (index_folder / SERVER_FILE).stat().st_mode & 0o777 == 0o600
        address = read_address(index_folder)
        assert address is not None
        assert (address.host, address.port, address.pid) == ("127.0.0.1", 8000, os.getpid())
        assert len(address.token) >= 43
        assert address.token not in repr(address)
    assert list(index_folder.iterdir()) == []


@pytest.mark.parametrize(("listens_on", "reached_by"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.7", "10.0.0.7")])
def test_a_server_that_listens_everywhere_is_reached_over_the_loopback(
    listens_on: str, reached_by: str, index_folder: Path
) -> None:
    with announced(index_folder, host=listens_on, port=1):
        address = read_address(index_folder)
        assert address is not None
        assert address.host == reached_by


def test_each_server_has_a_token_of_its_own_and_removes_no_other_ones_file(index_folder: Path) -> None:
    with announced(index_folder, host="127.0.0.1", port=1):
        first = read_address(index_folder)
        with announced(index_folder, host="127.0.0.1", port=2):
            second = read_address(index_folder)
        assert read_address(index_folder) is None
        assert first is not None
        assert second is not None
        assert first.token != second.token
        (index_folder / SERVER_FILE).write_text(json.dumps(to_plain(second)))
    assert read_address(index_folder) == second


def test_a_folder_that_cannot_be_written(index_folder: Path) -> None:
    (index_folder / "file").touch()
    with pytest.raises(StorageFailure, match="cannot be written"), announced(index_folder / "file", host="127.0.0.1", port=1):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"type": "server_address"}', '{"port": "http"}', "\x00"])
def test_what_is_no_address_is_as_if_it_were_not_there(text: str, index_folder: Path) -> None:
    (index_folder / SERVER_FILE).write_text(text)
    assert read_address(index_folder) is None
    assert asyncio.run(runner_of(index_folder)) is InProcess


def test_a_server_that_died_leaves_the_index_to_the_command(index_folder: Path, closed_port: int) -> None:
    with announced(index_folder, host="127.0.0.1", port=closed_port):
        assert find_server(index_folder) is None
        assert asyncio.run(runner_of(index_folder)) is InProcess


def test_a_stranger_on_the_port_is_told_nothing(index_folder: Path, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 0.0)
    with announced(index_folder, host="127.0.0.1", port=listener.server_port):
        address = read_address(index_folder)
        assert address is not None
        assert asyncio.run(runner_of(index_folder)) is InProcess
        listener.address = replace(address, token="a guess")
        with (
            another_holds(index_folder),
            pytest.raises(Locked, match=r"is held by process \d+. Wait for its end"),
        ):
            asyncio.run(runner_of(index_folder))
        assert len(listener.heard) == 4
        assert address.token not in "".join(listener.heard)


def test_who_knows_the_token_is_the_server(index_folder: Path, listener: Listener) -> None:
    with announced(index_folder, host="127.0.0.1", port=listener.server_port):
        listener.address = read_address(index_folder)
        assert asyncio.run(runner_of(index_folder)) is Guest
        assert listener.address is not None
        assert listener.address.token not in "".join(listener.heard)


def test_a_server_of_another_version_is_to_be_restarted(index_folder: Path, listener: Listener) -> None:
    with announced(index_folder, host="127.0.0.1", port=listener.server_port):
        address = read_address(index_folder)
        assert address is not None
        listener.address = older = replace(address, version=VERSION_BEFORE)
        (index_folder / SERVER_FILE).write_text(json.dumps(to_plain(older)))
        with pytest.raises(Locked, match=rf"of version {VERSION_BEFORE}, and this is .*\. Restart the server\."):
            find_server(index_folder)


def test_with_a_qdrant_server_nobody_is_asked(index_folder: Path, listener: Listener) -> None:
    here = read_settings(data_dir=index_folder.parent)

    async def kind() -> type:
        async with open_runner(replace(here, qdrant_url="http://127.0.0.1:9"), lambda _: open_library(here)) as opened:
            return type(opened)

    with announced(index_folder, host="127.0.0.1", port=listener.server_port):
        listener.address = read_address(index_folder)
        assert asyncio.run(kind()) is InProcess
    assert listener.heard == []
