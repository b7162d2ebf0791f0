"""Document E over HTTP: its request, its response, its stream."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.support.serving import BOOK, ask, events, problem, stream

NODE = "What is a node?"
FOREIGN = "How do I bake sourdough bread?"
RESPONSE = {"response", "confidence", "sources", "session_id", "timestamp", "confidence_level", "should_answer"}
SOURCE = {"label", "quote", "relevance", "chunk_text", "similarity_score", "chapter", "section", "url", "chunk_index"}


def test_an_answer_has_the_documents_fields(client: httpx.Client) -> None:
    told = ask(client, NODE)
    assert told.keys() >= RESPONSE
    assert told["response"].startswith("A node is a named participant in a ROS 2 system")
    assert told["should_answer"] is True
    assert told["confidence_level"] in {"high", "medium", "low"}
    assert 0.0 <= told["confidence"] <= 1.0
    assert UUID(told["session_id"]).version == 4
    assert abs(datetime.now(UTC) - datetime.fromisoformat(told["timestamp"])).total_seconds() < 120
    assert told["sources"]
    for source in told["sources"]:
        assert source.keys() == SOURCE
        assert 1 <= len(source["chunk_text"]) <= 500
        assert 0.0 <= source["similarity_score"] <= 1.0
        assert re.match(r"Chapter \d+: ", source["chapter"])
        assert source["url"].startswith("https://physical-ai.example/docs/")


def test_every_sentence_shows_its_passage(client: httpx.Client) -> None:
    answer = ask(client, NODE)["answer"]
    for sentence in answer["sentences"]:
        assert sentence["citations"]
        for citation in sentence["citations"]:
            context = client.get(f"/chunks/{citation['chunk_id']}/context").json()["chunk"]
            start, end = (citation["span"][edge] - context["span"]["start"] for edge in ("start", "end"))
            assert context["text"][start:end] == citation["quote"]


def test_two_questions_in_one_are_answered_each_from_its_own_lesson(client: httpx.Client) -> None:
    told = ask(client, "What is a topic, and what is a node?")
    cited = {
        sentence["text"].partition(" is ")[0]: sentence["citations"][0]["source_file"] for sentence in told["answer"]["sentences"]
    }
    folder = "module-1-ros2/chapter-1-how-robots-talk"
    assert cited == {"A topic": f"{folder}/02-topics-and-messages.md", "A node": f"{folder}/01-nodes-and-the-graph.md"}
    assert (told["confidence_level"], told["answer"]["disclaimer"]) == ("high", None)


def test_of_two_questions_the_one_that_is_not_answered_is_named(client: httpx.Client) -> None:
    told = ask(client, f"{FOREIGN} And what is a node?")
    assert told["response"].startswith("A node is a named participant in a ROS 2 system")
    assert told["response"].endswith(f"The book does not answer this: “{FOREIGN}”")
    assert told["confidence_level"] == "low"


def test_a_refusal_is_a_result(client: httpx.Client) -> None:
    told = ask(client, FOREIGN)
    assert (told["should_answer"], told["sources"], told["confidence_level"]) == (False, [], "insufficient")
    assert told["answer"]["reason"] == "off_topic"
    assert "The whole book was searched" in told["response"]


def test_a_disclaimer_stands_with_an_answer_of_low_confidence(client: httpx.Client) -> None:
    told = ask(client, NODE, score_scale="cosine", similarity_threshold=0.0)
    disclaimer = told["answer"]["disclaimer"]
    assert (told["confidence_level"] == "low") == bool(disclaimer)
    assert told["response"].endswith(disclaimer or "")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"message": ""}, "message"),
        ({"message": "  \n "}, "message"),
        ({"message": "w" * 1001}, "message"),
        ({"message": "a\x00b"}, "message"),
        ({}, "message"),
        ({"session_id": "not-a-uuid"}, "session_id"),
        ({"session_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, "session_id"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 11}, "top_k"),
        ({"similarity_threshold": -0.1}, "similarity_threshold"),
        ({"similarity_threshold": 1.1}, "similarity_threshold"),
        ({"book_id": "../etc"}, "book_id"),
        ({"filters": {"layer": "L9"}}, "filters.layer"),
        ({"filters": {"chapter_min": 10**30}}, "filters.chapter_min"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_cannot_be_asked_names_the_field(client: httpx.Client, given: dict[str, Any], field: str) -> None:
    body = {"message": NODE, **given} if given else {}
    told = problem(client.post("/chat/run", json=body), 422, "invalid_input")
    assert field in {error["field"] for error in told["errors"]}


def test_filters_that_exclude_each_other_say_so(client: httpx.Client) -> None:
    body = {"message": NODE, "filters": {"chapter_min": 5, "chapter_max": 2}}
    assert "swap the two" in problem(client.post("/chat/run", json=body), 422, "invalid_input")["detail"]


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b'{"message": "a" "b"}', b"[" * 9000])
def test_what_is_not_json_is_a_bad_request(client: httpx.Client, body: bytes) -> None:
    response = client.post("/chat/run", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert "JSON" in response.json()["detail"]


def test_a_field_that_is_no_text_can_be_named(client: httpx.Client) -> None:
    body = b'{"message": "hi", "\\ud800": 1}'
    problem(client.post("/chat/run", content=body, headers={"Content-Type": "application/json"}), 422, "invalid_input")


def test_json_under_another_name_is_not_taken(client: httpx.Client) -> None:
    """A form of a page elsewhere can send text/plain without asking first."""
    response = client.post("/chat/run", content=b'{"message": "hi"}', headers={"Content-Type": "text/plain"})
    assert "Content-Type: application/json" in problem(response, 422, "invalid_input")["detail"]


def test_a_message_may_have_space_around_it(client: httpx.Client) -> None:
    assert ask(client, f"  {NODE}\n")["answer"]["query"] == NODE


def test_the_stream_tells_the_turn_and_always_ends(client: httpx.Client) -> None:
    told = stream(client, NODE)
    names = [one.name for one in told]
    sentences = names.count("sentence")
    assert sentences >= 1
    assert names == ["opened", "searching", "found", *["sentence"] * sentences, "answered", "done"]
    thread = told[0].data["thread_id"]
    assert [one.id for one in told] == [f"{thread}/1/{number}" for number in range(len(told))]
    answered = told[-2].data
    assert answered.keys() >= RESPONSE
    streamed = [one.data["text"] for one in told if one.name == "sentence"]
    assert streamed == [one["text"] for one in answered["answer"]["sentences"]]
    assert answered["session_id"] == thread


def test_a_streamed_refusal(client: httpx.Client) -> None:
    told = stream(client, FOREIGN)
    assert [one.name for one in told] == ["opened", "searching", "found", "refused", "done"]
    assert told[-2].data["should_answer"] is False


def test_run_streams_when_asked_to(client: httpx.Client) -> None:
    assert [one.name for one in stream(client, NODE, path="/chat/run", stream=True)][-2:] == ["answered", "done"]


def test_a_finished_answer_can_be_read_again_from_where_the_connection_broke(client: httpx.Client) -> None:
    told = stream(client, NODE)
    thread = told[0].data["thread_id"]
    path = f"/threads/{thread}/turns/1/events"
    again = events(client.get(path).text)
    assert [(one.name, one.id) for one in again] == [(one.name, one.id) for one in told if one.name != "found"]
    assert again[-2].data["answer"] == told[-2].data["answer"]
    rest = events(client.get(path, headers={"Last-Event-ID": told[3].id}).text)
    assert [one.id for one in rest] == [one.id for one in told[4:]]
    over = events(client.get(path, headers={"Last-Event-ID": told[-1].id}).text)
    assert [one.name for one in over] == ["done"]
    strange = events(client.get(path, headers={"Last-Event-ID": "../../7"}).text)
    assert len(strange) == len(again)
    problem(client.get(f"/threads/{thread}/turns/2/events"), 404, "not_found")


def test_a_follow_up_leans_on_the_thread(client: httpx.Client) -> None:
    first = ask(client, "What is a quaternion?")
    second = ask(client, "Why is it used?", session_id=first["session_id"])
    assert (second["session_id"], second["turn"]) == (first["session_id"], 2)
    assert "quaternion" in second["answer"]["question"].lower()


def test_a_session_id_of_ones_own_begins_a_thread(client: httpx.Client) -> None:
    own = str(uuid4())
    assert ask(client, NODE, session_id=own.upper())["session_id"] == own


def test_filters_are_the_readers(client: httpx.Client) -> None:
    told = ask(client, NODE, filters={"module": "vla"})
    assert told["answer"]["reason"] == "outside_filters"
    assert told["answer"]["nearest"][0]["module"] == "ros2"
    prefixed = ask(client, NODE, filters={"prefix": "module-1-ros2"})
    assert prefixed["answer"]["filter_applied"] == "module-1-ros2"


def test_html_beside_the_text_where_it_is_wanted(client: httpx.Client) -> None:
    told = ask(client, NODE, render=True)
    assert len(told["html"]) == len(told["answer"]["sentences"])
    assert ask(client, NODE)["html"] is None
    streamed = next(one for one in stream(client, NODE, render=True) if one.name == "sentence")
    assert streamed.data["html"] == told["html"][0]


def test_a_book_that_is_not_there(client: httpx.Client) -> None:
    told = problem(client.post("/chat/run", json={"message": NODE, "book_id": "other"}), 404, "not_found")
    assert BOOK in told["detail"]
    assert problem(client.post("/chat/stream", json={"message": NODE, "book_id": "other"}), 404, "not_found")


TOPICS = "module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md"
TOPICS_ADDRESS = "https://physical-ai.example/docs/module-1-ros2/chapter-1-how-robots-talk/topics-and-messages"
TOPIC = "A topic is a named channel that carries messages of one type from any number of publishers to any number of subscribers."


def test_selected_words_are_explained_by_what_stands_around_them(client: httpx.Client) -> None:
    told = ask(client, "Explain this.", similarity_threshold=0, selection={"text": TOPIC, "source_file": TOPICS})
    assert told["should_answer"]
    assert TOPIC not in told["response"]
    assert {one["source_file"] for one in told["answer"]["citations"]} == {TOPICS}
    assert told["answer"]["query"] == "Explain this."
    assert told["answer"]["question"] == f"Explain this. “{TOPIC}”"
    titles = [one["title"] for one in client.get("/threads").json()["threads"] if one["thread_id"] == told["session_id"]]
    assert titles == [f"Explain this. “{TOPIC}”"[:119] + "…"]
    cut = {"text": TOPIC[len("A topic is ") : -len(" to any number of subscribers.")], "source_file": TOPICS}
    for question in ("Explain this.", "Erklär das."):  # most of a sentence; the page's own question in another language
        assert TOPIC not in ask(client, question, similarity_threshold=0, selection=cut)["response"]
    shown = {"text": TOPIC.replace(" any number of ", " … "), "source_file": TOPICS}  # as if a formula stood there
    told = ask(client, "What does a topic carry?", similarity_threshold=0, selection=shown)
    assert TOPIC in told["response"]


@pytest.mark.parametrize("question", ["Explain this.", "Why is that so?"])
def test_selected_words_are_meant_and_not_what_the_thread_was_about(client: httpx.Client, question: str) -> None:
    selected = {"text": TOPIC, "source_file": TOPICS}
    alone = ask(client, question, similarity_threshold=0, selection=selected)
    thread = ask(client, FOREIGN)["session_id"]
    told = ask(client, question, similarity_threshold=0, selection=selected, session_id=thread)
    assert told["answer"]["question"] == f"{question} “{TOPIC}”"
    assert [one["text"] for one in told["answer"]["sentences"]] == [one["text"] for one in alone["answer"]["sentences"]] != []


@pytest.mark.parametrize("added", ["", "/", ".html", "/index.html", "?utm=1#topics"])
def test_words_selected_on_the_books_site_are_found_by_the_pages_address(client: httpx.Client, added: str) -> None:
    told = ask(client, "Explain this.", selection={"text": TOPIC, "page_url": f"{TOPICS_ADDRESS}{added}"}, similarity_threshold=0)
    assert {one["source_file"] for one in told["answer"]["citations"]} == {TOPICS}


def test_words_that_do_not_stand_in_the_lesson_are_not_explained(client: httpx.Client) -> None:
    for text, file in ((TOPIC, TOPICS.replace("02", "07")), ("A topic is a cheese.", TOPICS), (f"{TOPIC}\nA cheese", TOPICS)):
        body = {"message": "Explain this.", "selection": {"text": text, "source_file": file}}
        assert "do not stand in the lesson" in problem(client.post("/chat/run", json=body), 422, "invalid_input")["detail"]
    for place in ({}, {"source_file": TOPICS, "page_url": TOPICS_ADDRESS}):
        body = {"message": "Explain this.", "selection": {"text": TOPIC, **place}}
        assert "one of the two says where" in problem(client.post("/chat/run", json=body), 422, "invalid_input")["detail"]
    body = {"message": "Explain this.", "selection": {"text": TOPIC, "page_url": "https://physical-ai.example/prices"}}
    detail = problem(client.post("/chat/run", json=body), 422, "invalid_input")["detail"]
    assert "The book has no lesson at https://" in detail
    assert "ask about them in your own words" in detail  # a reader of the site meets it
    body = {"message": "Why?", "selection": {"text": "x" * 2001, "source_file": TOPICS}}
    assert "selection" in problem(client.post("/chat/run", json=body), 422, "invalid_input")["detail"]
    body["selection"] = {"text": "x" * 100_000, "source_file": TOPICS}
    problem(client.post("/chat/run", json=body), 413, "body_too_large")
