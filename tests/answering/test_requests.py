"""How often a Qdrant server is asked for its collections: once for each question, and never for those of others."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bythebook.operations.reader import search
from bythebook.retrieval.query import SearchQuery
from bythebook.settings import read_settings
from bythebook.wiring.reader import Library as OpenLibrary
from tests.support.hall import Hall, open_hall
from tests.support.lighthouse import Lighthouse

OURS = "textbook_chunks"
LOOK = ["GET /collections", f"GET /collections/{OURS}"]


def looks(hall: Hall) -> list[str]:
    """Requests that ask which collections there are, or what one of them is."""
    return [one for one in hall.server.requests if one.startswith("GET ")]


def test_a_turn_and_a_search_look_at_the_collections_once(folder: Path, book: Path) -> None:
    async def story(hall: Hall) -> None:
        async with hall.open() as library:
            await library.ingest(book)
            (manifest,) = (await library.index.collections()).values()
            await library.index.create("of_somebody_else", manifest)
            hall.server.requests.clear()
            events = await Lighthouse(library=library).events("Which joint bends the forearm?", book_id="small")
            assert events[1].results  # type: ignore[union-attr]
            assert looks(hall) == LOOK

            hall.server.requests.clear()
            given = OpenLibrary(
                settings=read_settings(data_dir=folder), index=library.index, embedder=library.embedder, data_dir=folder
            )
            found = await search(given, query=SearchQuery(text="Which joint bends the forearm?", book_id="small"))
            assert found.response.results
            assert looks(hall) == LOOK

    with open_hall(folder) as hall:
        asyncio.run(story(hall))
