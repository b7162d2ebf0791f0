"""A job as programs read it: document D's fields first, then the others. Without its lease, and without the password of an
address."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bythebook.jobs.model import Folder, Job, Progress, Repository, Source, Website, source_to_plain
from bythebook.retry import without_login

D_FIELDS = (
    *("job_id", "book_id", "mode", "status", "files_processed", "files_skipped", "chunks_created", "chunks_deleted"),
    *("started_at", "completed_at", "duration_seconds", "error_message"),
)


def job_to_plain(job: Job) -> dict[str, Any]:
    return {
        **{name: getattr(job, name) for name in D_FIELDS},
        "cancelled": job.cancelled,
        "queued_at": job.queued_at,
        "attempts": job.attempts,
        "source": _source_to_plain(job.source),
        "files_total": job.files_total,
        "files_discovered": job.files_total,
        "files_failed": len(job.failed_files),
        "failed_files": job.failed_files,
        "progress": _progress_to_plain(job.progress) if job.progress else None,
        "report": dict(job.report) or None,
    }


def source_shown(source: Source) -> str:
    if isinstance(source, Folder):
        return str(source.path)
    if isinstance(source, Website):
        return source.url
    return f"{without_login(source.url)}#{source.branch}" + (f":{source.folder}" if source.folder else "")


def _source_to_plain(source: Source) -> dict[str, str]:
    plain = source_to_plain(source)
    return {**plain, "git": without_login(source.url)} if isinstance(source, Repository) else plain


def _progress_to_plain(progress: Progress) -> dict[str, Any]:
    told = {name: value for name, value in asdict(progress).items() if name != "died_at"}
    return {**told, "chunks_per_second": progress.chunks_per_second, "seconds_left": progress.seconds_left}
