"""Several books asked at once: the best grounded one answers, in a thread of its own; each key opens what it opens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from tests.support.hostile_book import ANSWER, BOOK_ID, QUESTION, shelf
from tests.support.library import copy_data, fast_folder
from tests.support.serving import BOOK, Service, ask, problem, running, stream

NODE = "What is a node?"
FOREIGN = "Which wine goes with grilled fish?"
ALL = ["*"]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """The sample book and a small one."""
    folder = fast_folder()
    with running(copy_data(shelf() / "data", folder / "data")) as there:
        yield there
    shutil.rmtree(folder)


def test_the_best_grounded_book_answers_and_says_which_it_is(client: httpx.Client) -> None:
    for question, book_id, words in ((NODE, BOOK, "A node is a named participant"), (QUESTION, BOOK_ID, ANSWER)):
        told = ask(client, question, books=ALL)
        assert told["answer"]["book_id"] == book_id
        assert words in told["response"]
        first, other = told["answer"]["books"]
        assert (first["book_id"], first["answers"]) == (book_id, True)
        assert first["score"] > other["score"]
        thread = client.get(f"/threads/{told['session_id']}").json()
        assert thread["book_id"] == book_id
        assert thread["turns"][0]["answer"]["books"] == told["answer"]["books"]


def test_a_follow_up_stays_in_the_book_that_answered(client: httpx.Client) -> None:
    first = ask(client, NODE, books=[BOOK_ID, BOOK])
    after = ask(client, "How do they communicate?", book_id=BOOK, session_id=first["session_id"])
    assert (after["turn"], after["answer"]["book_id"], after["answer"]["books"]) == (2, BOOK, [])


def test_no_book_answering_is_a_refusal_that_says_how_many_were_searched(client: httpx.Client) -> None:
    told = ask(client, FOREIGN, books=ALL)
    assert not told["should_answer"]
    assert "2 books were searched, and “" in told["response"]
    assert [one["answers"] for one in told["answer"]["books"]] == [False, False]


def test_the_thresholds_of_the_request_hold_in_each_book(client: httpx.Client) -> None:
    strict = ask(client, NODE, books=ALL, score_scale="cosine", similarity_threshold=0.99)
    assert [one["answers"] for one in strict["answer"]["books"]] == [False, False]


def test_it_streams_as_one_book_does(client: httpx.Client) -> None:
    told = stream(client, NODE, books=ALL)
    assert [told[0].name, told[0].data["book_id"], told[-1].name] == ["opened", BOOK, "done"]
    assert told[-2].data["answer"]["book_id"] == BOOK


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"books": []}, "books", "must not be empty"),
        ({"books": ["*"], "book_id": BOOK}, "books", "cannot be sent with book_id; leave out one of the two"),
        (
            {"books": [BOOK], "session_id": "550e8400-e29b-41d4-a716-446655440000"},
            "books",
            "cannot be sent with session_id; leave out one of the two",
        ),
        ({"books": [BOOK, "No Book"]}, "books.1", 'must be the id of a book, such as my-book, or "*" for all'),
        ({"books": "all"}, "books", "must be a list"),
        ({"books": [f"book-{number}" for number in range(21)]}, "books", "must have at most 20 entries"),
    ],
)
def test_what_cannot_be_asked_is_said(client: httpx.Client, given: dict[str, object], field: str, message: str) -> None:
    told = problem(client.post("/chat/run", json={"message": NODE, **given}), 422, "invalid_input")
    assert [(one["field"], one["message"].partition(", not ")[0]) for one in told["errors"]] == [(field, message)]


def test_a_book_that_is_not_there_is_said(client: httpx.Client) -> None:
    told = problem(client.post("/chat/run", json={"message": NODE, "books": [BOOK, "no-such-book"]}), 404, "not_found")
    assert "no-such-book" in told["detail"]


def test_no_refusal_while_one_of_the_books_cannot_be_searched(service: Service, client: httpx.Client) -> None:
    """The other one may have it. As long as a book answers, the one that cannot be searched is left out."""
    index = service.state.resources.index
    manifest = service.run(index.collections())[(state := service.run(service.state.resources.search.book(BOOK))).collection_name]
    elder = replace(manifest, chunker_version=manifest.chunker_version - 1, calibration={}, books={})
    state = replace(state, book_id="elder", collection_name="of_old")
    service.run(index.create("of_old", elder.serving(state)))
    try:
        assert ask(client, NODE, books=ALL)["answer"]["book_id"] == BOOK
        told = problem(client.post("/chat/run", json={"message": FOREIGN, "books": ALL}), 409, "mismatch")
        assert "'elder'" in told["detail"]
    finally:
        service.run(index.drop("of_old"))
    assert not ask(client, FOREIGN, books=ALL)["should_answer"]


def test_a_key_of_one_book_asks_that_book_alone(service: Service) -> None:
    """Last, because from the first key on one is needed."""
    with service.client(service.key("chat", book_id=BOOK)) as client:
        told = ask(client, QUESTION, books=ALL)
        assert [one["book_id"] for one in told["answer"]["books"]] == [BOOK]
        refused = problem(client.post("/chat/run", json={"message": QUESTION, "books": [BOOK, BOOK_ID]}), 404, "not_found")
        assert "for this key" in refused["detail"]


def test_a_shared_answer_tells_a_key_of_one_book_nothing_of_the_others(service: Service) -> None:
    with service.client(service.key("chat")) as owner, service.client(service.key("chat", book_id=BOOK)) as other:
        told = ask(owner, NODE, books=ALL)
        link = owner.post(f"/threads/{told['session_id']}/turns/1/share").json()["token"]
        for reader, books in ((owner, [BOOK, BOOK_ID]), (other, [BOOK])):
            read = reader.get(f"/shared/{link}")
            assert [one["book_id"] for one in read.json()["answer"]["books"]] == books
        assert BOOK_ID not in read.text
