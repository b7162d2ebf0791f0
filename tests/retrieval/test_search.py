"""Search over the real index: what is found, in which order, through which filters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bythebook.books.model import LAYERS, PROFICIENCIES
from bythebook.errors import InvalidInput, NotFound
from bythebook.retrieval.context import find_lesson, read_context, read_lesson_chunks
from bythebook.retrieval.query import FILTERS, Scope, SearchQuery
from tests.support.library import Library, open_library
from tests.support.small_book import lesson, write, write_small_book

ELBOWS = "module-1-arms/chapter-1-joints/01-elbows.md"
LEVELS = {"low.md": (1, "A1", "L1"), "middle.md": (2, "B1", "L2"), "high.md": (4, "C2", "L4")}


@asynccontextmanager
async def library_of_two(folder: Path) -> AsyncIterator[Library]:
    """The small book, and a second one that says the same and more."""
    other = write_small_book(folder / "other", book_id="other")
    for name, (tier, level, layer) in LEVELS.items():
        front = f"hardware_tier: {tier}\nproficiency_level: {level}\nlayer: {layer}\nchapter: 9\n"
        write(other, f"module-2-legs/{name}", lesson(name, f"Hopping is for the {name} reader.", front=front))
    async with open_library(folder / "data") as library:
        await library.ingest(write_small_book(folder / "small"))
        await library.ingest(other)
        yield library


def told(folder: Path, story: Callable[[Library], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with library_of_two(folder) as library:
            await story(library)

    asyncio.run(whole())


def test_the_passage_is_found_with_all_that_document_d_says_of_it(folder: Path) -> None:
    async def story(library: Library) -> None:
        found = await library.ask("elbow bends forearm plane", limit=3)
        first = found.results[0]
        assert first.source_file == ELBOWS
        assert [result.rank for result in found.results] == [1, 2, 3]
        assert all(0 <= result.score <= 1 for result in found.results)
        assert (first.module, first.chapter, first.lesson) == ("arms", 1, 1)
        assert (first.hardware_tier, first.proficiency_level, first.layer) == (1, "A2", "L1")
        assert first.chapter_title == "Joints and how they turn"
        assert first.source_url.startswith("https://small.example/docs/module-1-arms/chapter-1-joints/elbows")
        assert (first.total_chunks, len(first.content_hash)) == (3, 64)
        assert (found.query, found.book_id, found.hardware_tier_filter) == ("elbow bends forearm plane", "small", 1)
        assert (found.module_filter, found.filter_applied) == (None, None)

    told(folder, story)


def test_total_found_is_what_passes_the_filters_not_what_is_shown(folder: Path) -> None:
    async def story(library: Library) -> None:
        assert (await library.ask("elbow", limit=1)).total_found == 17
        assert (await library.ask("elbow", limit=1, module_filter="legs")).total_found == 6
        assert (await library.ask("hopping", "other", hardware_tier_filter=4)).total_found == 26

    told(folder, story)


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"hardware_tier_filter": 1}, {"low.md"}),
        ({"hardware_tier_filter": 2}, {"low.md", "middle.md"}),
        ({"hardware_tier_filter": 3}, {"low.md", "middle.md"}),
        ({"hardware_tier_filter": 4}, {"low.md", "middle.md", "high.md"}),
        ({"hardware_tier_filter": None}, {"low.md", "middle.md", "high.md"}),
        ({"hardware_tier_filter": 4, "proficiency_levels": ("A1", "C2")}, {"low.md", "high.md"}),
        ({"hardware_tier_filter": 4, "layer_filter": "L2"}, {"middle.md"}),
        ({"hardware_tier_filter": 4, "module_filter": "arms", "chapter_min": 9}, set()),
        ({"hardware_tier_filter": 4, "prefix_filter": "module-2-legs/mid"}, {"middle.md"}),
        ({"hardware_tier_filter": 4, "prefix_filter": "https://other.example"}, set()),
        ({"hardware_tier_filter": 4, "prefix_filter": "https://small.example/docs/module-2-legs/hi"}, {"high.md"}),
    ],
)
def test_each_filter(folder: Path, given: dict[str, object], files: set[str]) -> None:
    async def story(library: Library) -> None:
        found = await library.ask("hopping for the reader", "other", limit=20, chapter_max=9, **{"chapter_min": 9, **given})
        assert {Path(result.source_file).name for result in found.results} == files
        assert found.filter_applied == given.get("prefix_filter")
        assert found.total_found == len(files) * 3

    told(folder, story)


def test_chapters_lessons_and_parents_filter_too(folder: Path) -> None:
    async def story(library: Library) -> None:
        chapters = await library.ask("robot", limit=20, chapter_min=2, chapter_max=3)
        assert {result.chapter for result in chapters.results} == {2, 3}
        lessons = await library.ask("robot", limit=20, lesson_filter=2)
        assert {result.lesson for result in lessons.results} == {2}
        parent = chapters.results[0].parent_doc_id
        assert {result.parent_doc_id for result in (await library.ask("robot", parent_doc_id=parent)).results} == {parent}

    told(folder, story)


def test_no_search_context_or_lesson_crosses_from_book_to_book(folder: Path) -> None:
    async def story(library: Library) -> None:
        assert (await library.ask("hopping for the high reader", hardware_tier_filter=4, limit=20)).total_found == 17
        theirs = (await library.ask("hopping for the low reader", "other")).results[0]
        mine = await library.search.book("small")
        with pytest.raises(NotFound, match=f"The book 'small' has no chunk {theirs.id}"):
            await read_context(library.index, mine, theirs.id)
        with pytest.raises(NotFound, match="The book 'small' has no lesson"):
            await read_lesson_chunks(library.index, mine, theirs.parent_doc_id)
        assert (await library.ask("hopping", parent_doc_id=theirs.parent_doc_id)).results == ()

    told(folder, story)


def test_what_is_asked_the_meaning_of_is_found_where_it_is_defined(folder: Path) -> None:
    """Every lesson has the word, and more often than the one that says what it is."""
    tank = "The Day Tank Pump (DTP) is a hand pump that fills the upper tank from the cellar before the evening."
    uses = ("DTP and DTP: oil the DTP.", "What the DTP needs is a DTP key.", "No DTP, no light. Is the DTP loud?")
    book = write_small_book(folder / "lamps", book_id="lamps")
    for number, text in enumerate((*uses, tank), start=1):
        write(book, f"module-3-oil/{number:02}-dtp.md", lesson(f"Round {number}", text))

    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            found = await library.ask("What is DTP?", limit=1, book_id="lamps")
            assert tank in found.results[0].text

    asyncio.run(story())


def test_the_same_text_twice_is_shown_once(folder: Path) -> None:
    async def story() -> None:
        for number in range(6):
            write(folder / "book", f"{number}.md", "# Copied\n\nThe same remark about gyroscopes stands in six lessons.\n")
        write(folder / "book", "own.md", "# Own\n\nThis lesson has something of its own to say about compasses.\n")
        async with open_library(folder / "data") as library:
            await library.ingest(folder / "book", book_id="small")
            found = await library.ask("remark about gyroscopes", limit=2)
            assert len({result.content_hash for result in found.results}) == len(found.results) == 2
            assert "gyroscopes" in found.results[0].text
            assert found.total_found == 7

    asyncio.run(story())


def test_context_is_the_chain_and_ends_in_nothing(folder: Path) -> None:
    async def story(library: Library) -> None:
        state = await library.search.book("small")
        chunks = await read_lesson_chunks(library.index, state, await find_lesson(library.index, state, ELBOWS))
        assert [chunk.chunk_index for chunk in chunks] == [0, 1, 2]
        first, middle, last = [await read_context(library.index, state, chunk.id) for chunk in chunks]
        assert (first.prev, first.next) == (None, chunks[1])
        assert (middle.prev, middle.chunk, middle.next) == tuple(chunks)
        assert (last.prev, last.next) == (chunks[1], None)

    told(folder, story)


def test_a_lesson_comes_whole_however_long(folder: Path) -> None:
    async def story() -> None:
        path = write(folder / "book", "long.md", lesson("Long", "A lesson without end goes on.", sections=600))
        async with open_library(folder / "data") as library:
            await library.ingest(folder / "book", book_id="small")
            state = await library.search.book("small")
            chunks = await read_lesson_chunks(library.index, state, await find_lesson(library.index, state, "long.md"))
            assert len(chunks) == chunks[0].total_chunks > 500
            assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
            assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(path.read_text().split())

    asyncio.run(story())


def test_unknown_books_chunks_and_lessons_are_named(folder: Path) -> None:
    async def story(library: Library) -> None:
        with pytest.raises(NotFound, match=r"There is no book 'third'. The library has: other, small."):
            await library.ask("elbow", "third")
        state = await library.search.book("small")
        for name in ("nonsense", "00000000-0000-0000-0000-000000000000", ""):
            with pytest.raises(NotFound, match="has no chunk"):
                await read_context(library.index, state, name)
            with pytest.raises(NotFound, match="has no lesson"):
                await read_lesson_chunks(library.index, state, await find_lesson(library.index, state, name))

    told(folder, story)


def test_a_library_without_books_says_how_to_get_one(folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            with pytest.raises(NotFound, match="bythebook ingest FOLDER"):
                await library.ask("elbow")

    asyncio.run(story())


def test_questions_of_every_shape_are_answered(folder: Path) -> None:
    async def story(library: Library) -> None:
        for text in ("the of and", "???", "🤖🤖🤖", "机器人手臂", "x" * 1000, "  elbow  ", "a\x00b elbow", "'; DROP TABLE books"):
            assert (await library.ask(text)).total_found == 17

    told(folder, story)


QUERY = SearchQuery(text="three characters at least", book_id="small")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"text": "ab"}, "3 to 1,000 characters; this one has 2"),
        ({"text": "  ab  "}, "this one has 2"),
        ({"text": "x" * 1001}, "this one has 1,001"),
        ({"limit": 0}, "limit must be from 1 to 20, not 0"),
        ({"limit": 21}, "not 21"),
        ({"hardware_tier_filter": 0}, "hardware tier must be from 1 to 4, not 0"),
        ({"hardware_tier_filter": 5}, "not 5"),
        ({"chapter_min": -1}, "chapter must be 0 or more"),
        ({"chapter_max": -1}, "chapter must be 0 or more"),
        ({"chapter_min": 3, "chapter_max": 2}, "swap the two"),
        ({"lesson_filter": -1}, "lesson must be 0 or more"),
        ({"proficiency_levels": ("A1", "D1")}, "one of A1, A2, B1, B2, C1, C2, not 'D1'"),
        ({"layer_filter": "L5"}, "one of L1, L2, L3, L4, not 'L5'"),
    ],
)
def test_what_cannot_be_asked_is_told(given: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        replace(QUERY, **given)  # type: ignore[arg-type]


def test_what_can_be_asked() -> None:
    assert (QUERY.limit, QUERY.hardware_tier_filter) == (5, 1)
    for given in ({"text": "abc"}, {"limit": 1}, {"limit": 20}, {"proficiency_levels": PROFICIENCIES}, {"chapter_min": 0}):
        replace(QUERY, **given)
    for layer in LAYERS:
        replace(QUERY, layer_filter=layer)


@pytest.mark.parametrize("given", [{"limit": 21}, {"hardware_tier_filter": 5}, {"layer_filter": "L5"}, {"chapter_max": -1}])
def test_a_scope_out_of_range_is_told_before_there_is_a_text(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        Scope(book_id="small", **given)


def test_a_search_has_the_scope_it_was_made_from_and_no_filter_of_its_own() -> None:
    given = {
        "module": "arms",
        "chapter_min": 1,
        "chapter_max": 3,
        "lesson": 2,
        "layer": "L2",
        "prefix": "a/b",
        "parent_doc_id": "p",
    }
    scope = Scope.of("small", limit=7, proficiency_levels=("A1",), hardware_tier=3, **given)
    assert {getattr(scope, name) for name in FILTERS.values()} == {("A1",), 3, *given.values()}
    query = scope.search("elbow")
    assert (query.text, query.limit, query.book_id, query.filters) == ("elbow", 7, "small", scope.filters)
    assert scope.unfiltered == Scope(book_id="small", limit=7)
    assert scope.unfiltered.search("elbow").hardware_tier_filter is None  # document D's tier 1 is a search's own default


def test_fewer_results_are_the_first_of_more(folder: Path) -> None:
    """Those that cannot be among the best are not read closely, and it must not show."""
    book = folder / "walking"
    words = ("hip", "knee", "ankle", "toe", "heel", "gait", "step", "sway")
    for number in range(60):
        said = [words[(number * step + step) % len(words)] for step in range(1, 9)]
        text = " ".join(f"The {word} moves{' slowly' * (number % 7)}." for word in said)
        write(book, f"{number:02}.md", lesson(f"Part {number}", text))

    async def story(library: Library) -> None:
        await library.ingest(book, book_id="walking")
        for asked in ("hip and knee", "how does the ankle move with toe and heel", "gait step sway", "slowly"):
            every = (await library.ask(asked, book_id="walking", limit=20)).results
            assert len(every) == 20
            for limit in (1, 3, 7, 12):
                fewer = (await library.ask(asked, book_id="walking", limit=limit)).results
                assert [result.id for result in fewer] == [result.id for result in every[:limit]]

    told(folder, story)
