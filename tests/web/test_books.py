"""The shelf over HTTP."""

from __future__ import annotations

import httpx

from tests.support.serving import BOOK, Service, ask, problem


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
