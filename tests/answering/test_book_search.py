"""Search as a reader meets it: relevance beside the score."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bythebook.answering.book_search import BookSearch
from bythebook.retrieval.query import Scope, SearchResponse
from tests.support.library import open_library
from tests.support.lighthouse import Lighthouse, tell
from tests.support.small_book import write, write_small_book

OWN = "how often does the keeper trim the wick"
SMALL_SECTIONS = {
    "Training": "Two nets play against each other until neither wins.",
    "Mode collapse": "The generator makes one picture only.",
    "Exercises": "Draw a curve of the losses yourself.",
}
FOREIGN = "which chess opening did Bobby Fischer play"


def levels(found: SearchResponse) -> list[float]:
    known = [result.relevance for result in found.results if result.relevance is not None]
    assert len(known) == len(found.results)
    return known


def test_relevance_tells_what_the_book_answers_from_what_it_does_not(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        own = levels(await light.library.ask(OWN, "light"))
        foreign = levels(await light.library.ask(FOREIGN, "light"))
        assert own[0] > 0.6 > foreign[0]
        assert all(0 <= level <= 1 for level in (*own, *foreign))
        assert own == sorted(own, reverse=True), "the order of ranks"

    tell(folder, story)


def test_relevance_does_not_depend_on_how_many_results_are_wanted(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        many = await light.library.ask(OWN, "light", limit=20)
        for limit in (1, 3, 5, 10):
            few = await light.library.ask(OWN, "light", limit=limit)
            assert few.results == many.results[:limit]
            assert few.total_found == many.total_found

    tell(folder, story)


def test_nothing_found_has_no_relevance_and_no_trouble(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        assert (await light.library.ask(OWN, "light", module_filter="nowhere")).results == ()

    tell(folder, story)


def test_a_book_without_a_fit_has_scores_and_no_relevance(folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(write_small_book(folder / "small"))
            found = await library.ask("elbow bends forearm plane")
            assert [result.relevance for result in found.results] == [None] * 5
            assert found.results[0].score > 0

    asyncio.run(story())


@pytest.mark.parametrize("beside", [False, True], ids=["alone in its collection", "beside another book"])
def test_who_began_to_search_a_book_that_is_then_made_anew_finds_it_all_the_same(folder: Path, beside: bool) -> None:
    book = write_small_book(folder / "book")
    write(folder / "nets", "nets.md", "# Nets\n\nA net is knotted from cord.\n")

    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            if beside:
                await library.ingest(folder / "nets")
            query = Scope(book_id="small").search("Which joint bends in one plane?")
            begun = await library.search.book("small")
            embedding = await library.search.embed(query.text)
            searching = BookSearch(search=library.search, index=library.index)
            before = await searching.search_embedded(query, begun, embedding)
            await library.ingest(book, "recreate")
            assert (begun.collection_name in await library.index.collections()) is beside
            after = await searching.search_embedded(query, begun, embedding)
            assert [one.text for one in after.results] == [one.text for one in before.results] != []

    asyncio.run(story())


def test_a_result_names_the_section_that_has_the_question_and_not_the_one_that_leads_its_chunk(folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            parts = "\n\n".join(f"## {title}\n\n{text}" for title, text in SMALL_SECTIONS.items())
            write(folder / "nets", "nets.md", f"# Nets\n\n{parts}\n")
            await library.ingest(folder / "nets")
            for title, text in SMALL_SECTIONS.items():
                (result,) = (await library.ask(text, "nets")).results
                assert (result.section_title, result.heading_path) == (title, (title,))
                assert result.source_url == f"nets.md#{title.lower().replace(' ', '-')}"

    asyncio.run(story())
