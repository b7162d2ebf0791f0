"""The server's own: trouble on the way to it, keys, and collections that are not ours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from bythebook.errors import InvalidInput, InvalidSettings, NotFound, Rejected, StorageFailure, Unavailable
from bythebook.index.qdrant_server.index import ServerIndex
from bythebook.index.vectors import Filters, Replacement
from tests.support.fakes.qdrant_rest import QdrantServer, qdrant_server
from tests.support.made_chunks import COLLECTION, MANIFEST, fast_folder, lesson

pytestmark = pytest.mark.anyio

ROBOTS = Filters(book_id="robots")
SECOND = f"{COLLECTION}_2"
KEY = "a-key-nobody-may-see"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with fast_folder() as folder, qdrant_server(folder, api_key=KEY) as running:
        yield running


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
async def index(server: QdrantServer, pauses: list[float]) -> AsyncIterator[ServerIndex]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    opened = await ServerIndex.open(server.url, KEY, sleep=sleep)
    await opened.create(COLLECTION, MANIFEST)
    server.requests.clear()
    yield opened
    await opened.close()


async def held(index: ServerIndex) -> list[str]:
    return [one.chunk.text async for one in index.scan(COLLECTION, ROBOTS)]


# Trouble that passes


@pytest.mark.parametrize("trouble", [429, 500, 502, 503, 504, "cut", "lost", "garbage"])
async def test_trouble_that_passes_is_waited_out(
    index: ServerIndex, server: QdrantServer, pauses: list[float], trouble: int | str
) -> None:
    server.troubles = [trouble] * 3
    await index.replace(COLLECTION, "robots", [lesson("a.md", ["one", "two"])])
    assert pauses == [0.25, 0.5, 1.0]
    server.troubles = [trouble]
    assert await held(index) == ["one", "two"]


@pytest.mark.parametrize(
    ("trouble", "says"),
    [(503, "503: Service internal error"), ("cut", "does not answer"), ("garbage", "does not answer")],
)
async def test_after_four_tries_it_is_given_up(index: ServerIndex, server: QdrantServer, trouble: int | str, says: str) -> None:
    server.troubles = [trouble] * 5
    with pytest.raises(Unavailable, match=says) as caught:
        await index.count(COLLECTION, ROBOTS)
    assert len(server.troubles) == 1
    assert server.url in str(caught.value)
    assert KEY not in str(caught.value)
    assert not isinstance(caught.value, Rejected)


@pytest.mark.parametrize("lost_at", [0, 1, 2, 14])
async def test_an_answer_lost_while_creating_is_no_trouble(index: ServerIndex, server: QdrantServer, lost_at: int) -> None:
    """One request lists the collections, one creates, twelve index, and the last saves the manifest."""
    server.requests.clear()
    server.troubles = [*["fine"] * lost_at, "lost"]
    await index.create(SECOND, MANIFEST)
    assert (len(server.requests), server.troubles) == (16, [])
    assert set(await index.collections()) == {COLLECTION, SECOND}


async def test_an_answer_lost_while_dropping_is_no_trouble(index: ServerIndex, server: QdrantServer) -> None:
    server.troubles = ["lost"]
    await index.drop(COLLECTION)
    assert await index.collections() == {}


async def test_a_server_that_is_not_there(pauses: list[float], closed_port: int) -> None:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    index = await ServerIndex.open(f"http://name:word@127.0.0.1:{closed_port}", KEY, sleep=sleep)
    with pytest.raises(Unavailable, match=r"at http://127\.0\.0\.1:\d+ does not answer .*QDRANT_URL"):
        await index.collections()
    await index.close()
    assert len(pauses) == 3


# Trouble that does not pass


async def test_a_wrong_key_is_not_tried_twice(server: QdrantServer) -> None:
    index = await ServerIndex.open(server.url, "wrong-key")
    with pytest.raises(Rejected, match=r"does not accept the key\. Set QDRANT_API_KEY") as caught:
        await index.collections()
    assert "wrong-key" not in str(caught.value)
    assert len(server.requests) == 1
    await index.close()


async def test_no_key_is_sent_where_none_is_set(server: QdrantServer) -> None:
    server.api_key = ""
    index = await ServerIndex.open(server.url)
    assert await index.collections() == {}
    await index.close()


async def test_what_the_server_refuses_is_told_in_its_words(
    index: ServerIndex, server: QdrantServer, pauses: list[float]
) -> None:
    server.troubles = [422]
    with pytest.raises(Rejected, match=r"refuses \(422: Service internal error: told to fail\)"):
        await index.count(COLLECTION, ROBOTS)
    assert pauses == []


async def test_a_record_that_is_not_ours_is_a_damaged_index(index: ServerIndex, server: QdrantServer) -> None:
    await index.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    (there,) = [one async for one in index.scan(COLLECTION, ROBOTS)]
    server.collections[COLLECTION].forget(there.chunk.id, "heading_path")
    for reading in (index.texts, index.chunks):
        with pytest.raises(StorageFailure, match=r"at http://127.*a record in it cannot be read: it lacks 'heading_path'"):
            await reading(COLLECTION, "robots", [there.chunk.id])


async def test_a_manifest_of_another_version_is_a_damaged_index(index: ServerIndex, server: QdrantServer) -> None:
    server.collections[COLLECTION].metadata = {"bythebook": '{"embedder": "small@1"}'}
    with pytest.raises(StorageFailure, match=r"a manifest in it cannot be read: .*--mode recreate"):
        await index.collections()


async def test_an_address_that_is_none() -> None:
    with pytest.raises(InvalidSettings, match="QDRANT_URL"):
        await ServerIndex.open("ftp://somewhere")


# Collections


async def test_a_lesson_is_replaced_in_one_request(index: ServerIndex, server: QdrantServer) -> None:
    await index.replace(COLLECTION, "robots", [lesson("a.md", ["one", "two"]), lesson("b.md", ["three"])])
    assert server.requests == [f"POST /collections/{COLLECTION}/points/batch"]


async def test_many_lessons_go_in_requests_of_bearable_size(index: ServerIndex, server: QdrantServer) -> None:
    many = [lesson(f"{number}.md", [f"{number} {part}" for part in range(100)]) for number in range(5)]
    await index.replace(COLLECTION, "robots", many)
    assert len(server.requests) == 3
    assert len(await held(index)) == 500


async def test_the_layout_is_asked_for(server: QdrantServer) -> None:
    index = await ServerIndex.open(server.url, KEY, shard_number=6, replication_factor=2, write_consistency_factor=1)
    await index.create(COLLECTION, MANIFEST)
    asked = server.collections[COLLECTION].asked
    assert (asked["shard_number"], asked["replication_factor"], asked["write_consistency_factor"]) == (6, 2, 1)
    await index.close()


async def test_manifests_of_our_collections_are_read_at_once_and_of_no_others(index: ServerIndex, server: QdrantServer) -> None:
    for name in (SECOND, f"{COLLECTION}_10", "theirs", f"{COLLECTION}_of_somebody", f"old_{COLLECTION}"):
        await index.create(name, MANIFEST)
    server.requests.clear()
    server.together = threading.Barrier(3, timeout=120)  # one that is asked for alone waits in vain
    assert list(await index.collections()) == [COLLECTION, f"{COLLECTION}_10", SECOND]
    listed, *read = server.requests
    assert listed == "GET /collections"
    assert sorted(read) == [f"GET /collections/{name}" for name in (COLLECTION, f"{COLLECTION}_10", SECOND)]


async def test_a_collection_that_is_dropped_while_they_are_listed_is_left_out(index: ServerIndex, server: QdrantServer) -> None:
    server.dropped = {SECOND}
    assert list(await index.collections()) == [COLLECTION]


async def test_collections_of_others_are_left_alone(index: ServerIndex, server: QdrantServer) -> None:
    await index.create("theirs", MANIFEST)
    server.collections["theirs"].metadata = {"owner": "somebody"}
    fresh = await ServerIndex.open(server.url, KEY)
    assert set(await fresh.collections()) == {COLLECTION}
    for call in (
        fresh.drop("theirs"),
        fresh.replace("theirs", "robots", [Replacement(source_file="a.md", chunks=())]),
        fresh.remove_book("theirs", "robots"),
        fresh.save_manifest("theirs", MANIFEST),
    ):
        with pytest.raises(NotFound, match="'theirs'"):
            await call
    with pytest.raises(InvalidInput, match="theirs"):
        await fresh.create("theirs", MANIFEST)
    assert server.collections["theirs"].metadata == {"owner": "somebody"}
    await fresh.close()


async def test_a_creation_that_was_cut_short_is_made_anew(index: ServerIndex, server: QdrantServer) -> None:
    server.troubles = ["fine", "fine", "fine", *[503] * 4]
    with pytest.raises(Unavailable):
        await index.create(SECOND, MANIFEST)
    assert SECOND in server.collections
    assert set(await index.collections()) == {COLLECTION}
    await index.create(SECOND, MANIFEST)
    assert set(await index.collections()) == {COLLECTION, SECOND}


async def test_two_processes_share_one_server(index: ServerIndex, server: QdrantServer) -> None:
    other = await ServerIndex.open(server.url, KEY)
    await asyncio.gather(
        index.replace(COLLECTION, "robots", [lesson("a.md", ["one"])]),
        other.replace(COLLECTION, "robots", [lesson("b.md", ["two"])]),
    )
    assert await held(index) == await held(other) == ["one", "two"]
    await index.drop(COLLECTION)
    with pytest.raises(NotFound, match=COLLECTION):
        await other.count(COLLECTION, ROBOTS)
    await other.close()
