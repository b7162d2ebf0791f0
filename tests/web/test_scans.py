"""The page of a PDF as a picture over HTTP, from a book that was ingested as a user ingests it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx

from bythebook.books.sandbox import Sandbox, SandboxCall
from tests.cli.conftest import run_process
from tests.support.made_pdf import MadePdf, column
from tests.support.processes import wait_for
from tests.support.serving import running, silent

MANY = 40
"""More than there are threads."""
ELBOW = "An elbow bends in one plane and carries the forearm."


def ingested(folder: Path) -> Path:
    """A PDF and a lesson in Markdown."""
    book = folder / "joints"
    book.mkdir()
    (book / "joints.pdf").write_bytes(MadePdf([column("Joints", size=18, font="bold", top=730) + column(ELBOW)]).write())
    (book / "legs.md").write_text("# Legs\n\nA knee locks when the leg is straight.\n")
    assert run_process("ingest", book, data_dir=folder / "data").code == 0
    return book


def address_of_scan(client: httpx.Client) -> str:
    found = client.post("/search", json={"text": ELBOW, "book_id": "joints"}).json()["results"][0]
    start = found["text"].index(ELBOW)
    return f"/page/scans/{found['id']}?book_id=joints&quote={start}-{start + len(ELBOW)}"


@contextmanager
def busy(sandbox: Sandbox) -> Iterator[None]:
    """A child process that reads something very long."""
    call = SandboxCall(call=partial(time.sleep, 600), characters=0, seconds=600)
    reading = threading.Thread(target=lambda: list(sandbox.run([call])))
    reading.start()
    wait_for(lambda: sandbox._child is not None)
    yield
    sandbox.close()
    reading.join()


def test_neither_a_long_file_nor_many_pages_to_draw_keep_readers_waiting(folder: Path) -> None:
    """A search needs one of a few threads. Readers of scans waited in them for the child process."""
    ingested(folder)
    with silent(), running(folder / "data") as service, service.client() as client:
        address, resources = address_of_scan(client), service.state.resources
        with busy(resources.sandbox):
            assert client.get(address).status_code == 200
        with ThreadPoolExecutor(MANY) as readers, busy(resources.painter):
            drawn = [readers.submit(client.get, address) for _ in range(MANY)]
            wait_for(lambda: service.state.metrics._in_flight._value.get() >= MANY)
            assert client.post("/search", json={"text": ELBOW, "book_id": "joints"}).status_code == 200
            assert not any(one.done() for one in drawn)


def test_a_quoted_page_is_sent_as_a_picture_and_nothing_else_is(folder: Path) -> None:
    book = ingested(folder)
    with silent(), running(folder / "data") as service, service.client() as client:
        address = address_of_scan(client)
        picture = client.get(address)
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
        assert picture.content.startswith(b"\x89PNG")
        (book / "joints.pdf").unlink()
        gone = client.get(address)
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
        other = client.post("/search", json={"text": "A knee locks", "book_id": "joints"}).json()["results"][0]
        assert other["source_file"] == "legs.md"
        assert client.get(f"/page/scans/{other['id']}?book_id=joints").status_code == 404
