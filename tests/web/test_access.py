"""Keys, their scopes and their books. What belongs to another key or book is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from bythebook.database.tables import keys
from bythebook.web.access import network_of
from bythebook.web.keys import KeyLimits
from bythebook.web.rate_limit import READERS_AT_ONCE
from tests.support.sample_library import sample_library
from tests.support.serving import BOOK, Service, ask, problem, running

NODE = "What is a node?"
NOBODYS = "550e8400-e29b-41d4-a716-446655440000"
READERS = [
    ("POST", "/chat/run", {"message": NODE}),
    ("POST", "/chat/stream", {"message": NODE}),
    ("POST", "/search", {"text": "nodes"}),
    ("GET", "/threads", None),
    ("GET", f"/threads/{NOBODYS}", None),
    ("DELETE", f"/threads/{NOBODYS}", None),
    ("GET", f"/threads/{NOBODYS}/export", None),
    ("GET", f"/threads/{NOBODYS}/turns/1/events", None),
    ("GET", "/chunks/6ba7b810-9dad-51d1-80b4-00c04fd430c8/context", None),
    ("GET", "/lessons/6ba7b810-9dad-51d1-80b4-00c04fd430c8", None),
    ("GET", "/books", None),
    ("GET", f"/books/{BOOK}", None),
    ("GET", f"/books/{BOOK}/calibration", None),
]


@pytest.fixture
def reader(locked: Service) -> Iterator[httpx.Client]:
    with locked.client(locked.key("chat")) as client:
        yield client


@pytest.mark.parametrize(("method", "path", "body"), READERS)
def test_nothing_without_a_key(locked: Service, method: str, path: str, body: Any) -> None:
    with locked.client() as client:
        response = client.request(method, path, json=body)
    assert "Authorization: Bearer" in problem(response, 401, "key_required")["detail"]
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("secret", ["x", "btb_x_y", "ä" * 40, "btb_' OR 1=1 --_x", "x" * 5000])
def test_a_wrong_key_opens_nothing(locked: Service, secret: str) -> None:
    headers = {b"Authorization": f"Bearer {secret}".encode()}
    with locked.client() as client:
        problem(client.get("/threads", headers=headers), 401, "key_required")


def test_a_revoked_key_opens_nothing_from_then_on(locked: Service) -> None:
    key, secret = locked.run(locked.state.keys.create("short-lived"))
    with locked.client(secret) as client:
        assert client.get("/threads").status_code == 200
        locked.run(locked.state.keys.revoke(key.key_id))
        problem(client.get("/threads"), 401, "key_required")


@pytest.mark.parametrize(("method", "path", "body"), READERS)
def test_the_scope_ingest_alone_reads_nothing(locked: Service, method: str, path: str, body: Any) -> None:
    with locked.client(locked.key("ingest")) as client:
        told = problem(client.request(method, path, json=body), 403, "not_allowed")
    assert "scope 'chat'" in told["detail"]


def test_metrics_are_the_administrators(locked: Service, reader: httpx.Client) -> None:
    problem(reader.get("/metrics"), 403, "not_allowed")
    with locked.client(locked.key("admin")) as administrator:
        assert "bythebook_requests_total" in administrator.get("/metrics").text


def test_another_keys_thread_is_not_there(locked: Service, reader: httpx.Client) -> None:
    thread = ask(reader, NODE)["session_id"]
    with locked.client(locked.key("chat", "ingest", "admin")) as other:
        for method, path, body in (
            ("GET", "", None),
            ("GET", "/export", None),
            ("GET", "/turns/1/events", None),
            ("PATCH", "", {"title": "mine"}),
            ("DELETE", "", None),
        ):
            told = problem(other.request(method, f"/threads/{thread}{path}", json=body), 404, "not_found")
            assert NODE not in str(told)
        problem(other.post("/chat/run", json={"message": NODE, "session_id": thread}), 404, "not_found")
        problem(other.post("/chat/stream", json={"message": NODE, "session_id": thread}), 404, "not_found")
        assert thread not in other.get("/threads").text
    assert len(reader.get(f"/threads/{thread}").json()["turns"]) == 1


def test_another_book_is_not_there(locked: Service, reader: httpx.Client) -> None:
    """Nor its chunks and lessons, nor its name."""
    result = reader.post("/search", json={"text": "nodes"}).json()["results"][0]
    with locked.client(locked.key("chat", "ingest", book_id="another")) as bound:
        for response in (
            bound.post("/search", json={"text": "nodes", "book_id": BOOK}),
            bound.post("/search", json={"text": "nodes"}),
            bound.post("/chat/run", json={"message": NODE, "book_id": BOOK}),
            bound.post("/chat/stream", json={"message": NODE, "book_id": BOOK}),
            bound.post("/chat/run", json={"message": NODE}),
            bound.get(f"/chunks/{result['id']}/context"),
            bound.get(f"/chunks/{result['id']}/context", params={"book_id": BOOK}),
            bound.get(f"/lessons/{result['parent_doc_id']}", params={"book_id": BOOK}),
            bound.get(f"/books/{BOOK}"),
            bound.get(f"/books/{BOOK}/calibration"),
            bound.get("/threads", params={"book_id": BOOK}),
        ):
            told = problem(response, 404, "not_found")
            assert BOOK not in told["detail"] or f"'{BOOK}' for this key" in told["detail"]
        assert bound.get("/books").json() == {"books": []}


def test_a_key_of_a_book_needs_not_name_it(locked: Service) -> None:
    with locked.client(locked.key("chat", book_id=BOOK)) as bound:
        assert bound.post("/search", json={"text": "nodes"}).json()["book_id"] == BOOK
        assert [book["book_id"] for book in bound.get("/books").json()["books"]] == [BOOK]


def test_what_is_the_authors_is_not_shown_to_readers(locked: Service, reader: httpx.Client) -> None:
    with locked.client(locked.key("chat", "ingest")) as author:
        assert author.get("/books").json()["books"][0]["source_root"]
        thread = ask(author, NODE)["session_id"]
        (turn,) = author.get(f"/threads/{thread}").json()["turns"]
        assert turn["trace"]["gate"]["answerable"]
        assert (turn["stale"], turn["stale_since"], turn["stale_labels"]) == (False, None, [])
    assert reader.get("/books").json()["books"][0]["source_root"] is None
    thread = ask(reader, NODE)["session_id"]
    assert reader.get(f"/threads/{thread}").json()["turns"][0]["trace"] is None


def test_a_key_may_make_so_many_requests_a_minute(locked: Service) -> None:
    with locked.client(locked.key("chat", requests_per_minute=3)) as client:
        left = [client.get("/books").headers["ratelimit-remaining"] for _ in range(3)]
        assert left == ["2", "1", "0"]
        response = client.get("/books")
        told = problem(response, 429, "too_many_requests")
        assert "3 requests a minute" in told["detail"]
        assert 1 <= int(response.headers["retry-after"]) <= 61
        assert response.headers["ratelimit-limit"] == "3"
        problem(client.post("/chat/stream", json={"message": NODE}), 429, "too_many_requests")
    with locked.client(locked.key("chat", requests_per_minute=3)) as another:
        assert another.get("/books").status_code == 200


def test_what_is_not_let_in_is_counted_and_what_is_wrong_too(locked: Service) -> None:
    with locked.client(locked.key("ingest", requests_per_minute=2)) as client:
        assert client.get("/books").headers["ratelimit-remaining"] == "1"  # 403
        assert client.post("/search", json={}).headers["ratelimit-remaining"] == "0"
        problem(client.get("/books"), 429, "too_many_requests")


def test_health_and_the_openapi_document_need_no_key(locked: Service) -> None:
    with locked.client() as client:
        assert client.get("/health").json()["status"] == "ready"
        assert client.get("/health/live").status_code == 200
        assert client.get("/openapi.json").status_code == 200


def test_without_keys_only_this_machines_names_are_served(client: httpx.Client) -> None:
    """A page elsewhere can point its own name here; the browser then names it."""
    told = problem(client.get("/threads", headers={"Host": "evil.example"}), 403, "not_allowed")
    assert "127.0.0.1" in told["detail"]
    for strange in ("a{b.evil.example", '"evil.example', "[::1].evil.example", "evil.example:", "localhost:x"):
        problem(client.get("/threads", headers={"Host": strange}), 403, "not_allowed")
    assert client.get("/threads", headers={"Host": "localhost:8000"}).status_code == 200


def test_the_first_key_closes_the_door_and_revoking_it_does_not_open_it(folder: Path) -> None:
    with running(sample_library(folder)) as open_service:
        with open_service.client() as client:
            assert client.get("/threads").status_code == 200
        key, secret = open_service.run(open_service.state.keys.create("the first"))
        with open_service.client(secret) as client:
            assert client.get("/threads").status_code == 200
        open_service.run(open_service.state.keys.revoke(key.key_id))
    with running(folder / "data") as again, again.client() as client:
        problem(client.get("/threads"), 401, "key_required")


def test_each_browser_with_a_public_key_is_a_reader_of_its_own(locked: Service) -> None:
    secret = locked.key("public", book_id=BOOK)
    with locked.client(secret) as one, locked.client(secret) as other:
        answered = one.post("/chat/run", json={"message": NODE})
        one.headers["X-Reader"] = answered.headers["x-reader"]
        thread = answered.json()["session_id"]
        assert [shown["thread_id"] for shown in one.get("/threads").json()["threads"]] == [thread]
        assert "x-reader" not in one.get("/threads").headers
        assert one.post("/chat/run", json={"message": "Why?", "session_id": thread}).status_code == 200
        for token in (
            None,
            "x" * 43,
            other.get("/threads").headers["x-reader"],
            "short",
            answered.headers["x-reader"][:-1] + "?",
        ):
            other.headers.update({"X-Reader": token} if token else {})
            assert other.get("/threads").json()["threads"] == []
            problem(other.get(f"/threads/{thread}"), 404, "not_found")
            problem(other.get(f"/threads/{thread}/export"), 404, "not_found")
            problem(other.delete(f"/threads/{thread}"), 404, "not_found")
            problem(other.post("/chat/run", json={"message": NODE, "session_id": thread}), 404, "not_found")
        assert one.get(f"/threads/{thread}").status_code == 200
        problem(one.get("/jobs"), 403, "not_allowed")
        problem(one.get("/metrics"), 403, "not_allowed")


def test_one_reader_with_a_public_key_does_not_use_up_the_others_pace(locked: Service) -> None:
    key, secret = locked.run(locked.state.keys.create("readers", ("public",), None, 3))
    with locked.client(secret) as greedy, locked.client(secret) as other:
        greedy.headers["X-Reader"] = greedy.get("/threads").headers["x-reader"]
        assert [greedy.get("/threads").status_code for _ in range(3)] == [200, 200, 429]
        assert other.get("/threads").status_code == 200
        locked.run(use_up(locked, key.key_id, READERS_AT_ONCE * 3))
        assert other.get("/threads").status_code == 429, "a reader who takes a new name each time is stopped by the pace of all"


async def use_up(service: Service, key_id: str, per_minute: int) -> None:
    """As many readers do together, and at once: over HTTP it could take longer than the minute that is counted."""
    for _ in range(per_minute):
        await service.state.limiter.count(key_id, per_minute)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.7"},
        {"Forwarded": "for=203.0.113.7"},
        {"X-Real-IP": "203.0.113.7"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ],
)
def test_without_keys_neither_a_proxy_nor_another_sites_page_is_answered(client: httpx.Client, headers: dict[str, str]) -> None:
    problem(client.get("/threads", headers=headers), 403, "not_allowed")
    problem(client.post("/jobs/1/retry", headers=headers), 403, "not_allowed")


def test_without_keys_the_servers_own_page_is_answered(client: httpx.Client) -> None:
    origin = str(client.base_url).rstrip("/")
    assert client.get("/threads", headers={"Origin": origin}).status_code == 200


def test_what_was_counted_is_not_for_a_key_of_one_book(locked: Service) -> None:
    with locked.client(locked.key("admin", book_id=BOOK)) as bound, locked.client(locked.key("admin")) as whole:
        problem(bound.get("/metrics"), 403, "not_allowed")
        assert whole.get("/metrics").status_code == 200


def test_an_expired_key_is_told_when_it_ended(locked: Service) -> None:
    key, secret = locked.run(locked.state.keys.create("for a term", limits=KeyLimits(days=1)))
    ended = update(keys).where(keys.c.key_id == key.key_id).values(expires_at=datetime(2026, 1, 2, tzinfo=UTC))
    with locked.client(secret) as client:
        assert client.get("/threads").status_code == 200
        locked.run(locked.state.resources.database.run(lambda connection: connection.execute(ended)))
        told = problem(client.get("/threads"), 401, "key_required")
    assert told["detail"] == f"The key {key.key_id} expired on 2026-01-02. Make another: bythebook keys create"


def test_a_key_beyond_its_day_waits_until_midnight(locked: Service) -> None:
    limits = KeyLimits(requests_per_day=2, tokens_per_day=50, streams_at_once=1)
    _, secret = locked.run(locked.state.keys.create("a little", ("chat",), limits=limits))
    with locked.client(secret) as client:
        ask(client, NODE)
        ask(client, NODE)  # the slot of the first was given back
        refused = client.get("/threads")
        assert "2 requests a day" in problem(refused, 429, "too_many_requests")["detail"]
        assert 0 < int(refused.headers["retry-after"]) <= 86_400
    more, secret = locked.run(locked.state.keys.create("more", ("chat",), limits=replace(limits, requests_per_day=None)))
    with locked.client(secret) as client:
        give_back = locked.state.quotas.take_slot(more)
        busy = client.post("/chat/stream", json={"message": NODE})
        assert "answers under way" in problem(busy, 429, "too_many_requests")["detail"]
        assert client.get("/threads").status_code == 200
        give_back()
        locked.run(locked.state.quotas.spend(more.key_id, 50))
        for path in ("/chat/run", "/chat/stream"):
            spent = client.post(path, json={"message": NODE})
            assert "50 tokens of the model a day" in problem(spent, 429, "too_many_requests")["detail"]
        assert client.post("/search", json={"text": "nodes"}).status_code == 200


def test_the_audit_log_is_the_administrators_of_all_books(locked: Service, reader: httpx.Client) -> None:
    thread = ask(reader, NODE)["session_id"]
    assert reader.delete(f"/threads/{thread}").status_code == 204
    problem(reader.get("/audit"), 403, "not_allowed")
    with locked.client(locked.key("admin", book_id=BOOK)) as bound:
        problem(bound.get("/audit"), 403, "not_allowed")
    with locked.client(locked.key("admin")) as admin:
        first = admin.get("/audit", params={"limit": 3}).json()
        (deleted,) = [one for one in first["entries"] if one["action"] == "thread deleted"]
        assert (deleted["subject"], deleted["actor"][:4]) == (thread, "key ")
        assert "node" not in str(deleted)
        rest = admin.get("/audit", params={"before": first["next"]}).json()["entries"]
        assert rest[0]["entry_id"] < first["entries"][-1]["entry_id"]


def test_a_client_exports_and_erases_its_own_users_and_nobody_elses(locked: Service) -> None:
    with (
        locked.client(locked.key("chat")) as site,
        locked.client(locked.key("chat")) as other,
        locked.client(locked.key("admin")) as admin,
    ):
        ask(site, NODE, metadata={"user_id": "ada"})
        completion = {"model": BOOK, "user": "ada", "messages": [{"role": "user", "content": NODE}]}
        assert site.post("/v1/chat/completions", json=completion).status_code == 200
        ask(site, NODE, metadata={"user_id": "bob"})
        ask(other, NODE, metadata={"user_id": "ada"})
        told = site.get("/personal-data", params={"user_id": "ada"})
        assert [json.loads(line)["user_id"] for line in told.text.splitlines()] == ["ada", "ada"]
        problem(site.delete("/personal-data", params={"user_id": "ada"}), 422, "needs_consent")
        erased = site.delete("/personal-data", params={"user_id": "ada", "yes": True})
        assert erased.json() == {"threads": 2, "key_erased": False}
        problem(site.delete("/personal-data", params={"user_id": "ada", "yes": True}), 404, "not_found")
        assert [len(client.get("/threads").json()["threads"]) for client in (site, other)] == [1, 1]
        assert admin.delete("/personal-data", params={"user_id": "ada", "yes": True}).json()["threads"] == 1
        assert site.delete("/personal-data", params={"key_id": "of another", "yes": True}).json() == {
            "threads": 1,
            "key_erased": False,
        }
        assert site.get("/threads").json()["threads"] == []


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("a socket", "a socket"),
    ],
)
def test_a_reader_without_a_key_is_counted_by_the_network_he_has(host: str, network: str) -> None:
    """One who has a network of IPv6 has more addresses than there are readers, and would use up what all have together."""
    assert network_of(host) == network
