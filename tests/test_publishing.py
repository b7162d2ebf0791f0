"""A book brought to its readers: calibrated when what it says changed, and only then."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.index.progress import Mode, Report
from bythebook.publishing import Calibrating
from tests.library import open_library
from tests.lighthouse import LAMP, WICK, Lighthouse, make_embedder, tell, write_lighthouse
from tests.small_book import write


async def publish(light: Lighthouse, root: Path, *, mode: Mode = "incremental", dry_run: bool = False) -> list[type]:
    events = [event async for event in light.publishing.run(root, mode=mode, dry_run=dry_run)]
    assert isinstance(events[-1], Report)
    return [type(event) for event in events]


def test_nothing_changed_nothing_fitted(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        assert Calibrating not in await publish(light, folder / "book")
        assert await light.calibration() == before

    tell(folder, story)


def test_a_changed_lesson_is_fitted_before_the_report(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        path = f"{LAMP}/01-wicks.md"
        write(folder / "book", path, (folder / "book" / path).read_text().replace("four hours", "five hours"))
        events = await publish(light, folder / "book")
        assert events[-2:] == [Calibrating, Report]
        assert await light.calibration() != before
        assert "five hours" in (await light.ask(WICK)).answer

    tell(folder, story)


def test_a_dry_run_fits_nothing(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        write(folder / "book", f"{LAMP}/06-new.md", "# New\n\nA lantern is a room of glass at the top of the tower.\n")
        assert Calibrating not in await publish(light, folder / "book", dry_run=True)

    tell(folder, story)


def test_a_fit_that_is_missing_is_made_up_for(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        state = await light.library.search.book("light")
        manifest = (await light.library.index.collections())[state.collection_name]
        await light.library.index.save_manifest(state.collection_name, replace(manifest, calibration={}))
        assert Calibrating in await publish(light, folder / "book")
        assert await light.calibration() == before

    tell(folder, story)


def test_a_recreated_index_is_calibrated_like_the_first(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        assert Calibrating in await publish(light, folder / "book", mode="recreate")
        after = await light.calibration()
        assert after.coefficients == pytest.approx(before.coefficients, abs=1e-5)  # the engine adds in another order
        assert (after.sources, after.auc) == (before.sources, before.auc)

    tell(folder, story)


def test_two_books_keep_their_own_fits(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        write_lighthouse(folder / "other")
        write(folder / "other", "book.toml", 'book_id = "other"\ntitle = "Another"\n')
        await publish(light, folder / "other")
        state = await light.library.search.book("other")
        fits = (await light.library.index.collections())[state.collection_name].calibration
        assert fits.keys() == {"light", "other"}
        assert await light.calibration() == before

    tell(folder, story)


def test_a_book_that_cannot_be_calibrated_is_published_all_the_same(folder: Path) -> None:
    async def story() -> None:
        write(folder / "tiny", "one.md", "# One\n\nOne sentence stands here and it is the only one.\n")
        async with open_library(folder / "data", make_embedder()) as library:
            events = [event async for event in Lighthouse(library=library).publishing.run(folder / "tiny", book_id="light")]
            report = events[-1]
            assert isinstance(report, Report)
            assert report.total_chunks == 1

    asyncio.run(story())
