"""`bythebook jobs`: what was ingested, what is being ingested, and what went wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli.options import AsJson, DataDir, run_with_database, to_json

if TYPE_CHECKING:
    from pathlib import Path

    from bythebook.database.engine import Database
    from bythebook.jobs.model import Job
    from bythebook.jobs.store import Jobs

app = typer.Typer(help="List, show, cancel and retry ingestion jobs.", no_args_is_help=True)
JobId = Annotated[int, typer.Argument(help="The job's number.", show_default=False)]
FAILED_FILES_SHOWN = 20


@app.command("list")
def list_jobs(
    book: Annotated[str | None, typer.Option("--book", "-b", help="Only jobs of this book.", show_default=False)] = None,
    status: Annotated[
        str | None, typer.Option(help="Only jobs with this status: queued, running, completed or failed.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1, max=1000)] = 20,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List jobs, newest first."""
    from bythebook.errors import InvalidInput
    from bythebook.jobs.model import STATUSES

    wanted = next((one for one in STATUSES if one == status), None)
    if status and wanted is None:
        raise InvalidInput(f"A job's status is one of {', '.join(STATUSES)}, not {status!r}.")
    found: list[Job] = _with_jobs(lambda jobs: jobs.list(book_id=book, status=wanted, limit=limit), data_dir)
    if json:
        from bythebook.jobs.view import job_to_plain

        typer.echo(to_json([job_to_plain(job) for job in found]))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console, print_table, when

    if not found:
        typer.echo("There are no jobs. 'bythebook ingest FOLDER' starts one.")
        return
    rows = [
        (
            f"[bold]{job.job_id}[/]",
            escape(job.book_id),
            job.mode,
            job.status,
            when(job.started_at) if job.started_at else "",
            f"{job.files_processed:,}",
            f"+{job.chunks_created:,} -{job.chunks_deleted:,}",
            escape(_remark(job)),
        )
        for job in found
    ]
    print_table(Console(highlight=False), ("job", "book", "mode", "status", "begun", "lessons", "chunks", ""), rows)


@app.command("show")
def show(job_id: JobId, json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show one job. You see its progress, its result, and which files failed and why."""
    _print(_with_jobs(lambda jobs: jobs.get(job_id), data_dir), json)


@app.command("cancel")
def cancel(job_id: JobId, json: AsJson = False, data_dir: DataDir = None) -> None:
    """Cancel a job. A running job stops within about a second; what it has done so far is kept."""
    _print(_with_jobs(lambda jobs: jobs.cancel(job_id), data_dir), json)


@app.command("retry")
def retry(job_id: JobId, json: AsJson = False, data_dir: DataDir = None) -> None:
    """Queue a failed job again, as a new job. Finished work is not repeated. A worker or server runs it."""
    _print(_with_jobs(lambda jobs: jobs.retry(job_id), data_dir), json)


def _with_jobs(ask: Callable[[Jobs], Awaitable[Any]], data_dir: Path | None) -> Any:
    async def work(database: Database) -> Any:
        from bythebook.jobs.store import Jobs

        return await ask(Jobs(database))

    return run_with_database(work, data_dir=data_dir)


def _print(job: Job, json: bool) -> None:
    from bythebook.jobs.view import job_to_plain

    if json:
        typer.echo(to_json(job_to_plain(job)))
        return
    from rich.markup import escape

    from bythebook.cli.ingest import stale_answers
    from bythebook.cli.output.console import Console, counted

    console = Console(highlight=False)
    console.print(
        f"\n[bold]Job {job.job_id}[/]  [dim]{job.book_id} · {job.mode} · from[/] {escape(_origin(job))}", soft_wrap=True
    )
    console.print(f"  {job.status}{'  ' + escape(_remark(job)) if _remark(job) else ''}", soft_wrap=True)
    if job.started_at:
        lessons = f"{job.files_processed:,} of {counted(job.files_total, 'lesson')} ingested, {job.files_skipped:,} unchanged"
        console.print(f"  {lessons}; {_chunks(job)}")
    if job.worker:
        again = f", taken over; started {job.attempts} times" if job.attempts > 1 else ""
        console.print(f"  [dim]run by {escape(job.worker)}{again}[/]")
    if stale := {(one["thread_id"], one["turn"]) for one in job.report.get("stale", ())}:
        console.print(f"  [yellow]{stale_answers(len(stale))}[/]: bythebook threads list --stale")
    for failure in job.failed_files[:FAILED_FILES_SHOWN]:
        console.print(f"  [red]✗[/] {escape(failure.reason)}", soft_wrap=True)
    if len(job.failed_files) > FAILED_FILES_SHOWN:
        console.print(f"  [dim]and {len(job.failed_files) - FAILED_FILES_SHOWN:,} more; --json lists them all[/]")


def _chunks(job: Job) -> str:
    """Chunks added and removed; known only at the end."""
    from bythebook.cli.output.console import counted

    if job.progress:
        return f"{counted(job.progress.chunks_embedded, 'chunk')} embedded"
    return f"{counted(job.chunks_created, 'chunk')} added, {job.chunks_deleted:,} removed"


def _origin(job: Job) -> str:
    from bythebook.jobs.view import source_shown

    return source_shown(job.source)


def _remark(job: Job) -> str:
    """Returns what the status does not say."""
    from bythebook.cli.output.console import counted

    if job.error_message:
        return job.error_message
    if job.status == "completed":
        failed = f", {counted(len(job.failed_files), 'lesson')} could not be read" if job.failed_files else ""
        return f"in {job.duration_seconds} s{failed}"
    if job.status == "running" and job.cancel_requested:
        return "being cancelled"
    if progress := job.progress:
        rate = f", {progress.chunks_per_second:.0f} chunks/s" if progress.chunks_per_second else ""
        left = f", about {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        return f"{progress.stage}{rate}{left}" + (f": {progress.waiting_for}" if progress.waiting_for else "")
    return ""
