"""The embedded engine's own promises: one process at a time, whole lessons whatever happens, sentences for what breaks."""

from __future__ import annotations

import asyncio
import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge as edge

from bythebook.errors import InvalidInput, Locked, StorageFailure
from bythebook.index.qdrant_edge import shard as qdrant_edge_shard
from bythebook.index.qdrant_edge.compaction import copy_with_holes
from bythebook.index.qdrant_edge.index import EdgeIndex
from bythebook.index.qdrant_edge.points import storage
from bythebook.index.vectors import Filters, Replacement
from tests.index.qdrant_edge.edge_child import STEPS, WHOLLY_OLD, replacements, texts
from tests.support.made_chunks import COLLECTION, MANIFEST, chunk, fast_folder, indexed, lesson

pytestmark = pytest.mark.anyio

ROBOTS = Filters(book_id="robots")
ROOT = Path(__file__).parents[3]


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder() -> Iterator[Path]:
    with fast_folder() as name:
        yield name / "index"


@pytest.fixture
async def index(folder: Path) -> AsyncIterator[EdgeIndex]:
    opened = await EdgeIndex.open(folder)
    await opened.create(COLLECTION, MANIFEST)
    await opened.replace(COLLECTION, "robots", replacements("old"))
    yield opened
    await opened.close()


@contextmanager
def child(folder: Path, *task: str) -> Iterator[subprocess.Popen[str]]:
    """Ready, that is: it holds the index."""
    command = [sys.executable, "-m", "tests.index.qdrant_edge.edge_child", str(folder), *task]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


async def held(index: EdgeIndex) -> dict[str, list[str]]:
    lessons: dict[str, list[str]] = {}
    async for one in index.scan(COLLECTION, ROBOTS):
        lessons.setdefault(one.chunk.source_file, []).append(one.chunk.text)
    return lessons


async def reopened(folder: Path) -> dict[str, list[str]]:
    opened = await EdgeIndex.open(folder)
    try:
        return await held(opened)
    finally:
        await opened.close()


# One process at a time


async def test_a_second_process_is_told_who_holds_the_index(folder: Path) -> None:
    with child(folder, "hold") as process:
        with pytest.raises(Locked, match=f"{folder} is held by process {process.pid}. Wait for its end"):
            await EdgeIndex.open(folder)
        process.kill()
        process.wait()
        await (await EdgeIndex.open(folder)).close()  # its death has released it


async def test_closing_releases_the_index(folder: Path) -> None:
    first = await EdgeIndex.open(folder)
    with pytest.raises(Locked, match=f"process {os.getpid()}"):
        await EdgeIndex.open(folder)
    await first.close()
    await (await EdgeIndex.open(folder)).close()


async def test_a_closed_index_says_so(index: EdgeIndex) -> None:
    await index.close()
    with pytest.raises(StorageFailure, match="has been closed"):
        await index.count(COLLECTION, ROBOTS)
    await index.close()


# Whole lessons, whatever kills the process


@pytest.mark.parametrize("step", STEPS)
async def test_dying_at_any_step_leaves_lessons_wholly_old_or_wholly_new(index: EdgeIndex, folder: Path, step: str) -> None:
    await index.close()
    with child(folder, "dies", step) as process:
        assert process.wait() == -9, "the step was never reached"
    expected = texts("old" if STEPS.index(step) < WHOLLY_OLD else "new")
    assert await reopened(folder) == expected
    assert not (folder / COLLECTION / "journal").exists()
    assert await reopened(folder) == expected


@pytest.mark.parametrize("lines", [1, 4])
async def test_killed_while_replacing_without_end(index: EdgeIndex, folder: Path, lines: int) -> None:
    await index.close()
    with child(folder, "flip") as process:
        assert process.stdout is not None
        last = [process.stdout.readline().strip() for _ in range(lines)][-1]
        process.kill()
        process.wait()
        last = [last, *process.stdout.read().split()][-1]
    assert await reopened(folder) in (texts(last), texts({"old": "new", "new": "old"}[last]))


async def test_readers_see_whole_lessons_while_they_are_replaced(index: EdgeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_edge_shard, "POINTS_PER_WRITE", 1)
    versions = {version: {text for parts in texts(version).values() for text in parts} for version in ("old", "new")}
    ids = {one.chunk.id for version in versions for lesson in replacements(version) for one in lesson.chunks}
    seen: list[str] = []

    async def read() -> None:
        while not done.is_set():
            found = {one.chunk.text for one in await index.chunks(COLLECTION, "robots", sorted(ids))}
            seen.append(next((name for name, whole in versions.items() if whole == found), f"neither: {found}"))

    async def write() -> None:
        for _ in range(15):
            for version in ("new", "old"):
                await index.replace(COLLECTION, "robots", replacements(version))
        done.set()

    done = asyncio.Event()
    await asyncio.gather(write(), *(read() for _ in range(3)))
    assert set(seen) == {"old", "new"}


# What breaks


class Failing:
    """The engine's shard, failing once when it is to remove what is left of the old lessons."""

    def __init__(self, shard: Any, message: str, updates: int) -> None:
        self._shard = shard
        self._message = message
        self._left = updates

    def update(self, operation: Any) -> None:
        self._left -= 1
        if self._left == 0:
            raise Exception(self._message)  # as the engine does
        self._shard.update(operation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shard, name)


async def test_a_replacement_that_failed_half_way_is_finished_before_anyone_reads(index: EdgeIndex) -> None:
    shard = index._shard(COLLECTION)
    shard._shard = Failing(shard._shard, "No space left on device", updates=2)  # type: ignore[assignment]
    with pytest.raises(StorageFailure, match=r"disk is full\. Free some space"):
        await index.replace(COLLECTION, "robots", replacements("new"))
    assert await held(index) == texts("new")


async def test_a_full_disk_leaves_everything_as_it_was(index: EdgeIndex, folder: Path) -> None:
    (folder / COLLECTION / "journal.tmp").symlink_to("/dev/full")
    with pytest.raises(StorageFailure, match=f"{folder / COLLECTION} cannot be written because the disk is full"):
        await index.replace(COLLECTION, "robots", replacements("new"))
    assert await held(index) == texts("old")
    await index.replace(COLLECTION, "robots", replacements("new"))
    assert await held(index) == texts("new")


async def test_text_that_no_engine_can_store_is_refused_before_anything_is_written(index: EdgeIndex, folder: Path) -> None:
    broken = Replacement(source_file="c.md", chunks=(indexed(chunk("x", source_file="c.md", page_title="\ud800")),))
    with pytest.raises(InvalidInput, match=r"c\.md.*UTF-8"):
        await index.replace(COLLECTION, "robots", [*replacements("new"), broken])
    assert await held(index) == texts("old")
    assert not (folder / COLLECTION / "journal").exists()


def damage_it(collection: Path, damage: str) -> None:
    if damage == "manifest":
        (collection / "manifest.json").write_text("{")
    elif damage == "no manifest fields":
        (collection / "manifest.json").write_text("{}")
    elif damage == "journal":
        (collection / "journal").write_text('{"points": []}')
    elif damage == "segments":
        for file in (collection / "shard/segments").rglob("*.json"):
            file.write_text("nonsense")
    elif damage == "configuration":
        (collection / "shard/edge_config.json").write_text("nonsense")
    else:
        (collection / "shard").rename(collection / "gone")


@pytest.mark.parametrize("damage", ["manifest", "no manifest fields", "journal", "segments", "configuration", "no shard"])
async def test_a_damaged_index_says_what_to_run(index: EdgeIndex, folder: Path, damage: str) -> None:
    await index.settle(COLLECTION)
    await index.close()
    collection = folder / COLLECTION
    damage_it(collection, damage)
    opened = await EdgeIndex.open(folder)
    with pytest.raises(StorageFailure, match=f"{collection} .*bythebook ingest --mode recreate"):
        await opened.count(COLLECTION, ROBOTS)
    await opened.close()


@pytest.mark.parametrize("ours", [KeyError("a bug"), ValueError("a bug"), TypeError("a bug")])
def test_an_error_of_our_own_is_no_damage(folder: Path, ours: Exception) -> None:
    with pytest.raises(type(ours), match="a bug"), storage(folder):
        raise ours


async def test_a_record_that_does_not_decode_is_damage(index: EdgeIndex, folder: Path) -> None:
    (first, *_) = [one async for one in index.scan(COLLECTION, ROBOTS)]
    await index.close()
    shard = edge.EdgeShard.load(str(folder / COLLECTION / "shard"))
    shard.update(edge.UpdateOperation.delete_payload([first.chunk.id], ["heading_path"]))
    shard.close()
    opened = await EdgeIndex.open(folder)
    for reading in (opened.texts, opened.chunks):
        with pytest.raises(StorageFailure, match=r"a record in it cannot be read: it lacks 'heading_path'.*--mode recreate"):
            await reading(COLLECTION, "robots", [first.chunk.id])
    await opened.close()


def test_a_folder_that_cannot_be_one_says_so(folder: Path) -> None:
    folder.write_text("not a folder")
    with pytest.raises(StorageFailure, match=str(folder)):
        asyncio.run(EdgeIndex.open(folder))


# Folders


async def test_dropping_removes_the_folder(index: EdgeIndex, folder: Path) -> None:
    await index.drop(COLLECTION)
    assert names_in(folder) == {"lock", "lock.pid"}


async def test_what_a_dead_process_left_half_made_or_half_dropped_is_cleared(index: EdgeIndex, folder: Path) -> None:
    await index.close()
    (folder / COLLECTION / "manifest.json").unlink()
    (folder / ".dropped-1/shard").mkdir(parents=True)
    opened = await EdgeIndex.open(folder)
    assert not (folder / ".dropped-1").exists()
    assert await opened.collections() == {}
    await opened.create(COLLECTION, MANIFEST)
    assert await held(opened) == {}
    await opened.close()


# Settling


@pytest.fixture
async def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeIndex]:
    """With enough points to be worth compacting."""
    monkeypatch.setattr(qdrant_edge_shard, "PLAIN_UP_TO", 200)
    opened = await EdgeIndex.open(folder)
    await opened.create(COLLECTION, MANIFEST)
    await opened.replace(COLLECTION, "robots", MANY)
    yield opened
    await opened.close()


MANY = [lesson(f"{number:03}.md", [f"hip {number} {part}" for part in range(10)]) for number in range(60)]


async def scores(index: EdgeIndex) -> dict[str, float]:
    question = MANY[7].chunks[3]
    found = await index.candidates(COLLECTION, embedding=question.embedding, terms=question.terms, filters=ROBOTS, depth=600)
    cosines = {f"{one.id} cosine": one.cosine for one in found}
    return cosines | {f"{one.id} lexical": one.lexical for one in found}


def compacted(folder: Path) -> bool:
    return any((folder / COLLECTION / "shard").rglob("quantized*"))


async def test_settling_changes_no_answer_and_holds_up_no_reader(large: EdgeIndex, folder: Path) -> None:
    assert not compacted(folder)
    before = pytest.approx(await scores(large), abs=1e-4)
    settling = asyncio.create_task(large.settle(COLLECTION))
    reads = 0
    while not settling.done():
        assert await scores(large) == before
        reads += 1
    await settling
    assert reads >= 5
    assert compacted(folder)
    assert await scores(large) == before


async def test_few_points_are_left_as_they_are(index: EdgeIndex, folder: Path) -> None:
    await index.settle(COLLECTION)
    assert not compacted(folder)


async def test_the_copy_that_is_compacted_takes_no_more_room_than_the_shard(large: EdgeIndex, folder: Path) -> None:
    """The engine reserves room that it does not use yet: 250 MB."""
    await large.close()
    shard, copy = folder / COLLECTION / "shard", folder / "copy"
    shutil.copytree(shard, copy, copy_function=copy_with_holes)
    for file in shard.rglob("*"):
        assert file.is_dir() or filecmp.cmp(file, copy / file.relative_to(shard), shallow=False)
    assert blocks_used(copy) <= blocks_used(shard)


def blocks_used(folder: Path) -> int:
    """In bytes."""
    return sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())


async def test_settling_again_does_nothing(large: EdgeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    await large.settle(COLLECTION)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    await large.settle(COLLECTION)
    assert len(await held(large)) == 60


async def test_what_is_written_while_settling_is_kept(large: EdgeIndex, folder: Path) -> None:
    settling = asyncio.create_task(large.settle(COLLECTION))
    await large.replace(COLLECTION, "robots", [replace(MANY[3], chunks=()), lesson("new.md", ["hip new"])])
    await settling
    await large.settle(COLLECTION)
    await large.close()
    assert set(await reopened(folder)) == {one.source_file for one in MANY} - {"003.md"} | {"new.md"}
    assert names_in(folder / COLLECTION) == {"manifest.json", "shard"}


async def test_closing_does_not_wait_for_a_compaction(large: EdgeIndex, folder: Path) -> None:
    settling = asyncio.create_task(large.settle(COLLECTION))
    while large._shard(COLLECTION)._compaction is None:
        await large.count(COLLECTION, ROBOTS)
    await large.close()
    await settling
    assert len(await reopened(folder)) == 60
    assert names_in(folder / COLLECTION) == {"manifest.json", "shard"}


@pytest.mark.parametrize("left", ["shard.new-1", "shard.old", "shard.old and no shard"])
async def test_what_a_process_left_that_died_while_compacting(index: EdgeIndex, folder: Path, left: str) -> None:
    await index.close()
    collection = folder / COLLECTION
    shutil.copytree(collection / "shard", collection / left.split()[0])
    if "no shard" in left:
        shutil.rmtree(collection / "shard")
    assert await reopened(folder) == texts("old")
    assert names_in(collection) == {"manifest.json", "shard"}


async def test_a_compaction_that_fails_says_so_and_harms_nothing(large: EdgeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(StorageFailure, match="bythebook ingest --mode recreate"):
        await large.settle(COLLECTION)
    assert len(await held(large)) == 60
