"""Ingestion over HTTP: start a job, follow it, cancel it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from bythebook.books.model import BookOptions, Failure
from bythebook.errors import InvalidInput, NotFound
from bythebook.ingestion.request import Consent, Mode
from bythebook.jobs.model import Folder, Job, JobStatus, Order, Repository, Source, Website
from bythebook.jobs.sources import same_repository, under_roots, without_password
from bythebook.jobs.view import job_to_plain
from bythebook.settings import GitSource, SiteSource
from bythebook.web.access import Author, Principal
from bythebook.web.problems import ERRORS, ShuttingDown
from bythebook.web.requests import BookId
from bythebook.web.responses import json_response, write
from bythebook.web.state import Current, State
from bythebook.web.stream import Event, ReaderGone, begin, described_stream

router = APIRouter(tags=["jobs"], responses=ERRORS)

LARGEST_ID = 2**31 - 1
LOOKED_AT_SECONDS = 0.5
EVENTS = (
    "`job` whenever something about it has changed, then `done` when it has ended. Each carries the whole job."
    " What keeps it from being followed further is `error` with a Problem, and the last event."
)
JobId = Annotated[int, InPath(ge=1, le=LARGEST_ID, description="The job's number.")]


Said = Annotated[str, Field(max_length=500)] | None
"""An empty text removes what an earlier job set."""


class SourceRequest(BaseModel):
    """Where the book comes from. `folder`: below one of the service's source roots. `git`, `site`: a repository or site that is
    configured for the book."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    folder: Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]+$")] | None = None
    git: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    branch: Annotated[str, Field(min_length=1, max_length=250)] | None = None
    site: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class JobRequest(BaseModel):
    """What to ingest, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    mode: Mode = "incremental"
    source: SourceRequest | None = Field(None, description="Default: the book's configured repository, or where it came from.")
    replace: bool = Field(False, description="Put this source in the place of the one that the book came from.")
    yes: bool = Field(False, description="Let more than a third of the book's lessons go.")
    title: Said = Field(None, description="The book's title. This and the next four go before the book's own files, and stay.")
    language: Said = Field(None, description="Its language: en, de, pt-BR …")
    base_url: Said = Field(None, description="The address of its site.")
    site: Said = Field(None, description="Its site generator, one of those that `bythebook ingest --site` takes.")
    pages: Said = Field(None, description="How its pages are addressed: {path}.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """Document D's IngestionJob with further fields. A cancelled job is `failed` and `cancelled`."""

    job_id: int
    book_id: str
    mode: Mode
    status: JobStatus
    files_processed: int
    files_skipped: int
    chunks_created: int
    chunks_deleted: int
    started_at: datetime | None
    completed_at: datetime | None
    duration_seconds: int | None
    error_message: str | None
    cancelled: bool
    queued_at: datetime
    attempts: int
    source: dict[str, str]
    files_total: int
    files_discovered: int
    files_failed: int
    failed_files: tuple[Failure, ...]
    progress: dict[str, Any] | None
    report: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobList:
    """Jobs, newest first."""

    jobs: tuple[JobView, ...]
    next: int | None
    """`before` of the next page."""


@router.post("/books/{book_id}/jobs", status_code=202, response_model=JobView, summary="Have a book ingested")
async def order_job(book_id: Annotated[BookId, InPath()], body: JobRequest, who: Author, current: Current) -> Response:
    source = await _source(who.book(book_id), body.source, current, who)
    options = BookOptions(title=body.title, language=body.language, base_url=body.base_url, site=body.site, pages=body.pages)
    from bythebook.books.booktoml import check_options  # imports what reads a book's files

    check_options(options)
    consent = Consent(replace=body.replace, remove=body.yes)
    order = Order(book_id=book_id, source=source, mode=body.mode, consent=consent, options=options)
    job = await current.resources.jobs.queue(order)
    return _accepted(job)


@router.get("/jobs", response_model=JobList, summary="List jobs, the newest first")
async def list_jobs(
    who: Author,
    current: Current,
    book_id: BookId | None = None,
    status: JobStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="`next` of the page before.")] = None,
) -> Response:
    book = who.book_id if book_id is None else who.book(book_id)
    found = await current.resources.jobs.list(book_id=book, status=status, limit=limit + 1, before=before)
    more = found[limit - 1].job_id if len(found) > limit else None
    return json_response(JobList(jobs=tuple(_view(job) for job in found[:limit]), next=more))


@router.get("/jobs/{job_id}", response_model=JobView, summary="How far a job is, or how it ended")
async def read_job(job_id: JobId, who: Author, current: Current) -> Response:
    return json_response(_view(await _job(job_id, who, current)))


@router.get(
    "/jobs/{job_id}/events",
    response_class=Response,
    responses={200: {"description": EVENTS, "content": described_stream("job", "done", "error")}},
    summary="Follow a job",
)
async def follow_job(job_id: JobId, who: Author, current: Current, request: Request) -> Response:
    await _job(job_id, who, current)
    try:
        return await begin(request.receive, _events(job_id, current))
    except ReaderGone:
        return Response(status_code=499)


@router.delete("/jobs/{job_id}", status_code=202, response_model=JobView, summary="Cancel a job; what it has done is kept")
async def cancel_job(job_id: JobId, who: Author, current: Current) -> Response:
    await _job(job_id, who, current)
    return _accepted(await current.resources.jobs.cancel(job_id))


@router.post("/jobs/{job_id}/retry", status_code=202, response_model=JobView, summary="Queue a failed job again, as a new one")
async def retry_job(job_id: JobId, who: Author, current: Current) -> Response:
    await _job(job_id, who, current)
    return _accepted(await current.resources.jobs.retry(job_id))


async def _events(job_id: int, current: State) -> AsyncGenerator[Event]:
    """Polls the job, because another process on another machine may run it."""
    told, number = b"", 0
    while not current.stopping.is_set():
        job = await current.resources.jobs.get(job_id)
        body = write(_view(job))
        if body != told:
            yield Event(name="job", id=f"{job_id}/{number}", body=body)
            told, number = body, number + 1
        if job.ended:
            yield Event(name="done", id=f"{job_id}/{number}", body=body)
            return
        await asyncio.sleep(LOOKED_AT_SECONDS)
    raise ShuttingDown(f"The server is shutting down; the job {job_id} is kept. Follow it again in a moment.")


async def _source(book_id: str, asked: SourceRequest | None, current: State, who: Principal) -> Source:
    """What a request may name: folders below the roots, and the book's own repositories and sites. Where only this machine can
    send requests, also the place that this machine ingested the book from."""
    settings = current.settings
    if asked and asked.folder:
        return await _folder(book_id, asked.folder, current, who)
    if asked and asked.git:
        return _repository(book_id, asked.git, asked.branch, settings.git_sources)
    if asked and asked.site:
        return _site(book_id, asked.site, settings.site_sources)
    configured: list[Source] = [repository_of(one) for one in settings.git_sources if one.book_id == book_id]
    configured += [Website(url=one.url) for one in settings.site_sources if one.book_id == book_id]
    if configured:
        return configured[0]
    state = await current.resources.records.book(book_id)
    if state is None:
        raise InvalidInput(
            f"Say where '{book_id}' comes from: source.folder, a repository in BYTHEBOOK_GIT_SOURCES, or a site in "
            "BYTHEBOOK_SITE_SOURCES."
        )
    if current.loopback and who.key_id is None and await asyncio.to_thread(Path(state.source_root).is_dir):
        return Folder(path=Path(state.source_root))
    return Folder(path=await asyncio.to_thread(under_roots, state.source_root, settings.source_roots))


async def _folder(book_id: str, asked: str, current: State, who: Principal) -> Folder:
    """A key for this book alone may use only the book's own folders: the one it came from, or one of its name in a root."""
    roots = current.settings.source_roots
    if who.book_id is None:
        return Folder(path=await asyncio.to_thread(under_roots, asked, roots))
    state = await current.resources.records.book(book_id)
    own = [root / book_id for root in roots] + ([Path(state.source_root)] if state else [])
    return Folder(path=await asyncio.to_thread(under_roots, asked, roots, own))


def _repository(book_id: str, asked: str, branch: str | None, configured: Sequence[GitSource]) -> Repository:
    for one in configured:
        if one.book_id == book_id and same_repository(one.url, asked) and branch in (None, one.branch):
            return repository_of(one)
    raise InvalidInput(f"This repository and branch are not configured for '{book_id}'. Add them to BYTHEBOOK_GIT_SOURCES.")


def _site(book_id: str, asked: str, configured: Sequence[SiteSource]) -> Website:
    for one in configured:
        if one.book_id == book_id and one.url.rstrip("/") == asked.rstrip("/"):
            return Website(url=one.url)
    raise InvalidInput(f"This site is not configured for '{book_id}'. Add it to BYTHEBOOK_SITE_SOURCES.")


async def _job(job_id: int, who: Principal, current: State) -> Job:
    job = await current.resources.jobs.get(job_id)
    if who.book_id not in (None, job.book_id):
        raise NotFound(f"There is no job {job_id}. 'bythebook jobs list' shows those there are.")
    return job


def repository_of(source: GitSource) -> Repository:
    """The repository without a password, because many can read what is stored of a job."""
    return Repository(url=without_password(source.url), branch=source.branch, folder=source.folder)


def _view(job: Job) -> JobView:
    return JobView(**job_to_plain(job))


def _accepted(job: Job) -> Response:
    response = json_response(_view(job), 202)
    response.headers["Location"] = f"/jobs/{job.job_id}"
    return response
