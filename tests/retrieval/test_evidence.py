"""What was found, made into evidence: merged, without duplicates, within the budget, labelled. On a real index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.books.chunker import size
from bythebook.books.model import Chunk
from bythebook.index.vectors import Filters
from bythebook.retrieval.evidence import MOST_PASSAGES, Evidence, gather, merge
from tests.support.library import Library, open_library
from tests.support.small_book import write

pytestmark = pytest.mark.anyio

BUDGET = 3000
LINE = "A humanoid keeps its balance by moving the point where its feet press on the ground"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def section(title: str, *, words: int = 20, tail: str = ".") -> str:
    return f"## {title}\n\n" + " ".join(f"{LINE}, says remark {turn} of {title.lower()}{tail}" for turn in range(words)) + "\n\n"


async def read_chunks(library: Library) -> dict[str, list[Chunk]]:
    state = await library.search.book("small")
    lessons: dict[str, list[Chunk]] = {}
    async for held in library.index.scan(state.collection_name, Filters(book_id="small")):
        lessons.setdefault(held.chunk.source_file, []).append(held.chunk)
    return {path: sorted(chunks, key=lambda chunk: chunk.chunk_index) for path, chunks in lessons.items()}


def hits(*chunks: Chunk) -> list[tuple[Chunk, float, float]]:
    return [(chunk, 0.9 - place / 10, 0.8 - place / 10) for place, chunk in enumerate(chunks)]


def places(evidence: tuple[Evidence, ...]) -> list[tuple[int, list[tuple[str, int]]]]:
    return [(one.label, [(passage.source_file, passage.chunk_index) for passage in one.passages]) for one in evidence]


def write_lessons(root: Path) -> Path:
    write(root, "book.toml", 'book_id = "small"\ntitle = "A small book"\n')
    write(root, "a.md", "# A\n\n" + "".join(section(f"Part {name}") for name in ["one", "two", "three", "four", "five", "six"]))
    write(root, "b.md", "# B\n\n" + "".join(section(f"Side {name}") for name in ("left", "right")))
    write(root, "copy.md", "# B\n\n" + section("Side left"))
    items = "".join(f"- Step {turn}: {LINE}, and {turn} more words follow here so that it is long.\n" for turn in range(60))
    write(root, "steps.md", f"# Steps\n\nDo these in order:\n\n{items}")
    return root


async def test_each_hit_is_labelled_by_its_rank(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
        found = hits(lessons["b.md"][1], lessons["a.md"][3], lessons["a.md"][0])
        evidence = gather(found, budget_tokens=BUDGET)
    assert places(evidence) == [(1, [("b.md", 1)]), (2, [("a.md", 3)]), (3, [("a.md", 0)])]
    assert [(one.score, one.relevance) for one in evidence] == [(score, relevance) for _, score, relevance in found]


async def test_hits_that_adjoin_become_one_in_book_order(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
        a, b = lessons["a.md"], lessons["b.md"]
        evidence = gather(hits(a[2], b[0], a[1]), budget_tokens=BUDGET)
        bridged = gather(hits(a[0], a[2], b[0], a[1]), budget_tokens=BUDGET)
    assert places(evidence) == [(1, [("a.md", 1), ("a.md", 2)]), (2, [("b.md", 0)])]
    assert (evidence[0].score, evidence[0].relevance) == (0.9, 0.8), "the best chunk's"
    assert evidence[0].text == f"{a[1].text}\n\n{a[2].text}"
    assert evidence[0].first == a[1]
    assert places(bridged) == [(1, [("a.md", 0), ("a.md", 1), ("a.md", 2)]), (2, [("b.md", 0)])]


async def test_one_label_stands_for_few_chunks_only(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
        evidence = gather(hits(*lessons["a.md"]), budget_tokens=100_000)
    assert len(evidence) > 1
    assert max(len(one.passages) for one in evidence) <= MOST_PASSAGES
    assert sum(len(one.passages) for one in evidence) == len(lessons["a.md"])


async def test_no_text_comes_twice(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
        copy, left = lessons["copy.md"][0], lessons["b.md"][0]
        same = gather(hits(left, copy, left), budget_tokens=BUDGET)
        part = replace_text(left, left.text[:300])
        contained = gather(hits(part, lessons["a.md"][0], left), budget_tokens=BUDGET)
    assert places(same) == [(1, [("b.md", 0)])]
    assert places(contained) == [(1, [("b.md", 0)]), (2, [("a.md", 0)])]
    assert contained[0].passages[0].text == left.text
    assert contained[0].score == 0.7, "its own, in the place of the better one"


def replace_text(chunk: Chunk, text: str) -> Chunk:
    return replace(chunk, text=text, id="another", content_hash="another")


async def test_nothing_but_what_was_found_is_evidence_each_chunk_with_its_own_scores(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
    steps = lessons["steps.md"]
    found = hits(steps[2], lessons["b.md"][0], steps[3])
    evidence = gather(found, budget_tokens=BUDGET)
    assert places(evidence) == [(1, [("steps.md", 2), ("steps.md", 3)]), (2, [("b.md", 0)])]
    held = {chunk.id: one.scores_of(chunk) for one in evidence for chunk in one.passages}
    assert held == {chunk.id: (score, relevance) for chunk, score, relevance in found}


@pytest.mark.parametrize("budget", [0, 100, 450, 900, 1500, 3000])
async def test_the_budget_is_held_with_whole_chunks(folder: Path, budget: int) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
        everything = [chunk for chunks in lessons.values() for chunk in chunks]
        evidence = gather(hits(*everything), budget_tokens=budget)
    passages = [passage for one in evidence for passage in one.passages]
    assert sum(size(passage.text) for passage in passages) <= budget
    assert set(passages) <= set(everything)
    assert len({passage.content_hash for passage in passages}) == len(passages)
    assert [one.label for one in evidence] == list(range(1, len(evidence) + 1))
    assert all(len({passage.parent_doc_id for passage in one.passages}) == 1 for one in evidence), "never across a lesson"
    assert bool(evidence) == (budget >= min(size(chunk.text) for chunk in everything))


async def test_nothing_found_is_no_evidence() -> None:
    assert gather([], budget_tokens=BUDGET) == ()


async def test_without_a_budget_everything_is_evidence(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        everything = [chunk for chunks in (await read_chunks(library)).values() for chunk in chunks]
        evidence = gather(hits(*everything), budget_tokens=None)
    assert {passage.content_hash for one in evidence for passage in one.passages} == {chunk.content_hash for chunk in everything}


async def test_what_is_found_later_keeps_all_its_passages_and_earlier_labels(folder: Path) -> None:
    async with open_library(folder / "library") as library:
        await library.ingest(write_lessons(folder / "book"))
        lessons = await read_chunks(library)
        a, b = lessons["a.md"], lessons["b.md"]
        first = gather(hits(a[1], b[0]), budget_tokens=BUDGET)
        later = gather(hits(a[1], a[2]), budget_tokens=BUDGET)
    together, found = merge(first, later)
    assert places(together) == [(1, [("a.md", 1)]), (2, [("b.md", 0)]), (3, [("a.md", 2)])]
    assert places(found) == [(1, [("a.md", 1)]), (3, [("a.md", 2)])]
    assert merge((), first) == (first, first)
    assert merge(first, first) == (first, first)
