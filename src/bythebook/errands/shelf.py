"""Errands of an author: whether the books on the shelf are sound, and one that goes in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from bythebook.errors import NotFound
from bythebook.index.integrity import Inspection, inspect_book
from bythebook.index.progress import Mode
from bythebook.index.versions import wanted_manifest
from bythebook.jobs.course import JobEvent
from bythebook.wiring import Resources


async def inspect(resources: Resources, *, book_id: str | None) -> list[Inspection]:
    """Of one book, or of all."""
    ids = [book_id] if book_id else [state.book_id for state in await resources.records.books()]
    if not ids:
        raise NotFound("There is no book yet. Bring one in with 'bythebook ingest FOLDER', or try 'bythebook demo'.")
    states = [await resources.search.book(id) for id in ids]
    manifest = wanted_manifest(resources.embedder)
    return [await inspect_book(resources.index, resources.records, state, manifest) for state in states]


async def publish(
    resources: Resources, *, root: Path, book_id: str | None, mode: Mode, dry_run: bool, calibrate: bool = True
) -> AsyncIterator[JobEvent]:
    """A job of its own, run at once; a rehearsal is none."""
    async for event in resources.attended.run(root, book_id=book_id, mode=mode, dry_run=dry_run, calibrate=calibrate):
        yield event


async def calibrate(resources: Resources, *, root: Path, book_id: str) -> None:
    """Made up for, where `publish` was told to leave it."""
    await resources.publishing.calibrate(book_id, root)
