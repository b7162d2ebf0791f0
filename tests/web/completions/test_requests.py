"""What clients of chat completions send, good and bad, as they send it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from bythebook.web.completions.request import LONGEST_READ, CompletionRequest
from tests.support.serving import BOOK, Service
from tests.web.test_connections import connected, eventually_idle, head

NODE = "What is a node?"
USER = {"role": "user", "content": NODE}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
TASKS = {
    "title": (
        '### Task:\nGenerate a concise, 3-5 word title.\n### Output:\nJSON format: { "title": "your concise title here" }\n'
        "### Chat History:\n<chat_history>\nUSER: What is a node?\nASSISTANT: A node is …\n</chat_history>",
        {"title": NODE},
    ),
    "tags": ('### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format: { "tags": ["tag1", "tag2"] }', {"tags": []}),
    "next": (
        '### Task:\nSuggest 3-5 follow-ups.\n### Output:\nJSON format: { "follow_ups": ["Question 1?"] }',
        {"follow_ups": []},
    ),
    "search": ('### Task:\nAnalyze the chat history …\n### Output:\nReturn { "queries": ["query1"] }', {"queries": []}),
}


def complete(client: httpx.Client, *messages: dict[str, Any], **given: Any) -> httpx.Response:
    return client.post("/v1/chat/completions", json={"model": BOOK, "messages": list(messages), **given})


def content(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    told: str = response.json()["choices"][0]["message"]["content"]
    return told


def parts(response: httpx.Response) -> list[Any]:
    """What a stream says, without its last word."""
    assert response.status_code == 200, response.text
    said = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert said[-1] == "[DONE]"
    return [json.loads(part) for part in said[:-1]]


def error(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    (told,) = response.json().values()
    assert {"message", "type", "param", "code"} <= told.keys()
    assert told["code"] == code
    result: dict[str, Any] = told
    return result


@pytest.mark.parametrize(
    ("given", "param", "words"),
    [
        ({"messages": []}, "messages", "no question"),
        ({"messages": [{"role": "system", "content": "Be kind."}]}, "messages", "no question"),
        ({"messages": [USER, {"role": "assistant", "content": "A node …"}]}, "messages", "last message is the assistant's"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages", "only text can be read"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": NODE}, IMAGE]}]}, "messages", "leave out the part"),
        ({"messages": [{"role": "user", "content": " "}]}, None, "1 to 1,000 characters"),
        ({"messages": [{"role": "user", "content": "w" * 1001}]}, None, "this one has 1,001"),
        ({"messages": "hello"}, "messages", "must be a list"),
        ({"messages": 100 * [USER, {"role": "assistant", "content": "Yes."}] + [USER]}, None, "Begin a new one"),
        ({"n": 2}, "n", "one answer"),
        ({"logprobs": True}, "logprobs", "no logprobs"),
        ({"tool_choice": "required"}, "tool_choice", "calls no tools"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "response_format", "not in JSON"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice", "calls no tools"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(client: httpx.Client, given: dict[str, Any], param: str | None, words: str) -> None:
    for stream in (False, True):
        told = error(complete(client, **{"messages": [USER], "stream": stream, **given}), 400, "invalid_input")
        assert told["param"] == param
        assert words in told["message"]


def test_what_is_not_json_and_what_is_too_large_are_errors_of_the_same_form(client: httpx.Client) -> None:
    error(client.post("/v1/chat/completions", content="{", headers={"Content-Type": "application/json"}), 400, "invalid_json")
    told = error(complete(client, {"role": "user", "content": "w" * 1_000_000}), 413, "body_too_large")
    assert "1,000,000 bytes" in told["message"]
    error(client.get("/v1/embeddings"), 404, "not_found")


def test_a_long_conversation_with_all_that_clients_add_is_answered(client: httpx.Client) -> None:
    """Open WebUI sends a dozen tools with each message; others send what they know of OpenAI's own server."""
    tools = [{"type": "function", "function": {"name": f"tool_{number}", "parameters": {}}} for number in range(20)]
    earlier = [{"role": "user", "content": "What is a topic?"}, {"role": "assistant", "content": "w" * 20_000}]
    told = complete(
        client,
        {"role": "developer", "content": "Answer in rhymes."},
        *(20 * earlier),
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        {**USER, "name": "reader"},
        tools=tools,
        tool_choice="auto",
        temperature=1.3,
        stream_options=None,
        stream=None,
        user="someone",
        metadata={"a": 1},
        n=1,
        logprobs=False,
        response_format={"type": "text"},
        surprise={"anything": []},
    )
    assert "[1]" in content(told)


def test_of_a_long_earlier_message_only_the_beginning_is_read() -> None:
    """A client says what it likes about what was answered before; an answer of ours is never as long."""
    said = [{"role": role, "content": "w" * 900_000} for role in ("user", "assistant", "user")]
    _, (exchange,) = CompletionRequest.model_validate({"model": BOOK, "messages": said}).conversation()
    assert (len(exchange.question), len(exchange.answer)) == (LONGEST_READ, LONGEST_READ)


@pytest.mark.parametrize("name", TASKS)
def test_a_clients_own_chores_are_answered_without_a_search_and_kept_nowhere(client: httpx.Client, name: str) -> None:
    prompt, wanted = TASKS[name]
    before = client.get("/threads").json(), client.get(f"/books/{BOOK}/gaps").json()
    assert json.loads(content(complete(client, {"role": "user", "content": prompt}))) == wanted
    streamed = parts(complete(client, {"role": "user", "content": prompt}, stream=True))
    assert json.loads("".join(part["choices"][0]["delta"].get("content", "") for part in streamed)) == wanted
    assert (client.get("/threads").json(), client.get(f"/books/{BOOK}/gaps").json()) == before


def test_what_a_client_puts_before_the_question_is_left_out(client: httpx.Client) -> None:
    """Open WebUI's, where the reader has added a file to the chat."""
    task = "### Task:\nRespond to the user query using the provided context.\n\n<context>\n" + 2000 * "fish " + "\n</context>\n"
    told = complete(client, {"role": "user", "content": task + NODE}).json()
    assert client.get(f"/threads/{told['thread_id']}").json()["turns"][0]["answer"]["query"] == NODE


def test_a_question_that_only_begins_like_a_chore_is_asked(client: httpx.Client) -> None:
    assert "[1]" in content(complete(client, {"role": "user", "content": "### Task: What is a node?"}))


def test_a_conversation_that_was_changed_begins_a_thread_of_its_own(client: httpx.Client) -> None:
    first = complete(client, USER).json()
    said = {"role": "assistant", "content": first["choices"][0]["message"]["content"]}
    more = {"role": "user", "content": "What is a topic?"}
    second = complete(client, USER, said, more).json()
    other = complete(client, USER, {"role": "assistant", "content": "A node is a fish."}, more).json()
    again = complete(client, USER, said, more).json()
    assert second["thread_id"] == first["thread_id"]
    assert len({one["thread_id"] for one in (second, other, again)}) == 3
    turns = client.get(f"/threads/{first['thread_id']}").json()["turns"]
    assert [turn["answer"]["query"] for turn in turns] == [NODE, "What is a topic?"]


def test_a_refused_question_is_a_gap_and_the_refusal_is_nobodys_subject(client: httpx.Client) -> None:
    question = {"role": "user", "content": "What does a node cost in Japanese yen?"}
    refused = complete(client, question).json()
    gaps = client.get(f"/books/{BOOK}/gaps").json()["gaps"]
    assert question["content"] in {one["question"] for gap in gaps for one in gap["questions"]}
    said = {"role": "assistant", "content": refused["choices"][0]["message"]["content"]}
    for opening in ({"role": "system", "content": ""}, {**USER, "content": "An earlier question, unanswered?"}):
        last = complete(client, opening, question, said, {"role": "user", "content": "Tell me more."}).json()
        turn = client.get(f"/threads/{last['thread_id']}").json()["turns"][-1]["answer"]
        assert "node" in turn["question"].lower()
        assert "searched" not in turn["question"].lower()


def test_a_reader_who_hangs_up_leaves_nothing_half_kept(service: Service, client: httpx.Client) -> None:
    body = json.dumps({"model": BOOK, "messages": [USER], "stream": True}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    for _ in range(3):
        with connected(service.port) as line:
            line.sendall(head("POST", "/v1/chat/completions", headers) + body)
            line.recv(10)
    eventually_idle(service)
    for thread in client.get("/threads", params={"limit": 3}).json()["threads"]:
        assert len(client.get(f"/threads/{thread['thread_id']}").json()["messages"]) == 2 * thread["turn_count"]


def test_a_key_revoked_during_a_stream_ends_with_it(locked: Service) -> None:
    key, secret = locked.run(locked.state.keys.create("short-lived"))
    body = {"model": BOOK, "messages": [USER], "stream": True}
    with locked.client(secret) as client, client.stream("POST", "/v1/chat/completions", json=body) as response:
        lines = response.iter_lines()
        next(lines)
        locked.run(locked.state.keys.revoke(key.key_id))
        assert [line for line in lines if line][-1] == "data: [DONE]"
        error(complete(client, USER), 401, "invalid_api_key")


def test_a_key_of_one_book_sees_one_model(locked: Service) -> None:
    with locked.client(locked.key("chat", book_id="another")) as client:
        assert client.get("/v1/models").json() == {"object": "list", "data": []}
        error(client.get(f"/v1/models/{BOOK}"), 404, "model_not_found")
        error(complete(client, USER), 404, "model_not_found")
    with locked.client(locked.key("public", book_id=BOOK)) as client:
        (model,) = client.get("/v1/models").json()["data"]
        assert (model["id"], model["object"], model["owned_by"]) == (BOOK, "model", "bythebook")
        assert model["name"] == "Physical AI & Humanoid Robotics"
        assert client.get(f"/v1/models/{BOOK}").json() == model
        assert "[1]" in content(complete(client, USER))


def test_usage_comes_when_it_is_asked_for(client: httpx.Client) -> None:
    without = parts(complete(client, USER, stream=True))
    assert all(part["choices"] for part in without)
    assert without[0]["choices"][0]["delta"]["role"] == "assistant"
    assert without[-1]["choices"][0]["finish_reason"] == "stop"
    counted = parts(complete(client, USER, stream=True, stream_options={"include_usage": True}))
    assert counted[-1]["choices"] == []
    assert counted[-1]["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
