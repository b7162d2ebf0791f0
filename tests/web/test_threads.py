"""Threads over HTTP: document E's ConversationThread."""

from __future__ import annotations

import httpx
import pytest

from tests.support.serving import BOOK, ask, problem

NODE = "What is a node?"
THREAD = {"thread_id", "messages", "created_at", "updated_at", "topic_summary", "metadata"}


def test_a_thread_has_the_documents_fields(client: httpx.Client) -> None:
    told = ask(client, NODE, page_url="https://physical-ai.example/docs")
    thread = client.get(f"/threads/{told['session_id']}").json()
    assert thread.keys() >= THREAD
    user, assistant = thread["messages"]
    assert (user["role"], user["content"], user["confidence"]) == ("user", NODE, None)
    assert assistant["role"] == "assistant"
    assert assistant["content"].startswith(told["answer"]["answer"][:50])
    assert assistant["confidence"] == pytest.approx(told["confidence"])
    assert (thread["book_id"], thread["turn_count"], thread["archived_at"]) == (BOOK, 1, None)
    assert thread["metadata"] == {"page_url": "https://physical-ai.example/docs"}
    assert thread["turns"][0]["answer"]["sentences"] == told["answer"]["sentences"]


def test_messages_alternate_and_a_summary_comes_with_the_fifth_exchange(client: httpx.Client) -> None:
    thread = ask(client, NODE)["session_id"]
    for message in ("What is a topic?", "What is a service?", "What is a quaternion?"):
        ask(client, message, session_id=thread)
    assert client.get(f"/threads/{thread}").json()["topic_summary"] is None
    ask(client, "What is domain randomization?", session_id=thread)
    shown = client.get(f"/threads/{thread}").json()
    assert 1 <= len(shown["topic_summary"]) <= 200
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"] * 5


def test_a_thread_is_read_back_from_a_turn(client: httpx.Client) -> None:
    thread = ask(client, NODE)["session_id"]
    for message in ("What is a topic?", "What is a service?"):
        ask(client, message, session_id=thread)

    def numbers(**asked: int) -> list[int]:
        shown = client.get(f"/threads/{thread}", params=asked).json()
        return [turn["number"] for turn in shown["turns"]]

    assert (numbers(), numbers(before=3), numbers(before=1)) == ([1, 2, 3], [1, 2], [])
    problem(client.get(f"/threads/{thread}", params={"before": 0}), 422, "invalid_input")


def test_threads_are_listed_page_by_page_the_latest_first(client: httpx.Client) -> None:
    made = [ask(client, NODE)["session_id"] for _ in range(3)]
    first = client.get("/threads", params={"limit": 2, "book_id": BOOK}).json()
    assert [thread["thread_id"] for thread in first["threads"]] == made[:0:-1]
    second = client.get("/threads", params={"limit": 2, "before": first["next"]}).json()
    assert second["threads"][0]["thread_id"] == made[0]
    ask(client, NODE, session_id=made[0])
    assert client.get("/threads", params={"limit": 1}).json()["threads"][0]["thread_id"] == made[0]
    assert client.get("/threads", params={"book_id": "another"}).json() == {"threads": [], "next": None}


def test_a_thread_is_named_and_deleted_for_good(client: httpx.Client) -> None:
    thread = ask(client, NODE)["session_id"]
    assert client.get(f"/threads/{thread}").json()["title"] == NODE
    assert client.patch(f"/threads/{thread}", json={"title": "  Nodes  "}).status_code == 204
    assert client.get(f"/threads/{thread}").json()["title"] == "Nodes"
    problem(client.patch(f"/threads/{thread}", json={"title": " "}), 422, "invalid_input")
    assert client.delete(f"/threads/{thread}").status_code == 204
    for response in (client.get(f"/threads/{thread}"), client.delete(f"/threads/{thread}")):
        problem(response, 404, "not_found")


def test_a_thread_can_be_taken_along_with_its_sources(client: httpx.Client) -> None:
    told = ask(client, NODE)
    ask(client, "How do I bake bread?", session_id=told["session_id"])
    response = client.get(f"/threads/{told['session_id']}/export")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "attachment" in response.headers["content-disposition"]
    assert f"## {NODE}\n\n{told['answer']['answer']}" in response.text
    assert f"[1] {told['answer']['citations'][0]['source_url']}" in response.text
    assert "How do I bake bread?" in response.text
