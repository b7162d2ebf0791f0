"""Document D over HTTP: search, the chain, and the whole lesson."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from bythebook.retrieval.query import SearchQuery
from bythebook.web.render.html import render_passage
from tests.support.serving import BOOK, Service, problem

RESULT = {
    *("text", "score", "source_file", "section_title", "module", "chapter", "lesson", "hardware_tier", "proficiency_level"),
    *("layer", "chunk_index", "total_chunks", "parent_doc_id", "prev_chunk_id", "next_chunk_id", "content_hash"),
}
RESPONSE = {"query", "results", "total_found", "hardware_tier_filter", "module_filter", "book_id"}


def test_search_answers_as_search_in_process_does(service: Service, client: httpx.Client) -> None:
    told = client.post("/search", json={"text": "publish and subscribe", "hardware_tier_filter": 2, "limit": 7}).json()
    query = SearchQuery(text="publish and subscribe", book_id=BOOK, hardware_tier_filter=2, limit=7)
    found = service.run(service.state.resources.book_search.search(query))
    assert told.keys() >= RESPONSE
    assert (told["total_found"], told["book_id"]) == (found.total_found, BOOK)
    assert [result["id"] for result in told["results"]] == [result.id for result in found.results]
    for result in told["results"]:
        assert result.keys() >= RESULT
        assert 0.0 <= result["score"] <= 1.0
        assert result["hardware_tier"] <= 2


def test_the_tier_is_1_unless_asked_for(client: httpx.Client) -> None:
    told = client.post("/search", json={"text": "simulation"}).json()
    assert told["hardware_tier_filter"] == 1
    assert {result["hardware_tier"] for result in told["results"]} == {1}


def test_all_filters_hold_together(client: httpx.Client) -> None:
    body = {"text": "robots", "hardware_tier_filter": 4, "module_filter": "gazebo", "chapter_min": 3, "chapter_max": 3}
    results = client.post("/search", json={**body, "limit": 20}).json()["results"]
    assert {(result["module"], result["chapter"]) for result in results} == {("gazebo", 3)}
    lesson = results[0]["parent_doc_id"]
    one = client.post("/search", json={**body, "parent_doc_id": lesson}).json()["results"]
    assert {result["parent_doc_id"] for result in one} == {lesson}
    levels = client.post("/search", json={"text": "robots", "hardware_tier_filter": 4, "proficiency_levels": ["B1", "B2"]}).json()
    assert {result["proficiency_level"] for result in levels["results"]} <= {"B1", "B2"}
    prefixed = client.post("/search", json={"text": "robots", "hardware_tier_filter": 4, "prefix_filter": "module-1"}).json()
    assert prefixed["filter_applied"] == "module-1"
    assert {result["module"] for result in prefixed["results"]} == {"ros2"}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": "ab"}, "text"),
        ({"text": "w" * 1001}, "text"),
        ({"limit": 21}, "limit"),
        ({"limit": 0}, "limit"),
        ({"hardware_tier_filter": 5}, "hardware_tier_filter"),
        ({"hardware_tier_filter": None}, "hardware_tier_filter"),
        ({"proficiency_levels": ["D9"]}, "proficiency_levels.0"),
        ({"layer_filter": "L5"}, "layer_filter"),
        ({"parent_doc_id": "x"}, "parent_doc_id"),
    ],
)
def test_what_cannot_be_searched_names_the_field(client: httpx.Client, given: dict[str, Any], field: str) -> None:
    told = problem(client.post("/search", json={"text": "nodes", **given}), 422, "invalid_input")
    assert field in {error["field"] for error in told["errors"]}


def test_a_lesson_can_be_walked_along_its_chain_and_read_whole(client: httpx.Client) -> None:
    result = client.post("/search", json={"text": "What is a node?"}).json()["results"][0]
    lesson = client.get(f"/lessons/{result['parent_doc_id']}").json()
    chunks = lesson["chunks"]
    assert [chunk["chunk_index"] for chunk in chunks] == list(range(result["total_chunks"]))
    walked, chunk_id = [], chunks[0]["id"]
    while chunk_id:
        context = client.get(f"/chunks/{chunk_id}/context").json()
        assert (context["prev"] or {}).get("id") == context["chunk"]["prev_chunk_id"]
        walked.append(context["chunk"]["id"])
        chunk_id = (context["next"] or {}).get("id")
    assert walked == [chunk["id"] for chunk in chunks]


def test_what_is_not_there(client: httpx.Client) -> None:
    nobodys = "6ba7b810-9dad-51d1-80b4-00c04fd430c8"
    problem(client.get(f"/chunks/{nobodys}/context"), 404, "not_found")
    problem(client.get(f"/lessons/{nobodys}"), 404, "not_found")
    problem(client.get(f"/lessons/{nobodys}", params={"book_id": "another"}), 404, "not_found")


def test_a_lesson_is_rendered_beside_the_event_loop(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one takes seconds, in which others would wait."""
    beside = []

    def watched(*given: Any, **named: Any) -> str:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            beside.append(True)
        return render_passage(*given, **named)

    monkeypatch.setattr("bythebook.web.render.html.render_passage", watched)
    result = client.post("/search", json={"text": "nodes"}).json()["results"][0]
    assert client.get(f"/page/lessons/{result['parent_doc_id']}").status_code == 200
    assert client.get(f"/page/chunks/{result['id']}").status_code == 200
    assert beside == [True, True]
