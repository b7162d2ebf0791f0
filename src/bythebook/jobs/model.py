"""Values of a job: document D's IngestionJob, where its book comes from, and how far it has got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from bythebook.books.model import NO_OPTIONS, BookOptions, Failure
from bythebook.ingestion.request import NO_CONSENT, Consent, Mode

JobStatus = Literal["queued", "running", "completed", "failed"]
STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
Stage = Literal["fetching", "reading", "ingesting", "calibrating", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A book in a folder. `host`: the one machine that has it; None where every worker sees it."""

    path: Path
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A book in a git repository: the folder `folder` of the newest commit of `branch`, or of the repository's own branch where
    none is named."""

    url: str
    branch: str
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Website:
    """A book on a site: the pages below `url`, or those of the sitemap there."""

    url: str


Source = Folder | Repository | Website


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a job is to do: one ingestion of one book."""

    book_id: str
    source: Source
    mode: Mode = "incremental"
    consent: Consent = NO_CONSENT
    options: BookOptions = NO_OPTIONS

    @property
    def host(self) -> str | None:
        return self.source.host if isinstance(self.source, Folder) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a running job has got. `seconds` counts from the start of its present worker."""

    stage: Stage
    files_total: int = 0
    files_processed: int = 0
    files_skipped: int = 0
    chunks_embedded: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    seconds: float = 0.0
    waiting_for: str | None = None
    lesson: str | None = None
    """The first of the lessons being ingested, which have `chunks_left` chunks still to be embedded."""
    chunks_left: int = 0
    died_at: str | None = None
    """The `place` at which the worker before this one died."""

    @property
    def place(self) -> str | None:
        return f"{self.lesson}, {self.chunks_left} to embed" if self.lesson else None

    @property
    def chunks_per_second(self) -> float | None:
        if self.stage != "ingesting" or self.seconds <= 1 or not self.chunks_embedded:
            return None
        return self.chunks_embedded / self.seconds

    @property
    def seconds_left(self) -> float | None:
        if self.stage != "ingesting" or not self.bytes_done:
            return None
        return self.seconds * (self.bytes_total - self.bytes_done) / self.bytes_done


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Document D's IngestionJob. A cancelled job is a failed job that somebody asked to end."""

    job_id: int
    book_id: str
    mode: Mode
    status: JobStatus
    source: Source
    files_processed: int
    files_skipped: int
    chunks_created: int
    chunks_deleted: int
    files_total: int
    queued_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    duration_seconds: int | None
    error_message: str | None
    failed_files: tuple[Failure, ...]
    progress: Progress | None
    attempts: int
    cancel_requested: bool
    owner: str | None
    lease_expires_at: datetime | None
    consent: Consent = NO_CONSENT
    options: BookOptions = NO_OPTIONS
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> Order:
        return Order(book_id=self.book_id, source=self.source, mode=self.mode, consent=self.consent, options=self.options)

    @property
    def worker(self) -> str | None:
        """The process that runs it and its machine, for people to read."""
        if self.owner is None:
            return None
        host, process, _ = self.owner.rsplit(":", 2)
        return f"process {process.partition('-')[0]} on {host}"

    @property
    def cancelled(self) -> bool:
        return self.status == "failed" and self.cancel_requested

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed")


def source_to_plain(source: Source) -> dict[str, str]:
    """The form that is stored and shown by the API; the same source always gives the same."""
    if isinstance(source, Folder):
        return {"folder": str(source.path)}
    if isinstance(source, Website):
        return {"site": source.url}
    return {"git": source.url, "branch": source.branch, "folder": source.folder}


def order_to_plain(order: Order) -> dict[str, Any]:
    """The source, the consent that was given, and the options of the book. Orders that differ in any of these are different
    orders."""
    said = {name: True for name, given in asdict(order.consent).items() if given}
    described = {name: given for name, given in asdict(order.options).items() if given is not None}
    return {**source_to_plain(order.source), **said, **({"book": described} if described else {})}


def consent_from_plain(plain: Mapping[str, Any]) -> Consent:
    return Consent(replace=bool(plain.get("replace")), remove=bool(plain.get("remove")))


def options_from_plain(plain: Mapping[str, Any]) -> BookOptions:
    return BookOptions(**plain.get("book", {}))


def source_from_plain(plain: Mapping[str, str], host: str | None) -> Source:
    if "site" in plain:
        return Website(url=plain["site"])
    if "git" in plain:
        return Repository(url=plain["git"], branch=plain["branch"], folder=plain["folder"])
    return Folder(path=Path(plain["folder"]), host=host)
