"""Commands while a server holds the index: they go through it, and nobody notices."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bythebook.embedding.embedder import Vectors
from bythebook.ingestion.progress import Planned
from bythebook.ingestion.request import IngestionRequest
from bythebook.operations.author import publish
from bythebook.operations.runner import SERVER_FILE, announced, open_runner
from bythebook.settings import read_settings
from bythebook.wiring import reader
from bythebook.wiring.author import open_resources
from tests.cli.conftest import Cli, Outcome, environment, run_process
from tests.cli.test_startup import HEAVY, PROGRAM
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import copy_data
from tests.support.lighthouse import ARC, FOREIGN, TRIMMED, WICK, copy_published, make_embedder, published
from tests.support.processes import SECONDS
from tests.support.sample_library import sample_library
from tests.support.serving import running, silent
from tests.support.small_book import write, write_small_book

WICKS = "module-1-lamp/chapter-1-the-light/01-wicks.md"
OF_THE_RUN = re.compile(r"\d+ ms|\(\d+\.\d s\)|\"?(?:\w+_at|\w+_ms|duration_seconds|timestamp)\"?: [^\n]+|/[\w/.-]*bythebook-\w+")
"""Times, and the folder that is another one each time."""
READING: tuple[tuple[str, ...], ...] = (
    ("search", "trim the wick"),
    ("search", "trim the wick", "--json", "--tier", "2", "--limit", "2"),
    ("search", "carbon arc", "--tier", "1", "--module", "rock"),
    ("ask", WICK),
    ("ask", WICK, "--verbose", "--k", "3"),
    ("ask", WICK, "--format", "json"),
    ("ask", ARC, "--tier", "1"),
    ("ask", FOREIGN),
    ("ask", FOREIGN, "--format", "json"),
    ("chat", "-q", WICK),
    ("lesson", WICKS),
    ("lesson", WICKS, "--json"),
    ("books",),
    ("check",),
    ("check", "--json"),
    ("calibration",),
    ("calibration", "--json"),
)
MISTAKEN: tuple[tuple[str, ...], ...] = (
    ("search", "trim the wick", "--book", "third"),
    ("search", "tr"),
    ("search", "trim the wick", "--tier", "9"),
    ("ask", WICK, "--book", "third"),
    ("ask", " "),
    ("ask", WICK, "--k", "9"),
    ("chat", "-q", WICK, "--thread", "no-thread"),
    ("lesson", "nowhere.md"),
    ("context", "no-chunk"),
    ("check", "--book", "third"),
    ("calibration", "--book", "third"),
    ("ingest", "nowhere"),
)


@contextmanager
def serving(data_dir: Path) -> Iterator[None]:
    """A real server that holds the index and says so, as `bythebook serve` does."""
    with running(data_dir) as service, announced(data_dir / "index", host="127.0.0.1", port=service.port):
        yield


@pytest.fixture(scope="module", autouse=True)
def _silent_server() -> Iterator[None]:
    with silent():
        yield


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The data folders of two equal libraries: a server holds the one, nobody the other. For tests that only read."""
    folder = tmp_path_factory.mktemp("twins")
    held, free = (copy_data(published() / "data", folder / name) for name in ("held", "free"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "open_embedder", lambda _: make_embedder())
        with serving(held):
            yield held, free


@pytest.fixture
def held(folder: Path, embedder: SmallEmbedder) -> Iterator[Path]:
    """A library of this test's own that a server holds, and its book beside it."""
    copy_published(folder)
    with serving(folder / "data"):
        yield folder


def told(outcome: Outcome) -> tuple[int, str, str]:
    """What matters of it: spaces fill up lines that are longer or shorter by a time."""
    out, err = (re.sub(" +", " ", OF_THE_RUN.sub("…", text)) for text in (outcome.out, outcome.err))
    return outcome.code, out, err


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_command_prints_what_it_prints_without_a_server(command: tuple[str, ...], cli: Cli, twins: tuple[Path, Path]) -> None:
    through, alone = (cli(*command, "--data-dir", data_dir) for data_dir in twins)
    assert alone.code == 0
    assert told(through) == told(alone)


@pytest.mark.parametrize("command", MISTAKEN, ids=" ".join)
def test_a_mistake_is_told_in_the_same_sentence(command: tuple[str, ...], cli: Cli, twins: tuple[Path, Path]) -> None:
    through, alone = (cli(*command, "--data-dir", data_dir) for data_dir in twins)
    assert alone.code in (1, 2)
    assert alone.sentence()
    assert told(through) == told(alone)


def test_context_by_an_id_that_search_told(cli: Cli, twins: tuple[Path, Path]) -> None:
    found = json.loads(cli("search", "trim the wick", "--json", "--data-dir", twins[0]).out)["results"][0]["id"]
    through, alone = (cli("context", found, "--data-dir", data_dir) for data_dir in twins)
    assert TRIMMED in " ".join(through.out.split())
    assert told(through) == told(alone)


def test_a_thread_goes_on_with_and_without_the_server(cli: Cli, folder: Path, embedder: SmallEmbedder) -> None:
    def thread_after(*arguments: str) -> tuple[str, str]:
        outcome = cli("chat", *arguments)
        assert (outcome.code, outcome.err) == (0, "")
        listed = json.loads(cli("threads", "list", "--json").out)
        return listed[0]["thread_id"], outcome.out

    copy_data(published() / "data", folder / "data")
    with serving(folder / "data"):
        thread_id, _ = thread_after("-q", "What is a wick?")
        again, leaning = thread_after("-q", "How often is it trimmed?", "--thread", thread_id)
        assert again == thread_id
        assert "searching for: How often is the wick trimmed?" in leaning
    again, _ = thread_after("-q", "And why does it smoke?", "--thread", thread_id)
    assert again == thread_id


def test_a_book_goes_in_while_readers_are_served(cli: Cli, held: Path) -> None:
    write(held / "book", "module-1-lamp/chapter-1-the-light/07-bell.md", "# The bell\n\nThe bell weighs ninety pounds.\n")
    rehearsed = cli("ingest", held / "book", "--dry-run")
    assert (rehearsed.code, "would be ingested" in rehearsed.out) == (0, True)
    report = cli("ingest", Path("book"))  # where the command stands, not where the server does
    assert (report.code, report.err) == (0, "")
    assert "1 new, 0 changed, 0 removed" in report.out
    assert "ninety pounds" in cli("search", "how heavy is the bell").out
    assert "every invariant holds" in cli("check").out
    assert json.loads(cli("ingest", held / "book", "--json").out)["files_processed"] == 0


def test_a_lesson_that_cannot_be_read_makes_the_same_exit_code(cli: Cli, held: Path) -> None:
    (held / "book" / WICKS).write_bytes(bytes(range(256)))
    outcome = cli("ingest", held / "book")
    assert outcome.code == 1
    assert "1 lesson could not be read" in outcome.out


def test_the_demo(cli: Cli, held: Path) -> None:
    outcome = cli("demo")
    assert outcome.code == 0
    assert "bythebook ingest FOLDER" in outcome.out


def test_without_the_server_the_index_is_opened_again(cli: Cli, folder: Path, embedder: SmallEmbedder) -> None:
    copy_data(published() / "data", folder / "data")
    with serving(folder / "data"):
        assert (folder / "data" / "index" / SERVER_FILE).stat().st_mode & 0o777 == 0o600
        assert TRIMMED in " ".join(cli("ask", WICK).out.split())
    assert not (folder / "data" / "index" / SERVER_FILE).exists()
    assert TRIMMED in " ".join(cli("ask", WICK).out.split())


def test_a_search_imports_neither_engine_nor_model(twins: tuple[Path, Path]) -> None:
    arguments = json.dumps(["search", "trim the wick", "--data-dir", str(twins[0])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, arguments], capture_output=True, encoding="utf-8", check=True, timeout=SECONDS
    )
    assert TRIMMED in " ".join(done.stdout.split())
    found = set(json.loads(done.stdout.splitlines()[-1])) & HEAVY
    assert not found


class Gate:
    """Stands before the embedder: tells that somebody waits, and whether they gave up waiting."""

    def __init__(self) -> None:
        self.waiting = threading.Event()
        self.given_up = threading.Event()


class GatedEmbedder(SmallEmbedder):
    """Embeds no lesson until it is cancelled."""

    def __init__(self, gate: Gate) -> None:
        super().__init__("light@1", dimension=256)
        self._gate = gate

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        self._gate.waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._gate.given_up.set()
        raise AssertionError("nobody opens the gate")


def test_ctrl_c_stops_the_work_on_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    monkeypatch.setattr(reader, "open_embedder", lambda _: GatedEmbedder(gate))
    book = write_small_book(folder / "book")
    with serving(folder / "data"):
        command = [sys.executable, "-m", "bythebook", "ingest", str(book)]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(folder / "data"),
            cwd=folder,
        ) as process:
            if not gate.waiting.wait(SECONDS):
                process.kill()
                pytest.fail(f"nothing came to be embedded: {process.communicate(timeout=SECONDS)}")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, err.strip()) == (130, "bythebook: stopped.")
        assert gate.given_up.wait(SECONDS)


def test_progress_is_told_as_it_goes_and_leaving_ends_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    monkeypatch.setattr(reader, "open_embedder", lambda _: GatedEmbedder(gate))
    book = write_small_book(folder / "book")

    async def leave_early() -> None:
        async with open_runner(read_settings(data_dir=folder / "data"), open_resources) as runner:
            events = runner.follow(publish, root=book, request=IngestionRequest())
            assert isinstance(await anext(events), Planned)  # and nothing will ever be embedded
            assert await asyncio.to_thread(gate.waiting.wait, SECONDS)

    with serving(folder / "data"):
        asyncio.run(leave_early())
        assert gate.given_up.wait(SECONDS)


def test_a_fault_of_the_server_is_one_sentence(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(texts: Sequence[str]) -> None:
        raise RuntimeError("a fault of the program")

    monkeypatch.setattr(reader, "open_embedder", lambda _: SmallEmbedder(before_batch=fail))
    with serving(folder / "data"):
        outcome = cli("ingest", write_small_book(folder / "book"))
    assert outcome.code == 1
    assert re.search(r"RuntimeError: a fault of the program.*bythebook jobs retry \d+", outcome.sentence())


def test_a_server_in_a_process_of_its_own(folder: Path) -> None:
    """As a person starts it, with the real embedder."""
    data_dir = sample_library(folder)
    command = [sys.executable, "-m", "bythebook", "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", env=environment(data_dir), cwd=folder
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("By the Book answers on http://127.0.0.1:")
            outcome = run_process("ask", "What is a node?", data_dir=data_dir)
            assert (outcome.code, outcome.err) == (0, "")
            assert "A node is a named participant in a ROS 2 system" in " ".join(outcome.out.split())
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)
    assert not (data_dir / "index" / SERVER_FILE).exists()
