"""The lighthouse at the product's surface: the command line, and the service over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import httpx
import pytest

from bythebook.wiring import reader
from tests.cli.conftest import Cli, cli, embedder
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import fast_folder
from tests.support.lighthouse import copy_published, make_embedder
from tests.support.serving import Service, running, silent

__all__ = ["cli", "embedder"]

Asking = Callable[..., Any]


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture
def shelf(cli: Cli, folder: Path) -> Cli:
    """A library with the lighthouse book in it."""
    copy_published(folder)
    return cli


@pytest.fixture
def ask(shelf: Cli) -> Asking:
    """`bythebook ask --json`, read."""

    def asked(*arguments: str) -> Any:
        outcome = shelf("ask", *arguments, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        return json.loads(outcome.out)

    return asked


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    folder = fast_folder()
    copy_published(folder)
    with pytest.MonkeyPatch.context() as patch, silent():
        patch.setattr(reader, "open_embedder", lambda _: make_embedder())
        with running(folder / "data") as there:
            yield there
    rmtree(folder)


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client
