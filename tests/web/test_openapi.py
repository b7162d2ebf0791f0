"""The OpenAPI document: enough to hold a conversation by, and true of every answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bythebook.web.access import READER_HEADER
from tests.support.serving import BOOK, Service
from tests.support.soak import soak_size

TALK = [
    "What is a node?",
    "How do they communicate?",
    "What is a topic?",
    "Tell me more about it.",
    "What is a quaternion?",
    "Why is it used?",
    "How do I bake bread?",
    "What is domain randomization?",
    "Why does it help?",
    "What does the second source say?",
]
OWN_WAYS = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
"""Schemathesis uses `random` in its strategies, which hypothesis does not like."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_a_client_that_knows_only_the_document_can_hold_a_conversation(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    path, operation = next(
        (path, methods["post"]) for path, methods in document["paths"].items() if path.startswith("/chat") and "post" in methods
    )
    request = resolved(document, operation["requestBody"]["content"]["application/json"]["schema"])
    response = resolved(document, operation["responses"]["200"]["content"]["application/json"]["schema"])
    (required,) = request["required"]
    (carried,) = set(request["properties"]) & set(response["properties"])
    asked: dict[str, Any] = {}
    turns = []
    for message in TALK:
        told = client.post(path, json={**asked, required: message})
        assert told.status_code == 200, told.text
        assert set(response["required"]) <= told.json().keys()
        asked[carried] = told.json()[carried]
        turns.append(told.json())
    assert len({told[carried] for told in turns}) == 1
    assert [told["turn"] for told in turns] == list(range(1, 11))
    assert "topic" in turns[3]["answer"]["question"].lower()
    assert "quaternion" in turns[5]["answer"]["question"].lower()
    assert [told["should_answer"] for told in turns[:3]] == [True] * 3
    assert turns[6]["should_answer"] is False


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = schema["$ref"].rpartition("/")[2]
    found: dict[str, Any] = document["components"]["schemas"][name]
    return found


def test_the_document_names_every_route_of_the_contract(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for path, methods in {
        "/chat/run": {"post"},
        "/chat/stream": {"post"},
        "/threads": {"get"},
        "/threads/{thread_id}": {"get", "delete", "patch"},
        "/search": {"post"},
        "/chunks/{chunk_id}/context": {"get"},
        "/lessons/{parent_doc_id}": {"get"},
        "/books": {"get"},
        "/books/{book_id}/jobs": {"post"},
        "/jobs": {"get"},
        "/jobs/{job_id}": {"get", "delete"},
        "/jobs/{job_id}/events": {"get"},
        "/webhooks/github": {"post"},
        "/health": {"get"},
        "/metrics": {"get"},
    }.items():
        assert paths[path].keys() >= methods, path
    assert not any(path.startswith("/local") for path in paths)


def test_every_operation_is_described_and_its_errors_are_problems(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert "ValidationError" not in str(document["components"]["schemas"].keys())
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation.get("summary"), (method, path)
            refused = operation["responses"].get("422")
            assert refused is None or "application/problem+json" in refused["content"], (method, path)


def fuzz(service: Service, examples: int, *scopes: str, known: bool = False) -> Counter[int]:
    """How often each status was answered. None may be a 500, or otherwise than the document says. `known`: also with paths that
    name something that is there."""
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    counted: Counter[int] = Counter()
    secrets = [service.key(scope, requests_per_minute=10_000) for scope in scopes]
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]  # an operation that cannot be read fails here
        for secret in secrets:
            fuzz_operation(service, secret, operation.as_strategy(), examples, counted)
            if known and operation.path_parameters and (operation.method, operation.path) != ("delete", "/books/{book_id}"):
                there = what_is_there(service, secret)
                fuzz_operation(service, secret, operation.as_strategy(), examples, counted, there)
            with suppress(Unsatisfiable):  # nothing can be asked wrongly of what takes nothing
                fuzz_operation(service, secret, operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), examples, counted)
        if known:  # a long run that is cut off has said how far it came
            print(f"{counted.total():,} requests after {operation.method.upper()} {operation.path}", flush=True)
    return counted


def what_is_there(service: Service, secret: str) -> dict[str, Any]:
    """Values of path parameters that name something: a thread of this key, a turn that it shares, a job and a passage."""
    with service.client(secret) as client:
        asked = client.post("/chat/run", json={"message": TALK[0], "book_id": BOOK})
        if asked.status_code != 200:  # a key that may not ask
            return {"book_id": BOOK, "job_id": 1}
        told, reader = asked.json(), asked.headers.get(READER_HEADER, "")
        client.headers[READER_HEADER] = reader
        thread, source = told["session_id"], told["answer"]["citations"][0]
        return {
            READER_HEADER: reader,
            "book_id": BOOK,
            "model": BOOK,
            "job_id": 1,
            "thread_id": thread,
            "number": 1,
            "token": client.post(f"/threads/{thread}/turns/1/share").json()["token"],
            "chunk_id": source["chunk_id"],
            "parent_doc_id": client.get(f"/chunks/{source['chunk_id']}/context").json()["chunk"]["parent_doc_id"],
        }


def fuzz_operation(
    service: Service, secret: str, strategy: Any, examples: int, counted: Counter[int], there: Mapping[str, Any] | None = None
) -> None:
    """`there`: what the path names is there, and only the rest is made up."""
    headers = {"Authorization": f"Bearer {secret}", READER_HEADER: (there or {}).get(READER_HEADER, "")}

    @settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def ask(case: Any) -> None:
        if there:
            case.path_parameters = {name: there.get(name, value) for name, value in case.path_parameters.items()}
        response = case.call(base_url=service.url, headers=headers, timeout=300)
        counted[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    ask()


@OWN_WAYS
def test_nothing_the_document_allows_breaks_the_server(locked: Service) -> None:
    assert fuzz(locked, 2, "admin").total() > 50


@OWN_WAYS
@pytest.mark.soak
def test_nothing_the_document_allows_breaks_the_server_at_length(locked: Service) -> None:
    """With keys of all scopes. Some operations take nothing and are asked once, so the others are asked more often."""
    told: Counter[int] = Counter()
    wanted, examples = soak_size(20_000), soak_size(50, least=2)
    while told.total() < wanted:
        told += fuzz(locked, examples, "admin", "chat", "ingest", "public", known=True)
        examples *= 2
    statuses = ", ".join(f"{count:,} × {status}" for status, count in sorted(told.items()))
    print(f"\n{told.total():,} requests, none broke it: {statuses}")
