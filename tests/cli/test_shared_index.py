"""Whoever holds the index runs the others' commands: while one book is ingested, the rest of the library can be asked."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

import pytest

from bythebook.embedding.embedder import Vectors
from bythebook.ingestion.progress import IngestReport
from bythebook.ingestion.request import IngestionRequest
from bythebook.jobs.progress import JobEvent
from bythebook.operations.author import publish
from bythebook.operations.reader import list_states, read_state
from bythebook.operations.runner import SERVER_FILE, Guest, open_runner, read_address
from bythebook.settings import read_settings
from bythebook.wiring import reader
from bythebook.wiring.author import open_resources
from tests.cli.conftest import Cli
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import FOREIGN, TRIMMED, WICK, copy_published, make_embedder
from tests.support.small_book import write_small_book

SECONDS = 60


class PausedEmbedder(SmallEmbedder):
    """Embeds no lesson until it is told to; questions at once."""

    def __init__(self) -> None:
        super().__init__("light@1", dimension=256)
        self.reached = threading.Event()
        self.told = threading.Event()

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        if any("elbow" in text for text in texts):
            self.reached.set()
            assert await asyncio.to_thread(self.told.wait, SECONDS)
        return await super().embed_lessons(texts)


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@contextmanager
def ingesting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], IngestReport]]:
    """Another command ingests a second book, and is in the midst of it. What this gives lets it come to its end."""
    book, embedder, reports = write_small_book(folder / "second"), PausedEmbedder(), list[IngestReport]()
    settings = read_settings(data_dir=folder / "data")

    async def ingest() -> None:
        opening = open_runner(settings, lambda settings: open_resources(settings, embedder=embedder))
        async with opening as runner:
            async for event in runner.follow(publish, root=book, request=IngestionRequest()):
                if isinstance(event, IngestReport):
                    reports.append(event)

    other = threading.Thread(target=lambda: asyncio.run(ingest()))

    def end() -> IngestReport:
        embedder.told.set()
        other.join(SECONDS)
        (report,) = reports
        return report

    monkeypatch.setattr(reader, "open_embedder", lambda _: make_embedder())
    other.start()
    try:
        assert embedder.reached.wait(SECONDS)
        yield end
    finally:
        embedder.told.set()
        other.join(SECONDS)


def test_while_a_book_is_ingested_another_is_asked(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_published(folder)
    with ingesting(folder, monkeypatch) as end:
        asked = cli("ask", WICK, "--book", "light")
        assert (asked.code, asked.err) == (0, "")
        assert TRIMMED in " ".join(asked.out.split())
        assert TRIMMED in " ".join(cli("search", "trim the wick", "--book", "light").out.split())
        assert cli("chat", "-q", FOREIGN, "--book", "light").code == 0
        assert json.loads(cli("threads", "list", "--json").out)[0]["book_id"] == "light"
        assert [one["book_id"] for one in json.loads(cli("books", "--json").out)] == ["light"]
        report = end()
    assert (report.failures, report.files_processed) == ((), 7)
    assert [one["book_id"] for one in json.loads(cli("books", "--json").out)] == ["light", "small"]
    assert not (folder / "data" / "index" / SERVER_FILE).exists()


def test_a_command_needs_the_token_and_outlives_the_holder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_published(folder)

    def status(path: str, **headers: str) -> int:
        address = read_address(folder / "data" / "index")
        assert address is not None
        assert address.host == "127.0.0.1"
        connection = HTTPConnection(address.host, address.port, timeout=SECONDS)
        connection.request("POST", f"/local/operations/{path}", "{}", headers or {"Authorization": f"Bearer {address.token}"})
        return connection.getresponse().status

    async def converse() -> None:
        async with open_runner(read_settings(data_dir=folder / "data"), open_resources) as runner:
            assert isinstance(runner, Guest)
            assert (await runner.run(read_state, book_id="light")).title == "Keeping a Lighthouse"
            await asyncio.to_thread(end)
            assert [state.book_id for state in await runner.run(list_states)] == ["light", "small"]

    with ingesting(folder, monkeypatch) as end:
        assert status("list_states", Authorization="Bearer a guess") == HTTPStatus.NOT_FOUND
        assert status("close") == HTTPStatus.NOT_FOUND
        assert status("list_states") == HTTPStatus.OK
        asyncio.run(converse())


def test_a_second_ingestion_goes_on_when_the_first_ends(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It began in the other's process, is broken off there, and begun again in its own."""
    copy_published(folder)
    third, embedder, events = write_small_book(folder / "third", book_id="third"), make_embedder(), list[JobEvent]()
    settings = read_settings(data_dir=folder / "data")

    async def ingest() -> None:
        opening = open_runner(settings, lambda settings: open_resources(settings, embedder=embedder))
        async with opening as runner:
            async for event in runner.follow(publish, root=third, request=IngestionRequest()):
                events.append(event)

    with ingesting(folder, monkeypatch) as end:
        other = threading.Thread(target=lambda: asyncio.run(ingest()))
        other.start()
        end()
        other.join(SECONDS)
    assert isinstance(events[-1], IngestReport)
    assert [one["book_id"] for one in json.loads(cli("books", "--json").out)] == ["light", "small", "third"]
