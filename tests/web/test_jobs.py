"""Jobs over HTTP: ordered, followed, ended; and pushes that a forge tells of."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bythebook.jobs.model import Folder, Order
from bythebook.jobs.store import Jobs
from bythebook.settings import read_settings
from bythebook.wiring.author import open_database
from tests.support.hall import write_listings
from tests.support.library import fast_folder
from tests.support.repository import Repository
from tests.support.serving import Service, events, problem, running
from tests.support.site_server import Site, serving_site
from tests.support.small_book import write

SECRET = "a secret that GitHub knows too"
D_FIELDS = {
    *("job_id", "book_id", "mode", "status", "files_processed", "files_skipped", "chunks_created", "chunks_deleted"),
    *("started_at", "completed_at", "duration_seconds", "error_message"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """A service that takes books from a folder of roots and from a repository, and needs keys."""

    service: Service
    roots: Path
    repository: Repository
    site: Site
    client: httpx.Client

    def ended(self, job: dict[str, Any]) -> dict[str, Any]:
        while job["status"] in ("queued", "running"):
            time.sleep(0.05)
            job = self.client.get(f"/jobs/{job['job_id']}").json()
        return job

    def tell(self, body: dict[str, Any], *, event: str = "push", secret: str = SECRET) -> httpx.Response:
        """As GitHub does."""
        content = json.dumps(body).encode()
        signature = "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": signature, "X-GitHub-Event": event, "Content-Type": "application/json"}
        with self.service.client() as anyone:
            return anyone.post("/webhooks/github", content=content, headers=headers)

    def push(self, branch: str = "main") -> dict[str, Any]:
        return {"ref": f"refs/heads/{branch}", "repository": {"clone_url": self.repository.url}}


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    folder = fast_folder()
    write_listings(folder / "roots" / "listings", book_id="listings", lessons=2)
    repository = Repository(folder / "origin")
    for path in [*repository.work.glob("module-*"), repository.work / "glossary.md"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    repository.edit("only.md", "# Only\n\nThe pump primes itself when the valve is open.\n")
    given = {
        "source_roots": str(folder / "roots"),
        "git_sources": f"pushed={repository.url}#main",
        "git_private": "true",
        "github_webhook_secret": SECRET,
    }
    with (
        serving_site() as site,
        running(folder / "data", loopback=False, site_sources=f"paged-book={site.url}/book/", **given) as service,
        service.client(service.key("ingest", "chat")) as client,
    ):
        yield Forge(service=service, roots=folder / "roots", repository=repository, site=site, client=client)
    shutil.rmtree(folder)


def test_a_sites_pages_become_searchable_and_only_a_changed_one_is_read_again(forge: Forge) -> None:
    forge.site.page("/book/", "The winch lifts nine tons.", "/book/arms/", "/book/gone/")
    forge.site.page("/book/arms/", "An elbow bends in one plane.")
    order = {"source": {"site": f"{forge.site.url}/book"}}
    job = forge.ended(forge.client.post("/books/paged-book/jobs", json=order).json())
    assert (job["status"], job["files_processed"], job["source"]) == ("completed", 2, {"site": f"{forge.site.url}/book/"})
    assert [one["message"] for one in job["report"]["warnings"] if one["field"] == "site"] == [
        f"{forge.site.url}/book/gone/ answers 404; it was not read."
    ]
    (found, *_) = forge.client.post("/search", json={"book_id": "paged-book", "text": "what does the winch lift"}).json()[
        "results"
    ]
    assert found["source_url"] == f"{forge.site.url}/book/"
    forge.site.page("/book/arms/", "An elbow bends in two planes.")
    again = forge.ended(forge.client.post("/books/paged-book/jobs", json={}).json())
    assert (again["status"], again["files_processed"], again["files_skipped"]) == ("completed", 1, 1)


def test_a_job_is_ordered_done_by_the_services_own_worker_and_told_with_ds_fields(forge: Forge) -> None:
    said = {"title": "Listings of the hall", "language": "de", "base_url": "https://hall.example", "site": "mkdocs"}
    ordered = forge.client.post("/books/listings/jobs", json={"source": {"folder": "listings"}, **said})
    assert ordered.status_code == 202
    job = ordered.json()
    assert ordered.headers["Location"] == f"/jobs/{job['job_id']}"
    done = forge.ended(job)
    assert done.keys() >= D_FIELDS
    assert (done["status"], done["files_processed"], done["files_total"], done["error_message"]) == ("completed", 2, 2, None)
    assert "owner" not in done
    again = forge.ended(forge.client.post("/books/listings/jobs", json={}).json())
    assert (again["files_processed"], again["files_skipped"], again["source"]) == (0, 2, done["source"])
    book = forge.client.get("/books/listings").json()
    assert (book["title"], book["language"]) == ("Listings of the hall", "de")
    wrong = forge.client.post("/books/listings/jobs", json={"site": "sphynx"})
    assert "must be one of docusaurus" in problem(wrong, 422, "invalid_input")["detail"]


def test_a_job_is_followed_to_its_end(forge: Forge) -> None:
    job = forge.client.post("/books/followed/jobs", json={"source": {"folder": "listings"}}).json()
    with forge.client.stream("GET", f"/jobs/{job['job_id']}/events") as following:
        assert following.headers["content-type"].startswith("text/event-stream")
        text = "".join(following.iter_text())
    names = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]
    assert names[-1] == "done"
    assert set(names[:-1]) == {"job"}
    last = json.loads(text.rpartition("data: ")[2].splitlines()[0])
    assert (last["job_id"], last["status"]) == (job["job_id"], "completed")


def test_a_stream_that_the_servers_end_cuts_short_says_so(folder: Path) -> None:
    job_id = asyncio.run(taken_elsewhere(folder / "data"))
    with running(folder / "data") as service, service.client() as client:
        with client.stream("GET", f"/jobs/{job_id}/events") as following:
            coming = following.iter_text()
            text = next(coming)
            service.loop.call_soon_threadsafe(service.state.stopping.set)
            told = events(text + "".join(coming))
        assert [one.name for one in told] == ["job", "error"]
        assert (told[-1].data["code"], told[-1].id) == ("stopping", f"{job_id}/1")
        problem(client.get(f"/jobs/{job_id}/events"), 503, "stopping")


async def taken_elsewhere(data_dir: Path) -> int:
    """A job that a worker on another machine has just taken."""
    async with open_database(read_settings(data_dir=data_dir)) as database:
        jobs = Jobs(database)
        await jobs.queue(Order(book_id="small", source=Folder(path=data_dir), mode="incremental"))
        job = await jobs.claim("a worker", "elsewhere")
        assert job
        return job.job_id


def test_jobs_are_listed_page_by_page(forge: Forge) -> None:
    for number in range(3):
        write_listings(forge.roots / f"page-{number}", lessons=1)
        job = forge.client.post("/books/paged/jobs", json={"source": {"folder": f"page-{number}"}}).json()
    forge.ended(job)
    first = forge.client.get("/jobs", params={"book_id": "paged", "limit": 2}).json()
    rest = forge.client.get("/jobs", params={"book_id": "paged", "before": first["next"]}).json()
    assert [len(first["jobs"]), len(rest["jobs"]), rest["next"]] == [2, 1, None]
    assert forge.client.get("/jobs", params={"status": "queued"}).json()["jobs"] == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"source": {"folder": "../data"}}, "BYTHEBOOK_SOURCE_ROOTS"),
        ({"source": {"folder": "/etc"}}, "BYTHEBOOK_SOURCE_ROOTS"),
        ({"source": {"git": "https://elsewhere.example/book"}}, "BYTHEBOOK_GIT_SOURCES"),
        ({"source": {"site": "https://elsewhere.example/book/"}}, "BYTHEBOOK_SITE_SOURCES"),
        ({"source": {"site": "http://169.254.169.254/latest/"}}, "BYTHEBOOK_SITE_SOURCES"),
        ({}, "Say where"),
        ({"mode": "partial"}, "mode"),
    ],
)
def test_what_cannot_be_ordered_says_why(forge: Forge, body: dict[str, Any], says: str) -> None:
    refused = forge.client.post("/books/nowhere/jobs", json=body)
    assert refused.status_code == 422
    assert says in refused.json()["detail"]


def test_a_key_of_one_book_orders_from_that_books_folders_alone(forge: Forge) -> None:
    write_listings(forge.roots / "mine", book_id="mine", lessons=1)
    (forge.roots / "mine" / "way-out").symlink_to(forge.roots / "listings")
    with forge.service.client(forge.service.key("ingest", book_id="mine")) as bound:
        for folder in ("listings", str(forge.roots / "listings"), "mine/way-out", "mine/../listings", "."):
            refused = bound.post("/books/mine/jobs", json={"source": {"folder": folder}})
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input"), folder
        assert bound.post("/books/mine/jobs", json={"source": {"folder": "mine"}}).status_code == 202
    assert forge.client.post("/books/mine/jobs", json={"source": {"folder": "listings"}}).status_code == 202


def test_a_folder_name_longer_than_any_is_no_folder(forge: Forge) -> None:
    refused = forge.client.post("/books/long/jobs", json={"source": {"folder": "a" * 900}})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


def test_a_folder_that_is_no_book_is_a_failed_job_that_can_be_tried_again(forge: Forge) -> None:
    (forge.roots / "empty").mkdir()
    failed = forge.ended(forge.client.post("/books/empty/jobs", json={"source": {"folder": "empty"}}).json())
    assert (failed["status"], failed["cancelled"]) == ("failed", False)
    assert "empty" in failed["error_message"]
    write(forge.roots / "empty", "one.md", "# One\n\nNot empty any more.\n")
    again = forge.client.post(f"/jobs/{failed['job_id']}/retry")
    assert again.status_code == 202
    assert forge.ended(again.json())["status"] == "completed"


def test_a_job_takes_a_books_place_or_its_lessons_only_when_that_is_said(forge: Forge) -> None:
    first = write_listings(forge.roots / "first", book_id="placed", lessons=3)
    write_listings(forge.roots / "second", book_id="placed", lessons=3)

    def order(source: str, **given: Any) -> dict[str, Any]:
        return forge.ended(forge.client.post("/books/placed/jobs", json={"source": {"folder": source}, **given}).json())

    assert order("first")["status"] == "completed"
    refused = order("second")
    assert (refused["status"], refused["source"]) == ("failed", {"folder": str(forge.roots / "second")})
    assert f"The book 'placed' comes from {first}, and this is" in refused["error_message"]
    for path in [*first.rglob("*.md")][1:]:
        path.unlink()
    assert "This would remove 2 of the 3 lessons of 'placed'" in order("first")["error_message"]
    assert order("first", yes=True)["chunks_deleted"] > 0
    assert order("second", replace=True)["status"] == "completed"


def test_cancelling_is_heard_and_what_is_done_stays_done(forge: Forge) -> None:
    job = forge.ended(forge.client.post("/books/listings/jobs", json={"source": {"folder": "listings"}}).json())
    cancelled = forge.client.delete(f"/jobs/{job['job_id']}")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "completed")
    for method, path in (("GET", "/jobs/999999"), ("DELETE", "/jobs/999999"), ("POST", "/jobs/999999/retry")):
        assert forge.client.request(method, path).status_code == 404


def test_only_authors_and_only_of_their_book(forge: Forge) -> None:
    job = forge.ended(forge.client.post("/books/listings/jobs", json={"source": {"folder": "listings"}}).json())
    with forge.service.client() as anyone:
        assert anyone.get("/jobs").status_code == 401
    with forge.service.client(forge.service.key("chat")) as reader:
        assert reader.post("/books/listings/jobs", json={}).status_code == 403
    with forge.service.client(forge.service.key("ingest", book_id="other")) as foreigner:
        assert foreigner.post("/books/listings/jobs", json={}).status_code == 404
        assert foreigner.get(f"/jobs/{job['job_id']}").status_code == 404
        assert foreigner.delete(f"/jobs/{job['job_id']}").status_code == 404
        assert foreigner.get("/jobs").json()["jobs"] == []


def test_a_push_becomes_searchable(forge: Forge) -> None:
    said = forge.tell(forge.push())
    assert said.status_code == 202
    (job_id,) = said.json()["job_ids"]
    first = forge.ended(forge.client.get(f"/jobs/{job_id}").json())
    assert (first["status"], first["error_message"]) == ("completed", None)
    forge.repository.edit("only.md", "# Only\n\nThe turbine spins backwards on Sundays.\n", force=True)
    (job_id,) = forge.tell(forge.push()).json()["job_ids"]
    assert forge.ended(forge.client.get(f"/jobs/{job_id}").json())["chunks_created"] == 1
    found = forge.client.post("/search", json={"text": "turbine spins", "book_id": "pushed"}).json()
    assert "turbine" in found["results"][0]["text"]


def test_a_push_told_twice_is_one_job_or_two_that_agree(forge: Forge) -> None:
    ids = {job_id for _ in range(5) for job_id in forge.tell(forge.push()).json()["job_ids"]}
    jobs = [forge.ended(forge.client.get(f"/jobs/{job_id}").json()) for job_id in ids]
    assert {job["status"] for job in jobs} == {"completed"}
    assert len(ids) < 5


@pytest.mark.parametrize("secret", ["another", ""])
def test_a_push_with_another_signature_is_not_believed(forge: Forge, secret: str) -> None:
    refused = forge.tell(forge.push(), secret=secret)
    assert refused.status_code == 401
    assert SECRET not in refused.text
    with forge.service.client() as anyone:
        assert anyone.post("/webhooks/github", json=forge.push()).status_code == 401


def test_a_signed_push_that_is_nested_without_end_is_no_push(forge: Forge) -> None:
    content = b"[" * 500_000
    signature = "sha256=" + hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
    with forge.service.client() as anyone:
        headers = {"X-Hub-Signature-256": signature, "X-GitHub-Event": "push"}
        refused = anyone.post("/webhooks/github", content=content, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


def test_pushes_that_concern_no_book(forge: Forge) -> None:
    foreign = {**forge.push(), "repository": {"clone_url": "https://elsewhere.example/book.git"}}
    assert forge.tell(foreign).status_code == 404
    assert forge.tell({**forge.push(), "repository": None}).status_code == 404
    for told in (forge.tell(forge.push("draft")), forge.tell({}, event="ping"), forge.tell({**forge.push(), "deleted": True})):
        assert (told.status_code, told.json()["job_ids"]) == (202, [])


def test_a_service_without_a_secret_takes_no_webhooks(locked: Service) -> None:
    with locked.client() as anyone:
        assert anyone.post("/webhooks/github", json={}).status_code == 404
