"""Jobs as rows: what a new one holds, and the value that a stored one is. No SQL is run here."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row

from bythebook.index.state import Failure
from bythebook.jobs.model import Job, Order, Progress, consent_from_plain, options_from_plain, order_to_plain, source_from_plain

if TYPE_CHECKING:
    from bythebook.ingestion.progress import IngestReport

REPORTED = ("files_discovered", "files_new", "files_modified", "files_deleted", "chunks_embedded", "total_chunks")
STALE = ("thread_id", "turn", "label", "page_title", "section", "quote")
"""Without the question: what a reader said goes when the thread goes, and a job's report stays."""
KEPT_AS_THEY_ARE = (
    *("job_id", "book_id", "mode", "status", "files_processed", "files_skipped", "files_total", "chunks_created"),
    *("chunks_deleted", "queued_at", "started_at", "completed_at", "duration_seconds", "error_message", "attempts"),
    *("cancel_requested", "owner", "lease_expires_at"),
)


def new_row(order: Order, now: datetime) -> dict[str, Any]:
    counts = ("files_total", "files_processed", "files_skipped", "chunks_created", "chunks_deleted", "attempts")
    return {
        "book_id": order.book_id,
        "mode": order.mode,
        "status": "queued",
        "source": order_to_plain(order),
        "host": order.host,
        "queued_at": now,
        "run_after": now,
        "failed_files": [],
        "cancel_requested": False,
        **dict.fromkeys(counts, 0),
    }


def job_of(row: Row[Any]) -> Job:
    return Job(
        **{name: getattr(row, name) for name in KEPT_AS_THEY_ARE},
        source=source_from_plain(row.source, row.host),
        consent=consent_from_plain(row.source),
        options=options_from_plain(row.source),
        failed_files=tuple(Failure(**failure) for failure in row.failed_files),
        progress=Progress(**row.progress) if row.progress and row.status == "running" else None,
        report=row.report or {},
    )


def progress_columns(progress: Progress) -> dict[str, Any]:
    counts = ("files_total", "files_processed", "files_skipped")
    return {"progress": asdict(progress), **{name: getattr(progress, name) for name in counts}}


def report_columns(report: IngestReport) -> dict[str, Any]:
    """Document D's counts; `report` keeps what else an author may want to know, the warnings among it."""
    return {
        "files_total": report.files_discovered,
        "files_processed": report.files_processed,
        "files_skipped": report.files_skipped,
        "chunks_created": report.chunks_created,
        "chunks_deleted": report.chunks_deleted,
        "failed_files": [asdict(failure) for failure in report.failures],
        "report": {
            **{name: getattr(report, name) for name in REPORTED},
            "warnings": [asdict(warning) for warning in report.warnings],
            "stale": [{name: getattr(one, name) for name in STALE} for one in report.stale],
        },
    }
