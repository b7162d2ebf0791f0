"""Settings in, opened resources out, and everything closed again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bythebook.embedding.granite import GraniteEmbedder
from bythebook.errors import InvalidSettings, Locked
from bythebook.settings import read_settings
from bythebook.wiring.adapters import open_embedder
from bythebook.wiring.author import open_resources


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
