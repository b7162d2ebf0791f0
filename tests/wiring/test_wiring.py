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
from bythebook.wiring.author import open_resources
from bythebook.wiring.reader import open_embedder
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
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
for name in {blocked!r}:
    sys.modules[name] = None  # as if it were not installed
from bythebook.cli import main
unset = dict(os.environ)
for given, arguments in {commands!r}:
    os.environ.clear()
    os.environ.update(unset, **given)
    sys.argv = ["bythebook", *arguments]
    code, out, err = 0, io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
EXTRAS = ("agents", "distributed", "openai", "opentelemetry.sdk", "psycopg", "qdrant_client", "redis")
Command = tuple[dict[str, str], tuple[str, ...]]
INGESTED: Command = ({}, ("ingest", "book"))
ASKED: Command = ({}, ("ask", "How high is the lamp?", "--format", "json"))
MISSING = [
    ("DATABASE_URL", "postgresql://reader@127.0.0.1:1/books", "postgres", ("books",)),
    ("QDRANT_URL", "http://127.0.0.1:1", "qdrant", ("search", "anything")),
    ("REDIS_URL", "redis://127.0.0.1:1", "redis", ("serve", "--port", "0")),
    ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "openai", ("ask", "What is a lamp?")),
    ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "openai", ("serve", "--port", "0")),
    ("DASK_SCHEDULER", "tcp://127.0.0.1:1", "dask", ("ingest", "book")),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "tracing", ("ask", "What is a lamp?")),
]


def test_without_extras_a_book_is_ingested_and_asked_and_a_setting_that_needs_one_names_it(folder: Path) -> None:
    """All in one process, which imports what the commands need once."""
    write(folder / "book", "lamp.md", "# The lamp\n\nThe lamp is nine metres high.\n")
    commands = [INGESTED, ASKED, *(({setting: value}, command) for setting, value, _, command in MISSING)]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(blocked=EXTRAS, commands=commands)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"BYTHEBOOK_DATA_DIR": str(folder / "data")},
        cwd=folder,
        timeout=300,
        check=True,
    )
    ingested, asked, *refused = [json.loads(line) for line in ran.stdout.splitlines()]
    assert (ingested[0], asked[0]) == (0, 0), (ingested, asked)
    assert json.loads(asked[1])["model"] == "extractive"
    for (setting, _, extra, command), (code, _, err) in zip(MISSING, refused, strict=True):
        assert code == 2, (command, err)
        (line,) = err.strip().splitlines()
        assert setting in line
        assert f"bythebook[{extra}]" in line
