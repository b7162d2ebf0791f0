"""Was it right, and who may see it: ratings and shared answers over HTTP."""

from __future__ import annotations

import json

import httpx

from bythebook.evaluation.cases import read_case
from tests.support.serving import BOOK, Service, ask, problem

NODE = "What is a node?"


def turn_of(client: httpx.Client) -> tuple[str, str]:
    told = ask(client, NODE, similarity_threshold=0)
    return told["session_id"], f"/threads/{told['session_id']}/turns/{told['turn']}"


def test_what_a_reader_found_wrong_becomes_a_question_for_the_author(client: httpx.Client) -> None:
    thread, turn = turn_of(client)
    assert client.put(f"{turn}/rating", json={"right": True}).status_code == 204
    assert client.put(f"{turn}/rating", json={"right": False, "reason": " Too short. "}).status_code == 204
    (shown,) = client.get(f"/threads/{thread}").json()["turns"]
    assert (shown["rating"]["right"], shown["rating"]["reason"]) == (False, "Too short.")
    (wrong,) = [one for one in client.get(f"/books/{BOOK}/wrong").json()["answers"] if one["thread_id"] == thread]
    assert (wrong["question"], wrong["reason"], wrong["refused"]) == (NODE, "Too short.", False)
    lines = [json.loads(line) for line in client.get(f"/books/{BOOK}/wrong.jsonl").text.splitlines()]
    (line,) = [one for one in lines if one["id"] == f"reader-{thread[:8]}-1"]
    case = read_case(line, line=1, number=1)
    assert (case.question, case.checked) == (NODE, False)
    assert client.delete(f"{turn}/rating").status_code == 204
    assert client.get(f"/threads/{thread}").json()["turns"][0]["rating"] is None


def test_bad_ratings_are_refused_in_a_sentence(client: httpx.Client) -> None:
    thread, turn = turn_of(client)
    problem(client.put(f"{turn}/rating", json={"right": False, "reason": "x" * 501}), 422, "invalid_input")
    problem(client.put(f"{turn}/rating", json={"wrong": True}), 422, "invalid_input")
    problem(client.put(f"/threads/{thread}/turns/7/rating", json={"right": True}), 404, "not_found")


def test_a_shared_answer_is_read_until_it_is_revoked_or_its_thread_is_gone(client: httpx.Client) -> None:
    thread, turn = turn_of(client)
    first = client.post(f"{turn}/share").json()["token"]
    shared = client.get(f"/shared/{first}").json()
    assert shared["answer"]["query"] == NODE
    assert "thread_id" not in json.dumps(shared)
    assert client.get(f"/threads/{thread}").json()["turns"][0]["shared"] is True
    second = client.post(f"{turn}/share").json()["token"]
    problem(client.get(f"/shared/{first}"), 404, "not_found")
    assert client.delete(f"{turn}/share").status_code == 204
    assert "revoked" in problem(client.get(f"/shared/{second}"), 404, "not_found")["detail"]
    third = client.post(f"{turn}/share").json()["token"]
    assert client.get(f"/shared/{third}").status_code == 200
    client.delete(f"/threads/{thread}")
    problem(client.get(f"/shared/{third}"), 404, "not_found")


def test_only_its_owner_rates_and_shares_and_a_link_opens_for_keys_of_the_book(locked: Service) -> None:
    with locked.client(locked.key("chat")) as owner, locked.client(locked.key("chat", book_id=BOOK)) as other:
        _, turn = turn_of(owner)
        problem(other.put(f"{turn}/rating", json={"right": True}), 404, "not_found")
        problem(other.post(f"{turn}/share"), 404, "not_found")
        link = f"/shared/{owner.post(f'{turn}/share').json()['token']}"
        assert other.get(link).status_code == 200
        problem(other.get(f"/books/{BOOK}/wrong"), 403, "not_allowed")
    with locked.client(locked.key("chat", book_id="another")) as stranger, locked.client() as nobody:
        told = problem(stranger.get(link), 404, "not_found")["detail"]
        assert told == problem(stranger.get("/shared/" + "x" * 32), 404, "not_found")["detail"]
        assert BOOK not in told
        problem(nobody.get(link), 401, "key_required")
