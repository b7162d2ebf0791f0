"""The shelf over HTTP."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx

from tests.support.library import open_library
from tests.support.serving import BOOK, Service, ask, problem, running
from tests.support.small_book import write_small_book


def test_the_books_that_there_are(client: httpx.Client) -> None:
    (book,) = client.get("/books").json()["books"]
    assert book["book_id"] == BOOK
    assert book["title"]
    assert book["total_chunks"] > 100
    assert book["last_full_ingest"]


def test_a_book_has_its_lessons_in_order_and_what_to_filter_by(client: httpx.Client) -> None:
    book = client.get(f"/books/{BOOK}").json()
    lessons = [
        (module["module"], chapter["chapter"], lesson)
        for module in book["modules"]
        for chapter in module["chapters"]
        for lesson in chapter["lessons"]
    ]
    assert sum(lesson["chunk_count"] for *_, lesson in lessons) == book["total_chunks"]
    assert [module["module"] for module in book["modules"] if module["module"]] == ["ros2", "gazebo", "isaac", "vla"]
    assert book["filters"]["modules"] == ["ros2", "gazebo", "isaac", "vla"]
    assert book["filters"]["hardware_tiers"] == sorted({lesson["hardware_tier"] for *_, lesson in lessons})
    module, chapter, lesson = next(one for one in lessons if one[0] == "ros2" and one[2]["lesson"] == 1)
    read = client.get(f"/lessons/{lesson['parent_doc_id']}").json()
    assert (read["source_file"], read["page_title"]) == (lesson["source_file"], lesson["title"])
    assert {(chunk["module"], chunk["chapter"]) for chunk in read["chunks"]} == {(module, chapter)}
    assert read["chunks"][0]["source_url"].startswith(lesson["source_url"])
    assert book["index"]["calibrated"] is True


def test_how_a_book_was_fitted(client: httpx.Client) -> None:
    fitted = client.get(f"/books/{BOOK}/calibration").json()
    assert 0.5 < fitted["auc"] <= 1.0
    assert fitted["anchors"] == sorted(fitted["anchors"])


def test_a_book_that_is_not_there(client: httpx.Client) -> None:
    for path in ("/books/another", "/books/another/calibration"):
        problem(client.get(path), 404, "not_found")


def test_a_book_whose_index_is_gone_is_no_fault_of_the_program(folder: Path) -> None:
    """As it is for a moment when a book is rebuilt or removed beside a request."""
    asyncio.run(_shelve(folder, "legs"))
    with running(folder / "data") as service, service.client() as client:
        (book,) = client.get("/books").json()["books"]
        service.run(service.state.resources.index.drop(book["collection_name"]))
        for path in ("/books/legs", "/books/legs/calibration"):
            assert "recreate" in problem(client.get(path), 503, "storage_failure")["detail"]
        assert client.get("/books/legs/records").status_code == 200


def test_what_the_book_did_not_answer_is_its_authors_to_see(locked: Service) -> None:
    question = "=2+2 How long does a humanoid's battery last on the moon?"
    with locked.client(locked.key("chat")) as reader:
        assert ask(reader, question)["should_answer"] is False
        problem(reader.get(f"/books/{BOOK}/gaps"), 403, "not_allowed")
        problem(reader.get(f"/books/{BOOK}/gaps.csv"), 403, "not_allowed")
    with locked.client(locked.key("ingest")) as author:
        gaps = author.get(f"/books/{BOOK}/gaps").json()["gaps"]
        assert question in {one["question"] for gap in gaps for one in gap["questions"]}
        table = author.get(f"/books/{BOOK}/gaps.csv")
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        assert "'=2+2 How long" in table.text  # no formula
        assert author.get(f"/books/{BOOK}/gaps", params={"since": "2100-01-01T00:00:00Z"}).json() == {"gaps": []}
    with locked.client(locked.key("ingest", book_id="another")) as foreign:
        problem(foreign.get(f"/books/{BOOK}/gaps"), 404, "not_found")


async def _shelve(folder: Path, *book_ids: str) -> None:
    async with open_library(folder / "data") as library:
        for book_id in book_ids:
            await library.ingest(write_small_book(folder / book_id, book_id=book_id))


def test_where_there_are_several_books_one_must_be_named(folder: Path) -> None:
    asyncio.run(_shelve(folder, BOOK, "legs", "arms"))
    with running(folder / "data") as service, service.client() as client:
        for path, body in (("/search", {"text": "elbows"}), ("/chat/run", {"message": "What bends?"})):
            told = problem(client.post(path, json=body), 422, "book_required")
            assert told["books"] == ["arms", "legs", BOOK]
            assert re.search(rf"book_id \(arms, legs, {BOOK}\)\. .* is 'arms'\.", told["detail"])
    with running(folder / "data", book="legs") as service, service.client() as client:
        response = client.get("/lessons/6ba7b810-9dad-51d1-80b4-00c04fd430c8")
        assert "'legs'" in problem(response, 409, "mismatch")["detail"]  # the one meant; another embedder made it


def test_a_book_is_removed_by_an_administrator_who_means_it(folder: Path) -> None:
    asyncio.run(_shelve(folder, "legs", "arms"))
    with running(folder / "data", loopback=False) as service:
        with service.client(service.key("chat", "ingest")) as author:
            records = author.get("/books/arms/records").json()
            assert sum(one["chunk_count"] for one in records["records"]) == records["total_chunks"] == 17
            assert all(len(one["chunk_ids"]) == one["chunk_count"] for one in records["records"])
            problem(author.delete("/books/arms", params={"yes": True}), 403, "not_allowed")
            problem(author.get("/books/arms/export"), 403, "not_allowed")
        with service.client(service.key("admin", book_id="legs")) as neighbour:
            problem(neighbour.delete("/books/arms", params={"yes": True}), 404, "not_found")
        with service.client(service.key("admin")) as admin:
            told = problem(admin.delete("/books/arms"), 422, "needs_consent")
            assert "7 lessons, 17 chunks, 0 threads and 0 jobs" in told["detail"]
            assert admin.get("/books/arms/export").headers["content-type"].startswith("text/markdown")
            assert admin.delete("/books/arms", params={"yes": True}).json()["lessons"] == 7
            assert [book["book_id"] for book in admin.get("/books").json()["books"]] == ["legs"]
            problem(admin.delete("/books/arms", params={"yes": True}), 404, "not_found")
