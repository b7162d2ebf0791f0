"""`bythebook privacy`: what is kept of a reader, written out and erased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import WICK, copy_published, make_embedder
from tests.support.serving import ask, running, silent


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


def test_a_user_is_exported_and_erased(cli: Cli, folder: Path) -> None:
    copy_published(folder)
    with silent(), running(folder / "data") as service, service.client(service.key("chat")) as client:
        ask(client, WICK, metadata={"user_id": "ada"})
    told = cli("privacy", "export", "--user", "ada", "--output", folder / "ada.jsonl")
    assert (told.code, told.out) == (0, f"Wrote 1 object to {folder / 'ada.jsonl'}.\n")
    assert (folder / "ada.jsonl").stat().st_mode & 0o777 == 0o600
    (line,) = (folder / "ada.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["turns"][0]["answer"]["query"] == WICK
    assert cli("privacy", "export", "--user", "ada", "--output", folder / "ada.jsonl").code == 2
    unsure = cli("privacy", "erase", "--user", "ada")
    assert (unsure.code, "--yes" in unsure.sentence()) == (2, True)
    assert cli("privacy", "erase", "--user", "ada", "--yes").out == "Erased 1 thread.\n"
    gone = cli("privacy", "erase", "--user", "ada", "--yes")
    assert (gone.code, gone.sentence()) == (1, "Nothing is stored about this key or user.")
    assert "--key KEY_ID or --user USER_ID" in cli("privacy", "export").sentence()
