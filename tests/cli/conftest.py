"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bythebook.cli import main
from bythebook.embedding.embedder import Embedder
from bythebook.wiring import reader
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import copy_library
from tests.support.small_book import write_small_book


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str

    def sentence(self) -> str:
        """The one line that a failure prints."""
        assert "Traceback" not in self.err + self.out
        (line,) = self.err.strip().splitlines()
        assert line.startswith("bythebook: ")
        return line.removeprefix("bythebook: ")


Cli = Callable[..., Outcome]


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    """Tests of another book have another one."""
    return SmallEmbedder()


@pytest.fixture
def embedder(small_embedder: SmallEmbedder, monkeypatch: pytest.MonkeyPatch) -> SmallEmbedder:
    """The small embedder in place of the real one, which takes half a second to load."""

    def open_small(_: object) -> Embedder:
        return small_embedder

    monkeypatch.setattr(reader, "open_embedder", open_small)
    return small_embedder


@pytest.fixture
def cli(folder: Path, embedder: SmallEmbedder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command here, with a data folder of its own."""
    monkeypatch.setenv("BYTHEBOOK_DATA_DIR", str(folder / "data"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(folder)

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["bythebook", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 0
        else:
            code = 0
        captured = capsys.readouterr()
        return Outcome(code=code, out=captured.out, err=captured.err)

    return run


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the small book in it, to be copied: ingesting it anew for each test takes seconds."""
    folder = tmp_path_factory.mktemp("ingested")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "open_embedder", lambda _: SmallEmbedder())
        patch.setenv("BYTHEBOOK_DATA_DIR", str(folder / "data"))
        patch.setattr(sys, "argv", ["bythebook", "ingest", str(write_small_book(folder / "book")), "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
    return folder / "data"


@pytest.fixture
def shelf(cli: Cli, book: Path, folder: Path, ingested: Path) -> Cli:
    """A library with the small book in it."""
    copy_library(ingested, folder / "data", root=book)
    return cli


@pytest.fixture
def reading_room(cli: Cli, ingested: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The same library for all tests that only read in it."""
    monkeypatch.setenv("BYTHEBOOK_DATA_DIR", str(ingested))
    return cli


def environment(data_dir: Path, given: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "BYTHEBOOK_DATA_DIR": str(data_dir), "COLUMNS": "120", **(given or {})}


def run_process(
    *arguments: str | Path,
    data_dir: Path,
    given: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    given_input: str | None = None,
) -> Outcome:
    """Runs a command in a process of its own. `given_input`: what comes to it through a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "bythebook", *map(str, arguments)],
        input=given_input,
        capture_output=True,
        encoding="utf-8",
        env=environment(data_dir, given),
        cwd=cwd or data_dir.parent,
        timeout=900,  # the demo takes half a minute of a processor that others may use as well
        check=False,
    )
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)
