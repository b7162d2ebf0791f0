"""Ingestion with the real index and the real database: what each mode does, what it tells, and what a kill leaves behind."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bythebook.books.booktoml import read_book
from bythebook.books.model import BookOptions
from bythebook.books.sandbox import Sandbox
from bythebook.embedding.batches import EmbeddingCache
from bythebook.errors import InvalidBook, Mismatch, NotFound, Unavailable
from bythebook.index.vectors import Filters
from bythebook.ingestion.ingest import Ingestion
from bythebook.ingestion.parser import Parser
from bythebook.ingestion.plan import KEPT_CHARACTERS, make_plan
from bythebook.ingestion.progress import Advanced, IngestionEvent, IngestReport, Planned, Tally
from bythebook.ingestion.request import Consent, IngestionRequest, Mode
from tests.support.fakes.mortal import Killed, Steps, mortal
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import copy_data, open_library, with_embedder
from tests.support.small_book import BOOK_TOML, CHAPTER_PAGE, lesson, paragraph, write, write_small_book

ELBOWS = "module-1-arms/chapter-1-joints/01-elbows.md"
WRISTS = "module-1-arms/chapter-1-joints/02-wrists.md"
COPIED = Consent(replace=True)
STAIRS = "module-2-legs/chapter-3-walking/02-stairs.md"


def pages(book: Path) -> list[Path]:
    return sorted(book.rglob("*.md"))


def test_first_ingestion_tells_a_plan_then_progress_then_a_report(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            first, *between, last = await library.events(book)
            assert isinstance(first, Planned)
            assert (first.files_total, first.mode) == (7, "incremental")
            assert first.bytes_total == sum(path.stat().st_size for path in pages(book))
            progress = [event for event in between if isinstance(event, Advanced)]
            assert len(progress) == len(between) > 0
            assert [event.bytes_done for event in progress] == sorted(event.bytes_done for event in progress)
            assert progress[-1].bytes_done == first.bytes_total
            assert isinstance(last, IngestReport)
            assert (last.files_discovered, last.files_processed, last.files_skipped) == (7, 7, 0)
            assert (last.files_new, last.files_modified, last.files_deleted) == (7, 0, 0)
            assert last.chunks_created == last.chunks_embedded == last.total_chunks == 17
            assert last.chunks_deleted == 0
            assert last.completed_at >= last.started_at
            assert (last.failures, last.warnings) == ((), ())

    asyncio.run(story())


def test_nothing_changed_embeds_nothing_and_writes_nothing(book: Path, folder: Path) -> None:
    async def story() -> None:
        embedder = SmallEmbedder()
        async with open_library(folder / "data", embedder) as library:
            await library.ingest(book)
            before, embedder.embedded = await _everything(library), []
            steps = Steps()
            for path in pages(book):
                path.touch()
            report = await mortal(library, steps).ingest(book)
            assert embedder.embedded == []
            assert (report.files_processed, report.files_skipped, report.chunks_created, report.chunks_deleted) == (0, 7, 0, 0)
            assert await _everything(library) == before
            # Settling what there is, and noting the time of the run in manifest and database, are all that may be written.
            assert steps.taken == 6

    asyncio.run(story())


def test_one_paragraph_edited_embeds_only_the_chunks_whose_text_changed(book: Path, folder: Path) -> None:
    async def story() -> None:
        embedder = SmallEmbedder()
        async with open_library(folder / "data", embedder) as library:
            await library.ingest(book)
            before, embedder.embedded = await _everything(library), []
            file = book / ELBOWS
            file.write_text(file.read_text().replace("Remark 2.1 says", "Remark 2.1, edited, says"))
            report = await library.ingest(book)
            assert len(embedder.embedded) == report.chunks_embedded == 1
            assert "Remark 2.1, edited" in embedder.embedded[0]
            assert (report.files_processed, report.files_modified, report.files_skipped) == (1, 1, 6)
            assert (report.chunks_created, report.chunks_deleted) == (1, 1)
            after = await _everything(library)
            same = before.keys() & after.keys()
            assert len(same) == 16
            moved = {id for id in same if before[id] != after[id]}
            assert {after[id].chunk.source_file for id in moved} == {ELBOWS}
            for id in moved:  # they point to a new neighbour, or stand in a file with another hash
                assert after[id].version == before[id].version + 1
                assert after[id].created_at == before[id].created_at < after[id].updated_at
                assert after[id].embedded_at == before[id].embedded_at

    asyncio.run(story())


def test_full_does_every_lesson_again_and_embeds_nothing_that_is_known(book: Path, folder: Path) -> None:
    async def story() -> None:
        embedder = SmallEmbedder()
        async with open_library(folder / "data", embedder) as library:
            await library.ingest(book)
            before, embedder.embedded = await _everything(library), []
            report = await library.ingest(book, "full")
            assert (report.files_processed, report.files_skipped) == (7, 0)
            assert embedder.embedded == []
            assert await _everything(library) == before  # versions and times as well: nothing said anything new

    asyncio.run(story())


def test_a_deleted_lesson_goes_and_takes_nothing_with_it(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            (book / STAIRS).unlink()
            report = await library.ingest(book)
            assert (report.files_deleted, report.chunks_deleted, report.chunks_created) == (1, 3, 0)
            assert report.total_chunks == 14
            assert STAIRS not in await library.index.source_files(report.collection_name, "small")
            assert await library.problems() == ()

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_chunks_of_a_lesson_nobody_recorded_are_removed(book: Path, folder: Path, mode: Mode) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            expected = await library.snapshot()
            write(book, "orphan.md", lesson("Orphan", "Nobody wrote this down."))
            with pytest.raises(Killed):  # after the index has it, before the record
                await mortal(library, Steps(4)).ingest(book)
            (book / "orphan.md").unlink()
            await library.ingest(book, mode)
            assert await library.snapshot() == expected

    asyncio.run(story())


def test_full_reports_the_warnings_of_lessons_that_did_not_change(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            write(book, STAIRS, lesson("Stairs", "Up.", front="hardware_tier: 9\n"))
            first, again = await library.ingest(book), await library.ingest(book, "full")
            assert [warning.field for warning in first.warnings] == ["hardware_tier"]
            assert again.warnings == first.warnings

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["incremental", "full", "recreate"])
def test_a_dry_run_says_what_would_be_done_and_does_none_of_it(book: Path, folder: Path, mode: Mode) -> None:
    async def story() -> None:
        embedder = SmallEmbedder()
        async with open_library(folder / "data", embedder) as library:
            await library.ingest(book)
            before, embedder.embedded, steps = await _everything(library), [], Steps()
            (book / STAIRS).unlink()
            write(book, ELBOWS, lesson("Elbows", "An elbow is written anew."))
            write(book, "new.md", lesson("New", "This lesson is new."))
            rehearsal = await mortal(library, steps).ingest(book, mode, dry_run=True)
            assert steps.taken == 0
            assert embedder.embedded == []
            assert await _everything(library) == before
            done = await library.ingest(book, mode)
            told = ("files_discovered", "files_processed", "files_skipped", "files_new", "files_modified", "files_deleted")
            counted = ("chunks_created", "chunks_deleted", "chunks_embedded", "collection_name")
            for name in (*told, *counted):
                assert getattr(rehearsal, name) == getattr(done, name), name

    asyncio.run(story())


def test_counts_add_up_when_lessons_fail(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            expected = await _everything(library)
            (book / ELBOWS).write_bytes(b"\x00binary")
            (book / WRISTS).write_text("x" * 1_000_001)
            write(book, "new.md", lesson("New", "This lesson is new."))
            report = await library.ingest(book)
            assert report.files_processed + report.files_skipped + len(report.failures) == report.files_discovered == 8
            assert (report.files_processed, report.files_skipped, report.files_deleted) == (1, 5, 0)
            assert [failure.source_file for failure in report.failures] == [ELBOWS, WRISTS]
            after = await _everything(library)
            assert {id: after[id] for id in expected} == expected
            assert await library.problems() == ()
            assert (await library.ask("elbow forearm plane", hardware_tier_filter=4)).results[0].source_file == ELBOWS

    asyncio.run(story())


def test_a_lesson_that_cannot_be_read_keeps_its_numbers(book: Path, folder: Path) -> None:
    """Another file that claims them meanwhile goes by its path: two lessons must never share an id."""

    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            (book / "module-1-arms/chapter-1-joints/01-copy.md").write_text((book / ELBOWS).read_text())
            (book / ELBOWS).write_bytes(b"\x00binary")
            report = await library.ingest(book)
            assert [warning.field for warning in report.warnings] == ["lesson"]
            assert await library.problems() == ()
            (book / ELBOWS).unlink()
            assert (await library.ingest(book)).failures == ()
            assert await library.problems() == ()

    asyncio.run(story())


def test_lessons_in_a_folder_that_cannot_be_reached_are_kept(book: Path, folder: Path) -> None:
    """A folder of the book that is a link, which for a while leads out of it."""

    async def story() -> None:
        shelf, outside = book / "module-2-legs", folder / "elsewhere"
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            before = await _everything(library)
            shelf.rename(outside)
            shelf.symlink_to(outside)
            report = await library.ingest(book)
            assert [failure.source_file for failure in report.failures] == ["module-2-legs"]
            assert report.files_deleted == 0
            assert await _everything(library) == before

    asyncio.run(story())


def test_a_book_of_which_nothing_can_be_read_changes_nothing(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            before = await library.snapshot()
            for path in pages(book):
                path.write_bytes(b"\x00")
            for mode in ("incremental", "full", "recreate"):
                with pytest.raises(InvalidBook, match=r"No lesson in .* can be read"):
                    await library.ingest(book, mode)
            assert await library.snapshot() == before

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["incremental", "recreate"])
def test_an_empty_or_missing_folder_leaves_no_trace(book: Path, folder: Path, mode: Mode) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            with pytest.raises(NotFound, match="There is no file or folder"):
                await library.ingest(folder / "nowhere", mode)
            (folder / "empty").mkdir()
            with pytest.raises(InvalidBook, match="holds no lesson"):
                await library.ingest(folder / "empty", mode)
            assert await library.index.collections() == {}
            assert await library.records.books() == []

    asyncio.run(story())


def test_two_files_with_one_number_are_told_and_both_kept(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            twin = write(book, "module-1-arms/chapter-1-joints/01-twin.md", lesson("Twin", "A second elbow."))
            report = await library.ingest(book)
            assert report.failures == ()
            assert {warning.source_file for warning in report.warnings} == {ELBOWS, twin.relative_to(book).as_posix()}
            assert all("arms:1:1" in warning.message for warning in report.warnings)
            held = await library.index.source_files(report.collection_name, "small")
            assert (held[ELBOWS], held[twin.relative_to(book).as_posix()]) == (3, 3)
            assert await library.problems() == ()

    asyncio.run(story())


def test_recreate_with_another_embedder_builds_beside_and_switches(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as old:
            await old.ingest(book)
            before = await old.snapshot()
            seen: list[int] = []

            def search_meanwhile(_: Sequence[str]) -> None:
                seen.append(1)

            new = with_embedder(old, SmallEmbedder("other@1", dimension=48, before_batch=search_meanwhile))
            with pytest.raises(Mismatch, match=r"small@1 .*other@1 .*--mode recreate"):
                await new.ingest(book)

            async def old_serves(_: IngestionEvent) -> None:
                assert (await old.ask("elbow forearm plane")).results[0].source_file == ELBOWS
                assert (await old.snapshot_of("small"))["points"] == before["small"]["points"]

            await new.ingestion.run(book, IngestionRequest(mode="recreate"), tell=old_serves)
            assert seen
            assert list(await new.index.collections()) == ["textbook_chunks_2"]
            assert (await new.ask("elbow forearm plane")).results[0].source_file == ELBOWS
            with pytest.raises(Mismatch):
                await old.ask("elbow forearm plane")
            assert (await new.snapshot()).keys() == before.keys()
            assert await new.problems() == ()

    asyncio.run(story())


def test_recreate_that_fails_half_way_leaves_the_old_index_serving(book: Path, folder: Path) -> None:
    async def story() -> None:
        for number in range(40):  # more than one batch
            write(book, f"more/{number:02}-more.md", lesson(f"More {number}", f"There is more to say, number {number}."))
        async with open_library(folder / "data") as old:
            await old.ingest(book)
            before = await old.snapshot_of("small")
            batches: list[int] = []

            def fail_on_third(_: Sequence[str]) -> None:
                batches.append(1)
                if len(batches) == 3:
                    raise Unavailable("The embedder went away. Try again later.")

            broken = SmallEmbedder("other@1", before_batch=fail_on_third)
            with pytest.raises(Unavailable):
                await with_embedder(old, broken).ingest(book, "recreate")
            assert (await old.ask("elbow forearm plane")).results[0].source_file == ELBOWS
            assert await old.snapshot_of("small") == before
            assert await old.problems() == ()
            known = len(broken.embedded)
            again = SmallEmbedder("other@1")
            report = await with_embedder(old, again).ingest(book, "recreate")
            assert known > 0
            assert len(again.embedded) == report.total_chunks - known  # the progress made was kept
            assert await with_embedder(old, again).problems() == ()
            assert len(await old.index.collections()) == 1

    asyncio.run(story())


def test_one_book_recreated_leaves_its_neighbour_alone(book: Path, folder: Path) -> None:
    async def story() -> None:
        other = write_small_book(folder / "other", book_id="other")
        async with open_library(folder / "data") as library:
            await library.ingest(book)
            await library.ingest(other)
            assert len(await library.index.collections()) == 1
            neighbour = await library.snapshot_of("other")
            anew = with_embedder(library, SmallEmbedder("other@1"))
            await anew.ingest(book, "recreate")
            assert await library.snapshot_of("other") == neighbour
            assert (await library.ask("elbow", "other")).results[0].source_file == ELBOWS
            assert len(await library.index.collections()) == 2
            await anew.ingest(other, "recreate")
            assert len(await library.index.collections()) == 1  # nobody was left in the first
            assert (await anew.snapshot()).keys() == {"small", "other"}

    asyncio.run(story())


Change = Callable[[Path], None]


def _edit(book: Path) -> None:
    file = book / ELBOWS
    file.write_text(file.read_text() + "\nOne more paragraph, of which nobody had thought before today.\n")


def _renumber(book: Path) -> None:
    (book / ELBOWS).rename(book / "between")
    (book / WRISTS).rename(book / ELBOWS)
    (book / "between").rename(book / WRISTS)


def _rename_and_delete(book: Path) -> None:
    (book / ELBOWS).rename(book / "module-1-arms/chapter-1-joints/03-elbows.md")
    (book / STAIRS).unlink()
    write(book, "added.md", lesson("Added", "This came later."))


def _new_address(book: Path) -> None:
    write(book, "book.toml", BOOK_TOML.replace("small.example", "moved.example"))
    write(book, CHAPTER_PAGE, "# Hinges\n\nThis chapter is about joints of every kind.\n")


@pytest.mark.parametrize(
    ("change", "mode", "reverted", "first"),
    [
        (_edit, "incremental", True, 0),
        (_rename_and_delete, "incremental", False, 1),
        (_renumber, "full", False, 3),
        (_new_address, "recreate", True, 5),
    ],
)
def test_killed_at_any_step_it_converges(
    book: Path, folder: Path, change: Change, mode: Mode, reverted: bool, first: int
) -> None:
    """Every sixth step, of each change others; `make soak` takes them all."""
    asyncio.run(_killed_at_steps(book, folder, change, mode, reverted, first=first, each=6))


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["incremental", "full", "recreate"])
@pytest.mark.parametrize("change", [_edit, _renumber, _rename_and_delete, _new_address])
@pytest.mark.parametrize("reverted", [False, True])
def test_killed_at_every_step_of_every_change(book: Path, folder: Path, change: Change, mode: Mode, reverted: bool) -> None:
    asyncio.run(_killed_at_steps(book, folder, change, mode, reverted))


async def _killed_at_steps(
    book: Path, folder: Path, change: Change, mode: Mode, reverted: bool, *, first: int = 0, each: int = 1
) -> None:
    """Also when the author takes the change back before the next run: records alone must not be believed then."""
    async with open_library(folder / "data") as library:
        await library.ingest(book)
        unchanged = await library.snapshot()
    shutil.copytree(book, folder / "changed")
    change(folder / "changed")
    copy_data(folder / "data", folder / "counted")
    async with open_library(folder / "counted") as library:
        steps = Steps()
        await mortal(library, steps).ingest(folder / "changed", mode, consent=COPIED)
        changed = await library.snapshot()
    assert changed != unchanged
    for fatal in range(first, steps.taken, each):
        data = folder / f"killed-{fatal}"
        copy_data(folder / "data", data)
        async with open_library(data) as library:
            with pytest.raises(Killed):
                await mortal(library, Steps(fatal)).ingest(folder / "changed", mode, consent=COPIED)
        async with open_library(data) as library:
            await library.ingest(book if reverted else folder / "changed", consent=COPIED)
            assert await library.snapshot() == (unchanged if reverted else changed), f"killed at step {fatal}"
            assert await library.problems() == ()
        shutil.rmtree(data)


def test_a_kill_loses_no_embedding_that_was_made(book: Path, folder: Path) -> None:
    async def story() -> None:
        embedder = SmallEmbedder()
        async with open_library(folder / "data", embedder) as library:
            with pytest.raises(Killed):
                await mortal(library, Steps(5)).ingest(book)
            assert len(embedder.embedded) == 17
            await library.ingest(book)
            assert len(embedder.embedded) == 17
            assert await library.problems() == ()

    asyncio.run(story())


@pytest.mark.parametrize("room", [KEPT_CHARACTERS, 0], ids=["kept", "read again"])
def test_a_lesson_that_vanishes_or_changes_after_planning(
    book: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """A book that is too large to be kept is read again, and a lesson may be another by then."""
    monkeypatch.setattr("bythebook.ingestion.plan.KEPT_CHARACTERS", room)

    async def story() -> None:
        async with open_library(folder / "data") as library:

            async def meddle(event: IngestionEvent) -> None:
                if isinstance(event, Planned):
                    (book / STAIRS).unlink()
                    write(book, ELBOWS, lesson("Elbows", "Changed while it was being read."))

            report = await library.ingestion.run(book, tell=meddle)
            assert [failure.source_file for failure in report.failures] == ([] if room else [STAIRS])
            assert room or "vanished" in report.failures[0].reason
            assert report.files_processed + len(report.failures) == report.files_discovered
            assert (await library.ingest(book)).failures == ()
            async with open_library(folder / "fresh") as fresh:
                await fresh.ingest(book)
                assert await library.snapshot() == await fresh.snapshot()

    asyncio.run(story())


@pytest.mark.parametrize(
    "asked",
    [IngestionRequest(), IngestionRequest(dry_run=True), IngestionRequest(options=BookOptions(title="Named by hand"))],
)
def test_every_file_is_read_once(book: Path, folder: Path, opened_files: list[str], asked: IngestionRequest) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            opened_files.clear()
            report = await library.ingestion.run(book, asked)
            assert report.title == (asked.options.title or "A small book")
            opened = Counter(path for path in opened_files if path.startswith(f"{book}/"))
            assert len([path for path in opened if path.endswith(".md")]) == report.files_discovered
            assert opened.pop(str(book / "book.toml")) == 2  # as ours, and as the one that mdBook has by that name
            assert set(opened.values()) == {1}, opened

    asyncio.run(story())


def test_a_book_of_more_chunks_than_one_window(folder: Path) -> None:
    async def story() -> None:
        for number in range(12):
            subject = f"Subject {number} is long."
            write(folder / "book", f"{number:02}-long.md", lesson(f"Long {number}", subject, sections=40))
        async with open_library(folder / "data") as library:
            events = await library.events(folder / "book", book_id="small")
            report = events[-1]
            assert isinstance(report, IngestReport)
            assert report.total_chunks > 400
            assert {event.files_done for event in events if isinstance(event, Advanced)} >= {7, 12}
            assert await library.problems() == ()

    asyncio.run(story())


def test_the_book_id_given_wins_over_the_one_in_the_book(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            assert (await library.ingest(book, book_id="given")).book_id == "given"
            assert [state.book_id for state in await library.records.books()] == ["given"]

    asyncio.run(story())


def test_a_damaged_index_is_mended_by_a_full_run(book: Path, folder: Path) -> None:
    async def story() -> None:
        async with open_library(folder / "data") as library:
            report = await library.ingest(book)
            expected = await library.snapshot()
            held = [one async for one in library.index.scan(report.collection_name, Filters(book_id="small"), with_vectors=True)]
            altered = replace(held[0], chunk=replace(held[0].chunk, text=paragraph("Not what the author wrote.", 1)))
            rest = [one for one in held[1:] if one.chunk.source_file == altered.chunk.source_file]
            await _overwrite(library, report.collection_name, altered.chunk.source_file, [altered, *rest])
            await library.database.run(lambda connection: connection.execute(text("UPDATE books SET total_chunks = 3")))
            assert {problem.rule for problem in await library.problems()} >= {"content_hash is the text's"}
            await library.ingest(book, "full")
            assert await library.snapshot() == expected
            assert await library.problems() == ()

    asyncio.run(story())


async def _overwrite(library: Any, collection: str, source_file: str, chunks: Sequence[Any]) -> None:
    from bythebook.index.vectors import Replacement

    await library.index.replace(collection, "small", [Replacement(source_file=source_file, chunks=tuple(chunks))])


async def _everything(library: Any) -> dict[str, Any]:
    """Every point with its version and times, without its vectors."""
    state = await library.records.book("small")
    return {held.chunk.id: held async for held in library.index.scan(state.collection_name, Filters(book_id="small"))}


class _Bomb:
    """Ends the process that unpickles it, as a parser's fault in C would."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return os.abort, ()


def test_a_lesson_that_ends_its_reader_fails_alone(book: Path, folder: Path) -> None:
    sandbox = Sandbox()
    plan = make_plan(book, read_book(book)[0], {}, limit_bytes=100_000, sandbox=sandbox)
    one, bad, *others = plan.pages
    hostile: Any = _Bomb()
    tally = Tally()
    parser = Parser(root=book, book=plan.book, limit_bytes=100_000, sandbox=sandbox)
    parsed = parser.parse([one, replace(bad, claim=hostile), *others], tally)
    sandbox.close()
    assert [lesson.source_file for _, lesson in parsed] == [page.path for page in (one, *others)]
    assert [failure.source_file for failure in tally.failures] == [bad.path]
    assert tally.failures[0].reason.startswith(f"{bad.path} needs too much memory to be read, or is damaged (signal 6)")


def test_a_book_read_in_a_child_process_is_the_same_book(book: Path, folder: Path) -> None:
    write(book, "deep.md", lesson("Deep", "Nobody can look that deep.", front=f"list: {'[' * 60_000}\n"))

    async def story() -> None:
        async with open_library(folder / "here") as here, open_library(folder / "there") as there:
            await here.ingest(book)
            sandbox = Sandbox()
            ingestion = Ingestion(
                index=there.index,
                records=there.records,
                cache=EmbeddingCache(there.database),
                embedder=there.embedder,
                collection_name="textbook_chunks",
                sandbox=sandbox,
            )
            report = await ingestion.run(book)
            sandbox.close()
            assert [warning.field for warning in report.warnings] == ["frontmatter"]
            assert await here.snapshot() == await there.snapshot()

    asyncio.run(story())
