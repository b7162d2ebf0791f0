"""A book brought to its readers: calibrated when what it says changed, and only then."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.grounding.calibration import Calibration
from bythebook.ingestion.progress import CalibrationBegun, IngestionEvent, IngestReport
from bythebook.ingestion.request import IngestionRequest, Mode
from tests.support.library import heard, open_library
from tests.support.lighthouse import LAMP, WICK, Lighthouse, make_embedder, tell, write_lighthouse
from tests.support.small_book import write


async def publish(light: Lighthouse, root: Path, *, mode: Mode = "incremental", dry_run: bool = False) -> list[type]:
    events = await heard(lambda tell: light.publisher.run(root, IngestionRequest(mode=mode, dry_run=dry_run), tell=tell))
    return [type(event) for event in events]


def test_nothing_changed_nothing_fitted(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        assert CalibrationBegun not in await publish(light, folder / "book")
        assert await light.calibration() == before

    tell(folder, story)


def test_a_changed_lesson_is_fitted_before_the_report(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        edit_wicks(folder / "book")
        events = await publish(light, folder / "book")
        assert events[-2:] == [CalibrationBegun, IngestReport]
        assert await light.calibration() != before
        assert "five hours" in (await light.ask(WICK)).answer

    tell(folder, story)


def assert_alike(one: Calibration, other: Calibration) -> None:
    assert one.coefficients == pytest.approx(other.coefficients, abs=1e-5)  # the engine adds in another order
    assert (one.sources, one.auc) == (other.sources, other.auc)


def edit_wicks(book: Path) -> None:
    path = f"{LAMP}/01-wicks.md"
    write(book, path, (book / path).read_text().replace("four hours", "five hours"))


async def fitted_afresh(folder: Path) -> Calibration:
    """The fit that the book as it now is gets in a library of its own."""
    async with open_library(folder / "afresh", make_embedder()) as library:
        light = Lighthouse(library=library)
        await publish(light, folder / "book")
        return await light.calibration()


class Killed(Exception):
    pass


async def kill_at_calibration(event: IngestionEvent) -> None:
    if isinstance(event, CalibrationBegun):
        raise Killed


def test_an_edit_is_served_before_it_is_fitted_and_who_is_killed_in_between_leaves_that_to_the_next(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        edit_wicks(folder / "book")
        with pytest.raises(Killed):
            await light.publisher.run(folder / "book", tell=kill_at_calibration)
        assert "five hours" in (await light.ask(WICK)).answer
        assert await light.calibration() == before
        events_of_the_next = await publish(light, folder / "book")
        assert events_of_the_next[-2:] == [CalibrationBegun, IngestReport]
        assert_alike(await light.calibration(), await fitted_afresh(folder))
        assert CalibrationBegun not in await publish(light, folder / "book")

    tell(folder, story)


def test_a_calibration_gives_way_to_the_next_run_which_makes_up_for_it(folder: Path) -> None:
    async def at_once() -> None:
        """The next run waits already."""

    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        edit_wicks(folder / "book")
        await light.publisher.run(folder / "book", coming=at_once)
        assert await light.calibration() == before
        assert CalibrationBegun in await publish(light, folder / "book")
        assert_alike(await light.calibration(), await fitted_afresh(folder))

    tell(folder, story)


def test_an_edit_that_changes_no_words_is_not_fitted_again(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        path = folder / "book" / f"{LAMP}/01-wicks.md"
        path.write_text(path.read_text() + "\n\n")
        assert CalibrationBegun not in await publish(light, folder / "book")
        assert CalibrationBegun not in await publish(light, folder / "book")

    tell(folder, story)


def test_a_dry_run_fits_nothing(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        write(folder / "book", f"{LAMP}/06-new.md", "# New\n\nA lantern is a room of glass at the top of the tower.\n")
        assert CalibrationBegun not in await publish(light, folder / "book", dry_run=True)

    tell(folder, story)


def test_a_fit_that_is_missing_is_made_up_for(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        state = await light.library.search.book("light")
        manifest = (await light.library.index.collections())[state.collection_name]
        await light.library.index.save_manifest(state.collection_name, replace(manifest, calibration={}))
        assert CalibrationBegun in await publish(light, folder / "book")
        assert await light.calibration() == before

    tell(folder, story)


def test_a_recreated_index_is_calibrated_like_the_first(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await light.calibration()
        assert CalibrationBegun in await publish(light, folder / "book", mode="recreate")
        assert_alike(await light.calibration(), before)

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
            report = await Lighthouse(library=library).publisher.run(folder / "tiny", IngestionRequest(book_id="light"))
            assert report.total_chunks == 1

    asyncio.run(story())
