"""Settings in, opened resources out, and everything closed again."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bythebook.embedding.granite import GraniteEmbedder
from bythebook.errors import InvalidSettings, Locked
from bythebook.settings import read_settings
from bythebook.wiring.adapters import open_embedder
from bythebook.wiring.author import open_resources
from tests.support.library import copy_data
from tests.support.small_book import write


def test_what_was_opened_is_closed_also_when_the_work_fails(folder: Path) -> None:
    async def story() -> None:
        settings = read_settings(data_dir=folder / "data")
        with pytest.raises(ZeroDivisionError):
            async with open_resources(settings):
                1 / 0  # noqa: B018
        async with open_resources(settings) as resources:
            assert await resources.records.books() == []
            with pytest.raises(Locked, match="is held by"):
                async with open_resources(settings):
                    pass

    asyncio.run(story())


def test_a_rehearsal_leaves_no_data_folder_behind(folder: Path) -> None:
    async def story() -> None:
        async with open_resources(read_settings(data_dir=folder / "data"), rehearsal=True) as resources:
            assert await resources.records.books() == []
        assert not (folder / "data").exists()
        (folder / "data").mkdir()
        async with open_resources(read_settings(data_dir=folder / "data"), rehearsal=True):
            pass
        assert list((folder / "data").iterdir()) == []

    asyncio.run(story())


def test_the_default_embedder_needs_nothing() -> None:
    assert isinstance(open_embedder(read_settings()), GraniteEmbedder)


@pytest.mark.parametrize(
    ("embedder", "told"),
    [
        ("openai", "OPENAI_API_KEY is not set"),
        ("cohere", "COHERE_API_KEY is not set"),
        ("compatible", "BYTHEBOOK_EMBEDDER_URL and BYTHEBOOK_EMBEDDER_MODEL"),
    ],
)
def test_a_remote_embedder_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, embedder: str, told: str) -> None:
    monkeypatch.setenv("BYTHEBOOK_EMBEDDER", embedder)
    with pytest.raises(InvalidSettings, match=told):
        open_embedder(read_settings())


PROGRAM = """\
import sys
for name in {blocked!r}:
    sys.modules[name] = None  # as if it were not installed
from bythebook.cli import main
sys.argv = ["bythebook", *{arguments!r}]
main()
"""
EXTRAS = ("agents", "distributed", "openai", "opentelemetry.sdk", "psycopg", "qdrant_client", "redis")


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a book in it that an installation without extras has ingested, to be copied."""
    folder = tmp_path_factory.mktemp("without-extras")
    book = write(folder / "book", "lamp.md", "# The lamp\n\nThe lamp is nine metres high.\n").parent
    assert run_without_extras(folder, "ingest", book).returncode == 0
    return folder / "data"


def run_without_extras(folder: Path, *arguments: str | Path, **given: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(blocked=EXTRAS, arguments=[str(argument) for argument in arguments])
    environment = os.environ | {"BYTHEBOOK_DATA_DIR": str(folder / "data"), **given}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        cwd=folder,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("setting", "value", "extra", "command"),
    [
        ("DATABASE_URL", "postgresql://reader@127.0.0.1:1/books", "postgres", ("books",)),
        ("QDRANT_URL", "http://127.0.0.1:1", "qdrant", ("search", "anything")),
        ("REDIS_URL", "redis://127.0.0.1:1", "redis", ("serve", "--port", "0")),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "openai", ("ask", "What is a lamp?")),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "openai", ("serve", "--port", "0")),
        ("DASK_SCHEDULER", "tcp://127.0.0.1:1", "dask", ("ingest", "book")),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "tracing", ("ask", "What is a lamp?")),
    ],
)
def test_a_setting_whose_extra_is_missing_names_it(
    folder: Path, book: Path, ingested: Path, setting: str, value: str, extra: str, command: tuple[str, ...]
) -> None:
    if command[0] == "ask":
        copy_data(ingested, folder / "data")
    outcome = run_without_extras(folder, *command, **{setting: value})
    assert outcome.returncode == 2
    (line,) = outcome.stderr.strip().splitlines()
    assert setting in line
    assert f"bythebook[{extra}]" in line


def test_without_extras_a_book_is_ingested_and_asked(folder: Path, ingested: Path) -> None:
    copy_data(ingested, folder / "data")
    asked = run_without_extras(folder, "ask", "How high is the lamp?", "--format", "json")
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["model"] == "extractive"
