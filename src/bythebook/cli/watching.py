"""`bythebook ingest --watch`: the index kept in step with an author who writes.

The index is opened for each ingestion and let go again, so that the author can ask in another terminal; the embedder stays
open. Relevance is fitted again only when the author pauses: an edited lesson need not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bythebook.cli.ingest import stale_answers

if TYPE_CHECKING:
    from bythebook.errands.runner import Runner
    from bythebook.index.embedding import Embedder
    from bythebook.index.progress import Report
    from bythebook.settings import Settings
    from bythebook.wiring import Resources

SETTLED_MILLISECONDS = 150
"""Editors write a file in several steps; what comes closer together than this is one change."""
PAUSE_MILLISECONDS = 5_000
LOCK_POLL_SECONDS = 0.1
LOCK_PATIENCE_SECONDS = 30.0


async def watch(settings: Settings, folder: Path, *, book: str | None) -> None:
    """Until it is stopped. What cannot be read now may be readable after the next change."""
    from bythebook.adapters import open_embedder
    from bythebook.errors import BookError

    embedder = open_embedder(settings)
    stale: Report | None = None
    try:
        typer.echo(f"Watching {folder}  (Ctrl-C ends it)")
        async for changed in _changes(folder):
            try:
                if changed:
                    stale = await _ingest(settings, embedder, folder, book) or stale
                elif stale:
                    await _calibrate(settings, embedder, folder, stale)
                    stale = None
            except BookError as error:
                typer.echo(f"bythebook: {error}", err=True)
    finally:
        await embedder.close()


async def _changes(folder: Path) -> AsyncIterator[bool]:
    """True once at the beginning and after every change, False after every pause. What changes meanwhile is not missed."""
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


async def _ingest(settings: Settings, embedder: Embedder, folder: Path, book: str | None) -> Report | None:
    """The report, where relevance must be fitted again."""
    from bythebook.errands.shelf import publish
    from bythebook.index.progress import Report

    async with _opened(settings, embedder) as resources:
        async for event in resources.follow(
            publish, root=folder, book_id=book, mode="incremental", dry_run=False, calibrate=False
        ):
            if isinstance(event, Report):
                report = event
    _print(report)
    return report if report.chunks_created or report.chunks_deleted else None


async def _calibrate(settings: Settings, embedder: Embedder, folder: Path, report: Report) -> None:
    from bythebook.errands.shelf import calibrate

    async with _opened(settings, embedder) as resources:
        await resources.run(calibrate, root=folder, book_id=report.book_id)


@asynccontextmanager
async def _opened(settings: Settings, embedder: Embedder) -> AsyncIterator[Runner[Resources]]:
    """Another command may hold the index for a moment."""
    from bythebook.errands.runner import open_runner
    from bythebook.errors import Locked
    from bythebook.wiring import open_resources

    def opening(settings: Settings) -> AbstractAsyncContextManager[Resources]:
        return open_resources(settings, embeds=True, embedder=embedder)

    deadline = asyncio.get_running_loop().time() + LOCK_PATIENCE_SECONDS
    while True:
        runner = open_runner(settings, opening)
        try:
            resources = await runner.__aenter__()
        except Locked:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(LOCK_POLL_SECONDS)
            continue
        break
    try:
        yield resources
    finally:
        await runner.__aexit__(None, None, None)


def _print(report: Report) -> None:
    moment = report.completed_at.astimezone().strftime("%H:%M:%S")
    lessons = f"{report.files_processed:,} lessons ingested, {report.files_deleted:,} gone"
    typer.echo(f"{moment}  {lessons}; {report.chunks_created:,} chunks new, {report.chunks_deleted:,} gone")
    if report.stale:
        typer.echo(f"{moment}  {stale_answers(report.stale_answers)}: bythebook threads list --stale")
    for failure in report.failures:
        typer.echo(f"          {failure.reason}", err=True)
