"""Publishes a book: ingests it, and calibrates it where its text changed.

Edited lessons are served at once with the old fit; the new fit is made afterwards. The old fit is marked outdated before the
first lesson changes, so that a run that is stopped in between leaves the calibration to the next run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bythebook.grounding.calibration import Fit
from bythebook.index.manifest import manifest_of
from bythebook.index.vectors import VectorIndex
from bythebook.ingestion.calibrator import Calibrator
from bythebook.ingestion.ingest import Ingestion
from bythebook.ingestion.progress import CalibrationBegun, IngestReport, Tell, nobody
from bythebook.ingestion.records import Records
from bythebook.ingestion.request import DEFAULT_REQUEST, IngestionRequest

Coming = Callable[[], Coroutine[Any, Any, None]]
"""Ends when something comes that must not wait for a calibration."""


async def _nothing() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Ingests a book and calibrates it. Jobs run it."""

    ingestion: Ingestion
    calibrator: Calibrator
    records: Records
    index: VectorIndex

    async def run(
        self,
        root: Path,
        request: IngestionRequest = DEFAULT_REQUEST,
        *,
        coming: Coming = _nothing,
        tell: Tell = nobody,
    ) -> IngestReport:
        """Ingests the book, and calibrates it if its text changed. A book that is new, or moves to another collection, is served
        from there only once it is calibrated. `coming`: waits for the next run of the book, which then does the calibration of a
        book that is already served."""
        run = await self.ingestion.plan(root, request)
        await tell(run.planned)
        if request.dry_run:
            return await self.ingestion.rehearse(run)
        id = run.plan.book.book_id
        was_fitted = bool(run.plan.changed() or run.plan.deleted) and await self._outdate(id)
        state = await self.ingestion.write(run, tell)
        if run.moves and request.calibrate:
            await tell(CalibrationBegun())
            await self.calibrator.calibrate(state, root)
        report = await self.ingestion.serve(run, state)
        if was_fitted and not _changed(report):
            await self._mark(id, outdated=False)
        elif request.calibrate and not run.moves and not await self._fitted(id):
            await tell(CalibrationBegun())
            await _unless(coming, self.calibrate(id, root))
        return report

    async def calibrate(self, book_id: str, root: Path) -> None:
        """Fits relevance to the book as it now stands in the index."""
        if state := await self.records.book(book_id):
            await self.calibrator.calibrate(state, root)

    async def _outdate(self, book_id: str) -> bool:
        """Marks the fit outdated. False where there was none, or it was outdated already."""
        was_fitted = await self._fitted(book_id)
        if was_fitted:
            await self._mark(book_id, outdated=True)
        return was_fitted

    async def _fitted(self, book_id: str) -> bool:
        state = await self.records.book(book_id)
        if state is None:
            return False
        manifest = (await self.index.collections()).get(state.collection_name)
        stored = manifest.calibration.get(book_id) if manifest else None
        fit = Fit.read_current(stored) if stored else None
        return fit is not None and not fit.outdated

    async def _mark(self, book_id: str, *, outdated: bool) -> None:
        async with self.records.catalog_lock():
            state = await self.records.book(book_id)
            assert state is not None, "it was fitted"
            manifest = manifest_of(state, await self.index.collections())
            fit = Fit.read(manifest.calibration[book_id])
            assert fit is not None, "it was fitted"
            marked = replace(fit, outdated=outdated).to_dict()
            await self.index.save_manifest(state.collection_name, manifest.fitted(book_id, marked))


async def _unless(coming: Coming, work: Coroutine[Any, Any, None]) -> None:
    """Does the work, and cancels it when `coming` ends first."""
    tasks = working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(coming())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()  # raises the error of the work
        elif waiting.done():
            waiting.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _changed(report: IngestReport) -> bool:
    return bool(report.chunks_created or report.chunks_deleted)
