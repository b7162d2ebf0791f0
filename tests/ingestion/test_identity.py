"""A book is tied to where it came from: neither another folder nor a wrong one takes its place."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bythebook.errors import InvalidInput, NeedsConsent
from bythebook.ingestion.request import Consent, Mode
from tests.support.library import Library, open_library
from tests.support.small_book import write, write_small_book

MODES: tuple[Mode, ...] = ("incremental", "full", "recreate")


def tell(folder: Path, story: Callable[[Library], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with open_library(folder / "data") as library:
            await story(library)

    asyncio.run(whole())


def docs(folder: Path, name: str, title: str) -> Path:
    write(folder, f"{name}/docs/index.md", f"# {title}\n\nA page about {title.lower()} and nothing else.\n")
    return folder / name / "docs"


@pytest.mark.parametrize("mode", MODES)
def test_two_folders_of_one_name_are_two_books(folder: Path, mode: Mode) -> None:
    async def story(library: Library) -> None:
        await library.ingest(docs(folder, "ants", "Ants"))
        await library.ingest(docs(folder, "bees", "Bees"), mode)
        assert [book.title for book in await library.records.books()] == ["Ants", "Bees"]

    tell(folder, story)


@pytest.mark.parametrize("mode", MODES)
def test_another_folder_under_a_known_id_is_refused_unless_said(folder: Path, mode: Mode) -> None:
    async def story(library: Library) -> None:
        ants, bees = docs(folder, "ants", "Ants"), docs(folder, "bees", "Bees")
        await library.ingest(ants, book_id="insects")
        before = await library.snapshot()
        for dry_run in (False, True):
            with pytest.raises(InvalidInput) as refused:
                await library.ingest(bees, mode, book_id="insects", dry_run=dry_run)
            assert f"The book 'insects' comes from {ants}, and this is {bees}." in str(refused.value)
            assert re.search('--book NEW.*--replace .*"replace": true', str(refused.value))
        assert await library.snapshot() == before
        await library.ingest(bees, mode, book_id="insects", consent=Consent(replace=True, remove=True))
        (state,) = await library.records.books()
        assert (state.title, state.source_root) == ("Bees", str(bees))

    tell(folder, story)


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_would_remove_more_than_a_third_stops(folder: Path, book: Path, mode: Mode) -> None:
    async def story(library: Library) -> None:
        await library.ingest(book)
        before = await library.snapshot()
        shutil.rmtree(book / "module-1-arms")
        with pytest.raises(NeedsConsent) as refused:
            await library.ingest(book, mode)
        assert str(refused.value).startswith("This would remove 4 of the 7 lessons of 'small', module-1-arms/")
        assert "--yes" in str(refused.value)
        assert await library.snapshot() == before
        assert (await library.ingest(book, mode, dry_run=True)).files_processed in (0, 3)
        await library.ingest(book, mode, consent=Consent(remove=True))
        assert (await library.snapshot())["small"]["records"].keys() == {
            "glossary.md",
            *(f"module-2-legs/chapter-3-walking/{name}.md" for name in ("01-balance", "02-stairs")),
        }

    tell(folder, story)


def test_a_single_lesson_goes_unasked_also_from_a_small_book(folder: Path) -> None:
    async def story(library: Library) -> None:
        ants = docs(folder, "ants", "Ants")
        write(ants, "eggs.md", "# Eggs\n\nThe queen lays them.\n")
        await library.ingest(ants)
        (ants / "eggs.md").unlink()
        assert (await library.ingest(ants)).files_deleted == 1

    tell(folder, story)


def test_lessons_that_only_move_do_not_go(folder: Path, book: Path) -> None:
    async def story(library: Library) -> None:
        await library.ingest(book)
        (book / "module-1-arms").rename(book / "module-1-upper-limbs")
        toml = (book / "book.toml").read_text()
        write(book, "book.toml", toml.replace("module-1-arms", "module-1-upper-limbs"))
        assert (await library.ingest(book)).files_deleted == 4

    tell(folder, story)


def test_a_folder_keeps_the_id_it_was_ingested_under(folder: Path) -> None:
    """As books that an earlier version named after their folder do."""

    async def story(library: Library) -> None:
        ants = docs(folder, "ants", "Ants")
        await library.ingest(ants, book_id="docs")
        assert (await library.ingest(ants)).book_id == "docs"
        assert [book.book_id for book in await library.records.books()] == ["docs"]

    tell(folder, story)


def test_a_folder_that_is_a_book_already_says_so(folder: Path) -> None:
    async def story(library: Library) -> None:
        root = write_small_book(folder / "small")
        await library.ingest(root, book_id="first")
        with pytest.raises(InvalidInput, match=r"as 'first'\. .*'bythebook books rename first small'"):
            await library.ingest(root)
        report = await library.ingest(root, book_id="second")
        (warning,) = (one for one in report.warnings if one.field == "book")
        assert "in the library as 'first' too" in warning.message
        write(root, "book.toml", 'title = "Without an id"\n')
        with pytest.raises(InvalidInput, match=r"as first and second\. .*--book"):
            await library.ingest(root)

    tell(folder, story)


def test_a_checkout_is_the_same_wherever_the_data_folder_lies(folder: Path) -> None:
    async def story(library: Library) -> None:
        one = write_small_book(folder / "here" / "checkouts" / "0123456789abcdef")
        other = Path(shutil.copytree(one, folder / "there" / "checkouts" / "0123456789abcdef"))
        of_a_folder = Path(shutil.copytree(one, folder / "there" / "checkouts" / "0123456789abcdef-76543210"))
        for root in (one, other, of_a_folder, one):
            await library.ingest(root)
        with pytest.raises(InvalidInput, match="comes from"):
            await library.ingest(write_small_book(folder / "here" / "checkouts" / "fedcba9876543210"))

    tell(folder, story)
