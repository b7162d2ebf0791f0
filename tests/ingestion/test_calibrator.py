"""Relevance fitted to a book: by its author's questions, or by ones made from it. Always the same."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bythebook.grounding.calibration import METHOD
from bythebook.index.manifest import Manifest
from bythebook.ingestion.calibrator import FOREIGN, BookQuestion, for_fitting, read_questions
from bythebook.ingestion.request import IngestionRequest
from tests.support.library import open_library
from tests.support.lighthouse import LESSONS, Lighthouse, make_embedder, open_lighthouse, tell
from tests.support.small_book import lesson, write


async def manifest(light: Lighthouse) -> Manifest:
    state = await light.library.search.book("light")
    return (await light.library.index.collections())[state.collection_name]


def test_two_fits_are_the_same_to_the_byte(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        before = await manifest(light)
        state = await light.library.search.book("light")
        assert await light.calibrator.calibrate(state, folder / "book")
        assert json.dumps((await manifest(light)).calibration) == json.dumps(before.calibration)

    tell(folder, story)


def test_the_fit_is_in_the_manifest_and_survives_reopening(folder: Path) -> None:
    fits = []

    async def story(light: Lighthouse) -> None:
        fits.append((await light.calibration("close"), await light.calibration("quick")))

    async def again() -> None:
        async with open_lighthouse(folder) as light:
            fits.append((await light.calibration("close"), await light.calibration("quick")))

    tell(folder, story)
    asyncio.run(again())
    assert fits[0] == fits[1]
    close, quick = fits[0]
    assert close.method == METHOD
    assert (len(close.names), len(quick.names)) == (9, 4)
    assert close.sources["other subject"] == len(FOREIGN)
    assert (
        close.sources["held out"]
        == close.answerable
        == sum(close.sources[kind] for kind in ("definition", "heading", "statement"))
    )
    assert close.auc > 0.95
    assert quick.auc > 0.7
    assert close.balanced_accuracy > 0.85


def test_a_book_too_small_to_ask_about_is_left_as_it_is(folder: Path) -> None:
    async def story() -> None:
        write(folder / "tiny", "one.md", lesson("One", "One sentence stands here.", sections=0))
        async with open_library(folder / "data", make_embedder()) as library:
            await library.ingest(folder / "tiny", book_id="light")
            light = Lighthouse(library=library)
            state = await library.search.book("light")
            assert not await light.calibrator.calibrate(state, folder / "tiny")
            assert (await manifest(light)).calibration == {}
            answer = await light.ask("What stands here?")
            assert answer.refused or answer.citations

    asyncio.run(story())


def test_a_book_made_anew_is_fitted_as_one_that_comes(folder: Path) -> None:
    """Held out, its one lesson leaves nothing to find: not what the collection that still serves has of it."""
    book, fits = folder / "one", []

    async def fitted(data: str) -> None:
        async with open_library(folder / data, make_embedder()) as library:
            light = Lighthouse(library=library)
            await light.publisher.run(book, IngestionRequest(mode="recreate", calibrate=True))
            fits.append(rounded(asdict(await light.calibration())))

    texts = [text for text in LESSONS.values() if not text.startswith("---")]
    write(book, "book.toml", 'book_id = "light"\n')
    for half, data in ((texts[::2], "moved"), (texts[1::2], "moved"), (texts[1::2], "fresh")):
        write(book, "lesson.md", "\n".join(half))
        asyncio.run(fitted(data))
    assert fits[1] == fits[2] != fits[0]


def rounded(value: Any) -> Any:
    """Embedded beside other texts, a text differs in the eighth place."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def questions(count: int, answerable: bool) -> list[dict[str, Any]]:
    kind = "yes" if answerable else "no"
    text = "How often is wick number {} trimmed by the keeper?" if answerable else "Who sells {} tickets for the tower?"
    return [{"id": f"{kind}-{number}", "question": text.format(number), "answerable": answerable} for number in range(count)]


def test_an_authors_questions_take_the_place_of_made_ones(folder: Path) -> None:
    rows = questions(60, True) + questions(40, False)

    async def story(light: Lighthouse) -> None:
        root = folder / "book"
        (root / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
        state = await light.library.search.book("light")
        assert await light.calibrator.calibrate(state, root)
        fitted = await light.calibration()
        fitting = [row for row in rows if for_fitting(str(row["id"]))]
        assert fitted.sources == {"author": len(fitting), "other subject": len(FOREIGN)}
        assert fitted.answerable == sum(row["answerable"] for row in fitting)

    tell(folder, story)


def test_few_questions_of_the_author_join_the_made_ones(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        root = folder / "book"
        (root / "questions.jsonl").write_text("\n".join(map(json.dumps, questions(6, True))))
        state = await light.library.search.book("light")
        assert await light.calibrator.calibrate(state, root)
        assert {"author", "held out", "statement", "other subject"} <= (await light.calibration()).sources.keys()

    tell(folder, story)


def test_half_of_an_authors_questions_are_never_fitted_by() -> None:
    halves = [for_fitting(f"q-{number}") for number in range(2000)]
    assert 900 < sum(halves) < 1100
    assert halves == [for_fitting(f"q-{number}") for number in range(2000)]


def test_questions_are_read_and_unreadable_lines_passed_over(folder: Path) -> None:
    lines = [
        json.dumps({"id": "a", "question": "What is it?", "standalone": "What is a wick?", "answerable": True}),
        "not json",
        json.dumps(["a", "list"]),
        json.dumps({"id": "b", "answerable": True}),
        json.dumps({"id": "c", "question": "Only for some?", "answerable": True, "filters": {"module_filter": "lamp"}}),
        json.dumps({"id": 4, "question": "Who sells tickets?", "answerable": False, "filters": {}}),
        "null",
        "",
        "[" * 100_000,
        json.dumps({"id": "d", "question": "Why " * 1000, "answerable": True}),
        json.dumps({"id": "e", "question": "?", "answerable": True}),
        '{"id": "f", "question": "Half a \\ud800 character?", "answerable": true}',
    ]
    write(folder, "questions.jsonl", "\n".join(lines))
    assert read_questions(folder) == [
        BookQuestion(id="a", text="What is a wick?", answerable=True),
        BookQuestion(id="4", text="Who sells tickets?", answerable=False),
    ]
    assert read_questions(folder / "nowhere") == []


def test_questions_beyond_the_limits_or_out_of_the_book_are_not_read(folder: Path) -> None:
    many = "\n".join(json.dumps(row) for row in questions(6_000, True))
    write(folder, "many/questions.jsonl", many)
    assert len(read_questions(folder / "many")) == 5_000
    write(folder, "large/questions.jsonl", many + " " * 5_000_000)
    assert read_questions(folder / "large") == []
    (folder / "linked").mkdir()
    (folder / "linked" / "questions.jsonl").symlink_to(folder / "many" / "questions.jsonl")
    assert read_questions(folder / "linked") == []
