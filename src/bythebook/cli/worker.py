"""`bythebook worker`: runs queued jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import DataDir, run_async

if TYPE_CHECKING:
    from bythebook.errors import BookError
    from bythebook.jobs.model import Job
    from bythebook.jobs.progress import JobEvent
    from bythebook.settings import Settings


def run(
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Exit when no job is left.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Run queued jobs until stopped. Start as many workers as you like, on any machine that reaches the same servers."""
    from bythebook.settings import read_settings

    run_async(_work(read_settings(data_dir=data_dir), until_idle))


async def _work(settings: Settings, until_idle: bool) -> None:
    """On SIGTERM, gives its job back first, so that another worker continues it at once."""
    import asyncio
    import signal
    from contextlib import suppress

    from bythebook.operations.host import hosting
    from bythebook.wiring.author import open_resources

    asked_to_end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_end.set)
    async with open_resources(settings, embeds=True) as resources, hosting(resources):
        typer.echo("Waiting for jobs  (Ctrl-C stops it)")
        worker = resources.worker(_tell)
        working = asyncio.create_task(worker.work(until_idle=True) if until_idle else worker.work_on(_Complaint()))
        asked = asyncio.create_task(asked_to_end.wait())
        try:
            await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


class _Complaint:
    """Reports a problem once, not at every attempt."""

    def __init__(self) -> None:
        self._said: str | None = None

    def __call__(self, trouble: str | None) -> None:
        if trouble and trouble != self._said:
            typer.echo(f"bythebook: {trouble} It tries again until it is stopped.", err=True)
        self._said = trouble


def _tell(job: Job, event: JobEvent | BookError) -> None:
    """Prints a line when something begins or ends."""
    from datetime import datetime

    from bythebook.errors import BookError
    from bythebook.ingestion.progress import CalibrationBegun, IngestReport, Planned
    from bythebook.jobs.progress import WaitBegun

    match event:
        case Planned():
            said = f"{job.mode} ingestion of {job.book_id}: {event.files_total:,} lessons to do"
            if job.attempts > 1:
                said = f"taken over from a dead worker, {said}; finished embeddings are reused"
        case CalibrationBegun():
            said = "all lessons are in; calibrating"
        case WaitBegun():
            said = f"waiting {event.seconds:.0f} s: {event.reason}"
        case IngestReport():
            chunks = f"{event.chunks_created:,} chunks added, {event.chunks_deleted:,} removed"
            said = f"done: {event.files_processed:,} lessons, {chunks}"
        case BookError():
            said = f"failed: {event}"
        case _:
            return
    typer.echo(f"{datetime.now().astimezone():%H:%M:%S}  job {job.job_id}  {said}")
