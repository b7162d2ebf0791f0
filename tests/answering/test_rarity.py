"""How rare a word is in one book."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bythebook.answering.look import Rarity, read_rarity
from bythebook.index.vectors import Filters
from tests.support.lighthouse import Lighthouse, tell
from tests.support.small_book import lesson, write


async def rarity(lighthouse: Lighthouse, *stems: str) -> Rarity:
    state = await lighthouse.library.search.book("light")
    return await read_rarity(lighthouse.library.index, state, stems)


def test_the_rarity_is_bm25s_idf(folder: Path) -> None:
    async def story(lighthouse: Lighthouse) -> None:
        state = await lighthouse.library.search.book("light")
        chunks = await lighthouse.library.index.count(state.collection_name, Filters(book_id="light"))
        read = await rarity(lighthouse, "wick", "keeper", "zebra")
        for stem, found in (("wick", 1), ("keeper", 4), ("zebra", 0)):
            assert read.by_stem[stem] == pytest.approx(math.log(1 + (chunks - found + 0.5) / (found + 0.5)), rel=1e-4)
        assert read.by_stem["zebra"] == read.most

    tell(folder, story)


def test_another_book_in_the_same_index_changes_nothing(folder: Path) -> None:
    async def story(lighthouse: Lighthouse) -> None:
        before = await rarity(lighthouse, "wick", "keeper", "wombat")
        for number in range(6):
            write(folder / "other", f"{number}.md", lesson(f"Wombat {number}", f"A wombat without a wick, number {number}."))
        await lighthouse.library.ingest(folder / "other", book_id="other")
        after = await rarity(lighthouse, "wick", "keeper", "wombat")
        assert after == before
        assert after.by_stem["wombat"] == after.most

    tell(folder, story)


def test_a_stem_asked_twice_is_answered_once_and_nothing_asked_is_nothing(folder: Path) -> None:
    async def story(lighthouse: Lighthouse) -> None:
        assert list((await rarity(lighthouse, "wick", "wick")).by_stem) == ["wick"]
        assert (await rarity(lighthouse)).by_stem == {}

    tell(folder, story)
