"""A book taken from the shelf, or put back under another id: nothing of it stays where it was, and no other book is touched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from bythebook.database.tables import (
    cited,
    embeddings,
    ingestion_records,
    jobs,
    messages,
    reservations,
    threads,
    turns,
    worth_asking,
)
from bythebook.embedding.batches import EmbeddingCache
from bythebook.errors import Busy, InvalidInput, NotFound
from bythebook.evaluation.question_store import QuestionStore
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.ingestion.ingest import Ingestion
from bythebook.ingestion.progress import IngestionRun, nobody
from bythebook.ingestion.request import IngestionRequest
from bythebook.ingestion.shelf import Shelf
from bythebook.jobs.store import Jobs
from bythebook.threads.store import ANY_KEY, Threads
from bythebook.web.keys import Keys
from tests.support.hall import order_of
from tests.support.library import Library, open_library
from tests.support.made_turns import answer, citation, keep
from tests.support.small_book import write_small_book


def tell(folder: Path, story: Callable[[Library, Shelf], Awaitable[None]]) -> None:
    """With two books in one collection, a thread with each, and a job of the first."""

    async def whole() -> None:
        async with open_library(folder / "data") as library:
            for book_id in ("one", "two"):
                await library.ingest(write_small_book(folder / book_id, book_id=book_id))
                chunk = await first_chunk(library, book_id)
                said = answer(book_id=book_id, citations=(citation(chunk_id=chunk),))
                await keep(Threads(library.database), said, book_id=book_id)
            await Jobs(library.database).queue(order_of(folder / "one", book_id="one"))
            for book_id in ("one", "two"):
                await Keys(library.database).create("a reader", book_id=book_id)
            await fit(library, "one")
            await QuestionStore(library.database).keep("one", "glossary.md", "digest", ())
            cache = EmbeddingCache(library.database)
            await story(library, Shelf(index=library.index, records=library.records, cache=cache, database=library.database))

    asyncio.run(whole())


async def first_chunk(library: Library, book_id: str) -> str:
    state = await library.search.book(book_id)
    records = await library.records.records(book_id, state.collection_name)
    return records["glossary.md"].chunk_ids[0]


async def fit(library: Library, book_id: str) -> None:
    for name, manifest in (await library.index.collections()).items():
        await library.index.save_manifest(name, manifest.fitted(book_id, {"close": {"method": "made up"}}))


async def count(library: Library, table: Any, **where: str) -> int:
    found = select(func.count()).select_from(table).where(*(table.c[name] == value for name, value in where.items()))
    return int(await library.database.run(lambda connection: connection.execute(found).scalar_one()))


def test_a_removed_book_leaves_nothing_and_takes_nothing_with_it(folder: Path) -> None:
    async def story(library: Library, shelf: Shelf) -> None:
        other = await library.snapshot_of("two")
        held = await shelf.remove("one")
        assert (held.lessons, held.chunks, held.threads, held.jobs, held.keys) == (7, 17, 1, 1, 1)
        bound, other_key = await Keys(library.database).list()
        assert (bound.revoked_at is not None, other_key.revoked_at) == (True, None)
        for table in (threads, jobs, turns, cited, ingestion_records, reservations, worth_asking):
            assert await count(library, table, book_id="one") == 0, table.name
        assert await count(library, messages) > 0
        assert await count(library, embeddings) == 0  # the other book says the same words; they are in the index
        for name, manifest in (await library.index.collections()).items():
            assert (list(manifest.books), list(manifest.calibration)) == (["two"], [])
            assert await library.index.count(name, Filters(book_id="one")) == 0
        assert await library.snapshot() == {"two": other}
        assert len(await Threads(library.database).list(ANY_KEY)) == 1
        with pytest.raises(NotFound, match="no book 'one'"):
            await shelf.remove("one")
        await shelf.remove("two")
        assert await library.index.collections() == {}
        await library.ingest(folder / "one")
        assert await library.problems("one") == ()

    tell(folder, story)


def test_a_renamed_book_is_what_an_ingestion_under_that_id_gives(folder: Path) -> None:
    async def story(library: Library, shelf: Shelf) -> None:
        other = await library.snapshot_of("two")
        await shelf.rename("one", "first")
        assert await library.problems("first") == ()
        assert await QuestionStore(library.database).read("first", "glossary.md", "digest") == ()
        for table in (threads, jobs, turns, cited, ingestion_records, reservations, worth_asking):
            assert await count(library, table, book_id="one") == 0, table.name
        (manifest,) = (await library.index.collections()).values()
        assert (sorted(manifest.books), list(manifest.calibration)) == (["first", "two"], ["first"])
        assert await library.index.count("textbook_chunks", Filters(book_id="one")) == 0
        assert await library.snapshot_of("two") == other
        async with open_library(folder / "afresh") as afresh:
            await afresh.ingest(folder / "one", book_id="first")
            renamed, made = await library.snapshot_of("first"), await afresh.snapshot_of("first")
        assert (renamed["state"], renamed["points"]) == (made["state"], made["points"])
        report = await library.ingest(folder / "one", book_id="first")
        assert (report.chunks_created, report.chunks_deleted, report.chunks_embedded) == (0, 0, 0)
        assert (await library.snapshot_of("first"))["records"] == made["records"]

    tell(folder, story)


def test_threads_follow_a_renamed_book_and_cite_its_chunks(folder: Path) -> None:
    async def story(library: Library, shelf: Shelf) -> None:
        await shelf.rename("one", "first")
        kept = Threads(library.database)
        (thread,) = await kept.list(ANY_KEY, book_id="first")
        (turn,) = await kept.turns(thread.thread_id)
        new = await first_chunk(library, "first")
        assert [one.chunk_id for one in turn.answer.citations] == [new]
        assert await count(library, cited, book_id="first", chunk_id=new) == 1

    tell(folder, story)


@pytest.mark.parametrize("wanted", [[("one", "new"), ("two", "new")], [("one", "new"), ("one", "newer")]])
def test_of_two_renames_at_once_that_exclude_each_other_one_is_done(folder: Path, wanted: list[tuple[str, str]]) -> None:
    """Two books never become one, and a book never two."""

    async def story(library: Library, shelf: Shelf) -> None:
        ended = await asyncio.gather(*(shelf.rename(*one) for one in wanted), return_exceptions=True)
        assert [type(one) for one in ended if isinstance(one, Exception)] in ([InvalidInput], [NotFound])
        manifests = (await library.index.collections()).values()
        served = [book_id for manifest in manifests for book_id in manifest.books]
        assert sorted(served) == [state.book_id for state in await library.records.books()]
        assert len(served) == 2
        for book_id in served:
            state = await library.search.book(book_id)
            assert await library.index.count(state.collection_name, Filters(book_id=book_id)) == state.total_chunks

    tell(folder, story)


def test_what_a_book_cannot_be_called(folder: Path) -> None:
    async def story(library: Library, shelf: Shelf) -> None:
        with pytest.raises(InvalidInput, match="There is a book 'two' already"):
            await shelf.rename("one", "two")
        with pytest.raises(InvalidInput, match=r"'\.\./x' cannot be a book's id"):
            await shelf.rename("one", "../x")
        with pytest.raises(NotFound):
            await shelf.rename("three", "four")

    tell(folder, story)


async def edited_and_written(ingestion: Ingestion, root: Path) -> tuple[IngestionRun, IngestionState]:
    """An ingestion of a book with one edited lesson, all of it but the last step."""
    lesson = root / "glossary.md"
    lesson.write_text(lesson.read_text(encoding="utf-8") + "\nA new lens is polished.\n", encoding="utf-8")
    run = await ingestion.plan(root, IngestionRequest())
    return run, await ingestion.write(run, nobody)


class Interrupted:
    """Stands before an index; something happens before the first call of one of its functions."""

    def __init__(self, index: VectorIndex, name: str, happening: Callable[[], Awaitable[None]]) -> None:
        self._index = index
        self._name = name
        self._happening: Callable[[], Awaitable[None]] | None = happening

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._index, name)
        return partial(self._after_it, found) if name == self._name else found

    async def _after_it(self, call: Callable[..., Awaitable[Any]], *given: Any, **named: Any) -> Any:
        happening, self._happening = self._happening, None
        if happening:
            await happening()
        return await call(*given, **named)


@pytest.mark.parametrize("moment", ["before the copy", "during the copy", "before the rows"])
def test_a_book_that_a_job_takes_up_while_it_is_renamed_keeps_its_id(folder: Path, moment: str) -> None:
    """Or it would be there twice, of one id only what the job changed."""

    async def story(library: Library, shelf: Shelf) -> None:
        other, ingestion = await library.snapshot_of("two"), library.ingestion
        written: list[tuple[IngestionRun, IngestionState]] = []

        async def take_up() -> None:
            assert await Jobs(library.database).start(order_of(folder / "one", book_id="one"), "somebody")
            written.append(await edited_and_written(ingestion, folder / "one"))

        match moment:
            case "before the copy":
                await take_up()
            case "during the copy":
                index: VectorIndex = Interrupted(shelf.index, "replace", take_up)
                shelf = replace(shelf, index=index)
            case _:
                index = Interrupted(shelf.index, "save_manifest", take_up)
                shelf = replace(shelf, index=index)
        with pytest.raises(Busy, match=r"A job has changed|is running"):
            await shelf.rename("one", "first")
        await ingestion.serve(*written.pop())
        now = await library.snapshot()
        assert (set(now), now["two"]) == ({"one", "two"}, other)
        for table in (ingestion_records, reservations, threads, turns, cited):
            assert await count(library, table, book_id="first") == 0, table.name
        (manifest,) = (await library.index.collections()).values()
        assert (sorted(manifest.books), list(manifest.calibration)) == (["one", "two"], ["one"])
        assert await library.problems("one") == ()

    tell(folder, story)


@pytest.mark.parametrize("gone", ["renamed", "removed"])
def test_an_ingestion_does_not_bring_back_the_id_of_a_book_that_is_gone(folder: Path, gone: str) -> None:
    async def story(library: Library, shelf: Shelf) -> None:
        ingestion = library.ingestion
        run, state = await edited_and_written(ingestion, folder / "one")
        await (shelf.rename("one", "first") if gone == "renamed" else shelf.remove("one"))
        with pytest.raises(Busy, match="removed or renamed"):
            await ingestion.serve(run, state)
        assert set(await library.snapshot()) == ({"first", "two"} if gone == "renamed" else {"two"})
        for table in (ingestion_records, reservations):
            assert await count(library, table, book_id="one") == 0, table.name
        assert await library.index.count("textbook_chunks", Filters(book_id="one")) == 0

    tell(folder, story)
