"""The story of one lesson, from a file an author saves to the passage a reader finds, with nothing but real parts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bythebook.ingestion.progress import IngestReport
from bythebook.ingestion.request import NO_CONSENT, Consent, IngestionRequest
from bythebook.retrieval.context import read_context
from bythebook.retrieval.query import SearchQuery
from bythebook.settings import read_settings
from bythebook.wiring.author import Resources, open_resources
from tests.support.small_book import write

BOOK = 'book_id = "humanoids"\ntitle = "Humanoids"\nbase_url = "https://humanoids.example"\nsite = "docusaurus"\n'
BOOK += '[modules]\n"module-1-balance" = "balance"\n'
PATH = "module-1-balance/chapter-1-standing/02-zero-moment-point.md"
LESSON = """\
---
title: The zero moment point
hardware_tier: 2
proficiency_level: B1
layer: L2
---

# The zero moment point

A robot that stands still seems to do nothing, yet its controllers never rest.

## Where the ground pushes back

The **zero moment point** is the spot on the floor where the ground's push alone keeps the robot from tipping. As long as
it stays inside the support polygon, the feet stay flat.

## How fast to look

Run the balance loop at 500 Hz or faster: at 100 Hz the robot has begun to fall before the first correction arrives.
"""


def test_the_path_of_a_file(folder: Path) -> None:
    asyncio.run(_story(folder / "book", folder / "data"))


async def _story(book: Path, data: Path) -> None:
    write(book, "book.toml", BOOK)
    lesson = write(book, PATH, LESSON)
    write(book, "module-1-balance/chapter-1-standing/index.md", "# Standing still\n\nFour lessons about not falling over.\n")

    async with open_resources(read_settings(data_dir=data)) as resources:
        # It is read, cut, embedded, stored and recorded.
        report = await _ingest(resources, book)
        assert (report.files_processed, report.chunks_embedded, report.failures) == (2, report.total_chunks, ())

        # A reader asks in other words than the author's, and gets the author's own, with the place they stand at.
        query = SearchQuery(
            text="How often must the controller that keeps it upright run?", book_id="humanoids", hardware_tier_filter=2
        )
        found = await resources.book_search.search(query)
        first = found.results[0]
        assert "Run the balance loop at 500 Hz or faster" in first.text
        assert LESSON[first.span.start : first.span.end] == first.text
        assert (first.module, first.chapter, first.lesson, first.hardware_tier) == ("balance", 1, 2, 2)
        assert (first.page_title, first.chapter_title) == ("The zero moment point", "Standing still")
        assert first.source_url.startswith("https://humanoids.example/module-1-balance/chapter-1-standing/zero-moment-point")

        # A reader with lesser hardware does not see it.
        beginner = await resources.book_search.search(SearchQuery(text=query.text, book_id="humanoids"))
        assert {result.source_file for result in beginner.results} == {"module-1-balance/chapter-1-standing/index.md"}

        # What stands around it can be read, and ends where the lesson ends.
        state = await resources.search.book("humanoids")
        context = await read_context(resources.index, state, first.id)
        assert (context.prev is None, context.next is None) == (
            first.chunk_index == 0,
            first.chunk_index == first.total_chunks - 1,
        )

    # The author corrects a number. The passage is replaced, and nothing else is embedded again.
    lesson.write_text(LESSON.replace("500 Hz", "1,000 Hz"))
    async with open_resources(read_settings(data_dir=data)) as resources:
        report = await _ingest(resources, book)
        assert (report.files_modified, report.files_skipped, report.chunks_embedded) == (1, 1, 1)
        found = await resources.book_search.search(query)
        assert "1,000 Hz" in found.results[0].text
        assert not any("500 Hz" in result.text for result in found.results)

        # The author removes the lesson, and says so: it is much of the book. Nothing of it is found any more.
        lesson.unlink()
        report = await _ingest(resources, book, consent=Consent(remove=True))
        assert report.files_deleted == 1
        assert all("balance loop" not in result.text for result in (await resources.book_search.search(query)).results)


async def _ingest(resources: Resources, book: Path, *, consent: Consent = NO_CONSENT) -> IngestReport:
    return await resources.ingestion.run(book, IngestionRequest(consent=consent))
