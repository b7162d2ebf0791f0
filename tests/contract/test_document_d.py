"""Document D, rule by rule, on an index made by an ingestion."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import sqlite3
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import get_args

import httpx
import pytest

from bythebook.books.model import Chunk
from bythebook.index.payload import INDEXES, to_payload
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import Filters, IndexedChunk
from bythebook.ingestion.request import Mode
from bythebook.jobs.model import STATUSES, Folder, Job, Order
from bythebook.jobs.store import Jobs
from bythebook.retrieval.query import SearchQuery, SearchResponse, SearchResult
from tests.cli.conftest import Cli
from tests.support.hall import Hall, open_hall
from tests.support.library import fast_folder, open_library
from tests.support.small_book import lesson, write, write_small_book

EVERY_POINT = {"filter": {"must": [{"key": "book_id", "match": {"value": "small"}}]}, "exact": True}
NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What an ingestion left: the book on disk, its chunks in the index, its rows in the database."""

    book: Path
    chunks: list[IndexedChunk]
    state: IngestionState
    records: dict[str, IngestionRecord]


@pytest.fixture(scope="module")
def held() -> Iterator[Held]:
    """Ingested once, because no test here changes it."""
    folder = fast_folder()
    book = write_small_book(folder / "book")
    write(
        book,
        "module-2-legs/chapter-3-walking/03-twice.md",
        "# Twice\n\n" + "\n\n".join([f"## Same\n\n{'Said twice over. ' * 60}"] * 3),
    )
    write(book, "module-2-legs/chapter-3-walking/04-one.md", lesson("One", "One chunk alone.", sections=0))

    async def ingested() -> Held:
        async with open_library(folder / "data") as library:
            name = (await library.ingest(book)).collection_name
            chunks = [one async for one in library.index.scan(name, Filters(book_id="small"), with_vectors=True)]
            state = await library.records.book("small")
            assert state is not None
            return Held(book=book, chunks=chunks, state=state, records=await library.records.records("small", name))

    yield asyncio.run(ingested())
    rmtree(folder)


def lessons_of(held: list[IndexedChunk]) -> dict[str, list[Chunk]]:
    found: dict[str, list[Chunk]] = defaultdict(list)
    for one in sorted(held, key=lambda one: one.chunk.chunk_index):
        found[one.chunk.source_file].append(one.chunk)
    return found


def test_ids_are_ds_two_formulas_and_a_repeat_counts(held: Held) -> None:
    for path, chunks in lessons_of(held.chunks).items():
        seen: dict[str, int] = defaultdict(int)
        for chunk in chunks:
            inside = bool(chunk.module)
            base = f"{chunk.module}:{chunk.chapter}:{chunk.lesson}" if inside else path
            seen[chunk.content_hash] += 1
            name = f"small:{base}:{chunk.content_hash[:16]}"
            name += f":{seen[chunk.content_hash]}" if seen[chunk.content_hash] > 1 else ""
            assert chunk.id == str(uuid.uuid5(NAMESPACE, name))
            assert chunk.parent_doc_id == str(uuid.uuid5(NAMESPACE, f"small:{base}:parent"))
            assert chunk.content_hash == hashlib.sha256(chunk.text.encode()).hexdigest()
    assert len({one.chunk.id for one in held.chunks}) == len(held.chunks)


def test_the_chain_holds(held: Held) -> None:
    for chunks in lessons_of(held.chunks).values():
        ids = [chunk.id for chunk in chunks]
        assert [chunk.prev_chunk_id for chunk in chunks] == [None, *ids[:-1]]
        assert [chunk.next_chunk_id for chunk in chunks] == [*ids[1:], None]
        assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
        assert {chunk.total_chunks for chunk in chunks} == {len(chunks)}
        assert len({chunk.parent_doc_id for chunk in chunks}) == 1
    assert 1 in {len(chunks) for chunks in lessons_of(held.chunks).values()}


def test_the_source_hash_is_the_files(held: Held) -> None:
    for one in held.chunks:
        assert one.chunk.source_file_hash == hashlib.sha256((held.book / one.chunk.source_file).read_bytes()).hexdigest()


def test_counts_are_ds_estimates(held: Held) -> None:
    for one in held.chunks:
        assert len(one.chunk.text.strip()) >= 10
        assert one.chunk.word_count == len(one.chunk.text.split())
        assert one.chunk.token_count == round(one.chunk.word_count * 1.3)
        assert one.chunk.char_count == len(one.chunk.text)


def test_the_payload_has_ds_fields_and_indexes(held: Held) -> None:
    indexed = "book_id module chapter lesson hardware_tier proficiency_level layer parent_doc_id content_hash source_file_hash"
    shown = "text section_title source_file chunk_index total_chunks prev_chunk_id next_chunk_id word_count token_count version"

    assert to_payload(held.chunks[0]).keys() >= {*indexed.split(), *shown.split(), "created_at", "updated_at"}
    assert INDEXES.keys() >= set(indexed.split())
    assert INDEXES["book_id"].tenant


def test_the_state_counts_what_the_records_count_and_the_index_holds(held: Held) -> None:
    records = held.records
    assert held.state.total_chunks == sum(record.chunk_count for record in records.values()) == len(held.chunks)
    assert {id for record in records.values() for id in record.chunk_ids} == {one.chunk.id for one in held.chunks}
    assert records.keys() == {one.chunk.source_file for one in held.chunks}


def test_chunks_over_the_api_carry_counts_version_and_times(client: httpx.Client) -> None:
    found = client.post("/search", json={"text": "trimming the wick", "limit": 1}).json()["results"][0]
    around = client.get(f"/chunks/{found['id']}/context").json()
    whole = client.get(f"/lessons/{found['parent_doc_id']}").json()["chunks"]
    assert around["chunk"] in whole
    for chunk in (*whole, *(one for one in (around["prev"], around["next"]) if one)):
        assert (chunk["word_count"], chunk["char_count"]) == (len(chunk["text"].split()), len(chunk["text"]))
        assert chunk["token_count"] == round(chunk["word_count"] * 1.3)
        assert chunk["version"] == 1
        assert chunk["created_at"] <= chunk["updated_at"]
        assert (chunk["embedding_model"], chunk["embedded_at"] <= chunk["updated_at"]) == ("light@1", True)


def test_the_tier_filter_lets_its_tier_and_lower_through(folder: Path) -> None:
    """D's small scope test: tiers 1, 1, 2, 3, 1 asked with tier 2."""

    async def story() -> None:
        for number, tier in enumerate((1, 1, 2, 3, 1)):
            write(
                folder / "book",
                f"{number}.md",
                lesson(f"L{number}", f"Number {number}.", front=f"hardware_tier: {tier}\n", sections=0),
            )
        async with open_library(folder / "data") as library:
            await library.ingest(folder / "book", book_id="small")
            found = await library.ask("number", hardware_tier_filter=2, limit=20)
            assert sorted(result.hardware_tier for result in found.results) == [1, 1, 1, 2]
            assert found.total_found == 4

    asyncio.run(story())


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (IngestionState, "book_id collection_name last_full_ingest last_incremental_update total_chunks"),
        (IngestionRecord, "source_file file_hash chunk_ids ingested_at book_id"),
        (SearchQuery, "text book_id hardware_tier_filter module_filter chapter_min chapter_max lesson_filter proficiency_levels "
         "layer_filter parent_doc_id limit"),
        (SearchResult, "text score source_file section_title module chapter lesson hardware_tier proficiency_level layer "
         "chunk_index total_chunks parent_doc_id prev_chunk_id next_chunk_id content_hash"),
        (SearchResponse, "query results total_found hardware_tier_filter module_filter book_id"),
        (Job, "job_id book_id mode status files_processed files_skipped chunks_created chunks_deleted started_at completed_at "
         "duration_seconds error_message"),
    ],
)  # fmt: skip
def test_values_have_ds_fields(value: type, names: str) -> None:
    assert {field.name for field in dataclasses.fields(value)} >= set(names.split())


def test_ds_modes_and_statuses() -> None:
    assert get_args(Mode) == ("incremental", "full", "recreate")
    assert STATUSES == ("queued", "running", "completed", "failed")


def test_a_jobs_transitions_and_invariants(folder: Path, book: Path) -> None:
    """queued → running → completed or failed, and no other way; the counts add up; completed_at says whether it has ended."""

    async def story() -> None:
        async with open_library(folder / "data") as library:
            jobs = Jobs(library.database)
            order = Order(book_id="small", source=Folder(path=book))
            queued = await jobs.queue(order)
            running = await jobs.claim("here:1:a", "here")
            assert running is not None
            assert [queued.status, running.status, running.completed_at] == ["queued", "running", None]
            await jobs.complete(running, await library.ingest(book))
            done = await jobs.get(queued.job_id)
            assert done.completed_at is not None
            assert done.files_processed + done.files_skipped == done.files_total == 7
            assert min(done.chunks_created, done.chunks_deleted) >= 0
            for late in (jobs.fail(running, "late"), jobs.complete(running, await library.ingest(book))):
                assert not await late
            assert await jobs.get(queued.job_id) == done

    asyncio.run(story())


def test_a_jobs_counts_add_up_and_recreate_counts_what_it_deleted(shelf: Cli, folder: Path) -> None:
    book = folder / "book"
    (book / "unreadable.md").write_bytes(b"\x00\x01")
    assert shelf("ingest", book).code == 1  # a lesson cannot be read
    assert shelf("ingest", book, "--mode", "recreate").code == 1
    recreated, changed, *_ = json.loads(shelf("jobs", "list", "--json").out)
    for job in (recreated, changed):
        assert job["files_processed"] + job["files_skipped"] + job["files_failed"] == job["files_discovered"] == 12
    assert (changed["files_processed"], changed["files_skipped"], changed["files_failed"]) == (0, 11, 1)
    assert (recreated["files_processed"], recreated["files_skipped"], recreated["files_failed"]) == (11, 0, 1)
    assert recreated["chunks_deleted"] == recreated["chunks_created"] == recreated["report"]["total_chunks"] > 0


def test_a_queued_job_that_is_cancelled_ends_as_failed_and_never_began(shelf: Cli, folder: Path) -> None:
    shelf("ingest", folder / "book")
    with sqlite3.connect(folder / "data" / "bythebook.db") as database:
        database.execute("UPDATE jobs SET status = 'failed'")
    assert json.loads(shelf("jobs", "retry", "1", "--json").out)["status"] == "queued"
    job = json.loads(shelf("jobs", "cancel", "2", "--json").out)
    assert (job["status"], job["cancelled"], job["started_at"], job["duration_seconds"]) == ("failed", True, None, None)
    assert job["completed_at"] is not None
    assert job["error_message"].startswith("Cancelled before it was done")
    assert json.loads(shelf("jobs", "cancel", "2", "--json").out) == job


def test_what_reads_the_collection_by_its_name_goes_on_after_recreate(folder: Path, book: Path) -> None:
    """On a server, where other programs may read it: the name stays, as a collection's or as an alias of the one that serves."""

    async def story(hall: Hall) -> None:
        async with hall.open() as library:
            for mode in ("incremental", "recreate", "recreate"):
                await library.ingest(book, mode)
                served = (await library.search.book("small")).collection_name
                assert list(hall.server.collections) == [served]
                async with httpx.AsyncClient(base_url=hall.server.url, trust_env=False) as other:
                    counted = await other.post("/collections/textbook_chunks/points/count", json=EVERY_POINT)
                assert counted.json()["result"]["count"] == (await library.search.book("small")).total_chunks > 0

    with open_hall(folder) as hall:
        asyncio.run(story(hall))
