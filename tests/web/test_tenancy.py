"""Every crossing between tenants, made from the OpenAPI document: each operation, asked by keys that it is not for, of resources
that are another's. What is another's is not there, and nothing of it is told or changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from bythebook.web.routes import page
from bythebook.wiring import reader
from tests.support.library import copy_library
from tests.support.lighthouse import WICK, make_embedder, published, write_lighthouse
from tests.support.serving import Service, ask, running, silent

OURS, THEIRS = "light", "other"
STRANGERS = {
    "chat of another book": (("chat",), THEIRS),
    "public of another book": (("public",), THEIRS),
    "ingest of another book": (("ingest",), THEIRS),
    "ingest and chat of another book": (("ingest", "chat"), THEIRS),
    "admin of another book": (("admin",), THEIRS),
    "chat of any book, another reader's": (("chat",), None),
    "public of any book, another reader's": (("public",), None),
}


def _given(place: str, fields: Iterable[Any]) -> list[dict[str, str]]:
    return [{"name": one.name, "in": place} for one in fields]


OPEN = {"/health", "/health/live", "/webhooks/github"}
"""What asks for no key, or for a signature in its place."""
OF_THE_PAGE = {
    route.path: {
        "get": {"parameters": [*_given("path", route.dependant.path_params), *_given("query", route.dependant.query_params)]}
    }
    for route in page.router.routes
    if isinstance(route, APIRoute) and route.path not in ("/", "/page/{name}")
}
"""The page's own routes, which the document leaves out."""
ALLOWED = {401, 403, 404, 422}
"""422: the request was refused before anybody looked for what it names."""
SECRETS = ("every four hours", "Keeping a Lighthouse", "wick")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """What belongs to a reader of the lighthouse: each value of a path, query or body that names it."""

    service: Service
    names: dict[str, str]
    document: dict[str, Any]


@pytest.fixture(scope="module")
def tenant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    folder = tmp_path_factory.mktemp("tenancy")
    root = write_lighthouse(folder / "roots" / OURS)
    copy_library(published() / "data", folder / "data", root=root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "open_embedder", lambda _: make_embedder())
        with silent(), running(folder / "data", loopback=False, source_roots=str(folder / "roots")) as service:
            owner = service.key("admin", book_id=OURS)
            with service.client(owner) as client:
                thread = ask(client, WICK, metadata={"user_id": "ada"})["session_id"]
                found = client.post("/search", json={"text": "trim the wick"}).json()["results"][0]
                token = client.post(f"/threads/{thread}/turns/1/share").json()["token"]
                job = client.post(f"/books/{OURS}/jobs", json={"source": {"folder": OURS}}).json()["job_id"]
                assert "event: done" in client.get(f"/jobs/{job}/events").text
            names = {
                "book_id": OURS,
                "model": OURS,
                "thread_id": thread,
                "session_id": thread,
                "chunk_id": found["id"],
                "parent_doc_id": found["parent_doc_id"],
                "job_id": str(job),
                "number": "1",
                "token": token,
                "turn": "1",
                "user_id": "ada",
                "key_id": owner.split("_")[1],
                "path": "module-1-lamp/chapter-1-the-light/01-wicks.md",
            }
            with service.client() as anyone:
                document = anyone.get("/openapi.json").json()
            yield Tenant(service=service, names=names, document=document)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in {**document["paths"], **OF_THE_PAGE}.items():
        for method, operation in methods.items():
            if path not in OPEN and ("{" in path or _names_a_resource(operation)):
                yield method.upper(), path, operation


def _names_a_resource(operation: dict[str, Any]) -> bool:
    return any(one["name"] in ("book_id", "user_id", "key_id") for one in operation.get("parameters", ()))


def request(tenant: Tenant, path: str, operation: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The path and query that name what is the tenant's."""
    given = [one for one in operation.get("parameters", ()) if one["in"] in ("path", "query")]
    unknown = [one["name"] for one in given if one["in"] == "path" and one["name"] not in tenant.names]
    assert not unknown, f"{path} names {unknown}: say here what of it is the tenant's"
    for one in given:
        path = path.replace(f"{{{one['name']}}}", tenant.names.get(one["name"], ""))
    query = {one["name"]: tenant.names[one["name"]] for one in given if one["in"] == "query" and one["name"] in tenant.names}
    return path, {**query, "yes": "true"} if any(one["name"] == "yes" for one in given) else query


def bodies(tenant: Tenant) -> list[dict[str, Any]]:
    """All that a body could name of the tenant's."""
    return [
        {},
        {"message": WICK, "book_id": OURS},
        {"message": WICK, "session_id": tenant.names["thread_id"]},
        {"text": "trim the wick", "book_id": OURS},
        {"title": "Mine now"},
        {"source": {"folder": OURS}},
        {"model": OURS, "messages": [{"role": "user", "content": WICK}]},
    ]


def contents(tenant: Tenant) -> dict[str, Any]:
    """All rows that are the tenant's, but for those that count."""
    file = tenant.service.state.resources.database.file
    assert file is not None
    with closing(sqlite3.connect(Path(file))) as database:
        return {
            table: database.execute(f"SELECT * FROM {table} WHERE {column} = ?", (tenant.names[name],)).fetchall()
            for table, column, name in (
                ("threads", "thread_id", "thread_id"),
                ("messages", "thread_id", "thread_id"),
                ("turns", "thread_id", "thread_id"),
                ("books", "book_id", "book_id"),
                ("ingestion_records", "book_id", "book_id"),
            )
        }


@pytest.mark.parametrize("stranger", STRANGERS)
def test_no_key_of_another_crosses(tenant: Tenant, stranger: str) -> None:
    scopes, book_id = STRANGERS[stranger]
    bound, before, tried = book_id is not None, contents(tenant), 0
    with tenant.service.client(tenant.service.key(*scopes, book_id=book_id)) as client:
        for (method, path, operation), body in product(operations(tenant.document), bodies(tenant)):
            if not bound and not ({"thread_id", "user_id", "key_id"} & {one["name"] for one in operation.get("parameters", ())}):
                continue  # a key for any book may read the book
            where, query = request(tenant, path, operation)
            response = _send(client, method, where, query, body)
            told = f"{stranger}: {method} {where} {query} {body} is {response.status_code}: {response.text[:300]}"
            assert response.status_code in ALLOWED or _tells_nothing(response), told
            assert response.status_code < 500, told
            assert not any(secret in response.text for secret in SECRETS if secret not in json.dumps(body)), told
            tried += 1
    print(f"\n{stranger}: {tried} requests")
    assert tried > 20
    assert contents(tenant) == before


def _send(client: httpx.Client, method: str, where: str, query: dict[str, str], body: dict[str, Any]) -> httpx.Response:
    if method in ("GET", "DELETE", "HEAD"):
        return client.request(method, where, params=query)
    return client.request(method, where, params=query, json=body)


def _tells_nothing(response: httpx.Response) -> bool:
    """An empty list is an answer too: of what is the stranger's own, which is nothing."""
    if response.status_code != 200:
        return False
    text = response.text.strip()
    return not text or json.loads(text) in ({"threads": [], "next": None}, {"jobs": [], "next": None}, {"books": []}, [])


def test_every_operation_that_names_something_is_tried(tenant: Tenant) -> None:
    tried = {path for _, path, _ in operations(tenant.document)}
    assert {path for path in tenant.document["paths"] if "{" in path} <= tried
    assert {"/personal-data", "/page/lessons/{parent_doc_id}", "/page/pictures/{book_id}"} <= tried
