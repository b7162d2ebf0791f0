"""Whether it can serve, and what it has counted."""

from __future__ import annotations

import re

import httpx

from tests.support.serving import ask, stream

NODE = "What is a node?"


def counted(client: httpx.Client, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_health_names_every_part(client: httpx.Client) -> None:
    told = client.get("/health").json()
    assert (told["status"], told["checks"]) == ("ready", {"index": "ok", "database": "ok", "worker": "ok"})
    assert client.get("/health/live").json() == {"status": "alive"}


def test_requests_answers_and_refusals_are_counted(client: httpx.Client) -> None:
    names = (
        'bythebook_requests_total{method="POST",route="/chat/run",status="200"}',
        'bythebook_answers_total{confidence="high"}',
        'bythebook_refusals_total{reason="off_topic"}',
        'bythebook_request_seconds_count{route="/chat/stream"}',
        "bythebook_retrieval_seconds_count",
    )
    before = [counted(client, name) for name in names]
    assert ask(client, NODE)["confidence_level"] == "high"
    ask(client, "How do I bake sourdough bread?")
    stream(client, NODE)
    assert [counted(client, name) - old for name, old in zip(names, before, strict=True)] == [2, 2, 1, 1, 3]


def test_metrics_have_no_label_that_a_client_chooses(client: httpx.Client) -> None:
    client.get("/of-a-clients-choosing")
    client.get("/threads/550e8400-e29b-41d4-a716-446655440000")
    text = client.get("/metrics").text
    assert "of-a-clients-choosing" not in text
    assert "550e8400" not in text
    assert 'route="/threads/{thread_id}"' in text


def test_the_queue_is_told(client: httpx.Client) -> None:
    text = client.get("/metrics").text
    assert 'bythebook_jobs{status="queued"} 0.0' in text
    assert 'bythebook_jobs{status="running"} 0.0' in text


def test_the_head_of_what_can_be_got(client: httpx.Client) -> None:
    for path in ("/health", "/books", "/"):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
    assert client.head("/search").status_code == 405
    assert client.head("/jobs/1/events").status_code == 405
