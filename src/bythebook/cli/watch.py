"""`bythebook ingest --watch`: keeps the index up to date while an author writes.

The index is opened for each ingestion and released again, so that the author can ask in another terminal; the embedder stays
open. Relevance is calibrated only when the author pauses, and stopped when writing continues: no edit waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bythebook.cli import printable
from bythebook.cli.ingest import stale_answers

if TYPE_CHECKING:
    from bythebook.embedding.embedder import Embedder
    from bythebook.ingestion.progress import IngestReport
    from bythebook.ingestion.request import Consent
    from bythebook.operations.runner import OperationRunner
    from bythebook.settings import Settings
    from bythebook.wiring.author import Resources

SETTLED_MILLISECONDS = 150
"""Editors write a file in several steps; changes closer together than this count as one."""
PAUSE_MILLISECONDS = 5_000


async def watch(settings: Settings, folder: Path, *, book: str | None, consent: Consent) -> None:
    """Watches until it is stopped. What cannot be read now may be readable after the next change."""
    from bythebook.errors import BookError
    from bythebook.wiring.reader import open_embedder

    embedder = open_embedder(settings)
    fitting = DeferredFit(lambda report: _calibrate(settings, embedder, folder, report))
    try:
        typer.echo(f"Watching {folder}  (Ctrl-C stops it)")
        async for changed in _changes(folder):
            try:
                if changed:
                    await fitting.break_off()
                    fitting.wanted = await _ingest(settings, embedder, folder, book, consent) or fitting.wanted
                else:
                    fitting.go_on()
            except BookError as error:
                typer.echo(f"bythebook: {printable(str(error))}", err=True)
    finally:
        await fitting.break_off()
        await embedder.close()


class DeferredFit:
    """Calibrates while watching. An edit does not wait for it: calibration is stopped, and starts again when the author
    pauses."""

    def __init__(self, fit: Callable[[IngestReport], Coroutine[Any, Any, None]]) -> None:
        self._fit = fit
        self._running: asyncio.Task[None] | None = None
        self.wanted: IngestReport | None = None
        """The report of the last edit that relevance was not fitted to yet."""

    def go_on(self) -> None:
        if self.wanted and (self._running is None or self._running.done()):
            self._running = asyncio.create_task(self._run(self.wanted))

    async def break_off(self) -> None:
        if self._running:
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _run(self, report: IngestReport) -> None:
        from bythebook.errors import BookError

        try:
            await self._fit(report)
        except BookError as error:
            typer.echo(f"bythebook: {printable(str(error))}", err=True)
        self.wanted = None


async def _changes(folder: Path) -> AsyncIterator[bool]:
    """True once at the beginning and after every change, False after every pause. No change is missed."""
    from watchfiles import awatch

    seen = awatch(folder, debounce=SETTLED_MILLISECONDS, step=50, rust_timeout=PAUSE_MILLISECONDS, yield_on_timeout=True)
    coming = asyncio.ensure_future(anext(seen))
    await asyncio.sleep(0)  # it watches from here on
    try:
        yield True
        while True:
            found = await coming
            coming = asyncio.ensure_future(anext(seen))
            yield bool(found)
    finally:
        coming.cancel()
        await asyncio.wait({coming})


async def _ingest(
    settings: Settings, embedder: Embedder, folder: Path, book: str | None, consent: Consent
) -> IngestReport | None:
    """Ingests. Returns the report where relevance must be fitted again."""
    from bythebook.ingestion.progress import IngestReport
    from bythebook.ingestion.request import IngestionRequest
    from bythebook.operations.author import publish

    async with _opened(settings, embedder) as resources:
        request = IngestionRequest(book_id=book, calibrate=False, consent=consent)
        async for event in resources.follow(publish, root=folder, request=request):
            if isinstance(event, IngestReport):
                report = event
    _print(report)
    return report if report.chunks_created or report.chunks_deleted else None


async def _calibrate(settings: Settings, embedder: Embedder, folder: Path, report: IngestReport) -> None:
    from bythebook.operations.author import calibrate

    async with _opened(settings, embedder) as resources:
        await resources.run(calibrate, root=folder, book_id=report.book_id)


def _opened(settings: Settings, embedder: Embedder) -> AbstractAsyncContextManager[OperationRunner[Resources]]:
    from bythebook.operations.runner import open_runner
    from bythebook.wiring.author import open_resources

    return open_runner(settings, lambda settings: open_resources(settings, embeds=True, embedder=embedder))


def _print(report: IngestReport) -> None:
    from bythebook.cli.output.console import counted

    moment = report.completed_at.astimezone().strftime("%H:%M:%S")
    lessons = f"{counted(report.files_processed, 'lesson')} ingested, {report.files_deleted:,} removed"
    typer.echo(f"{moment}  {lessons}; {counted(report.chunks_created, 'chunk')} added, {report.chunks_deleted:,} removed")
    if report.stale:
        typer.echo(f"{moment}  {stale_answers(report.stale_answers)}: bythebook threads list --stale")
    for failure in report.failures:
        typer.echo(f"          {printable(failure.reason)}", err=True)
