"""A book brought to its readers: ingested, and calibrated where its text changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bythebook.calibrating import Calibrator
from bythebook.grounding.calibration import METHOD
from bythebook.index.ingest import Ingestion
from bythebook.index.progress import Filled, IngestionEvent, Mode, Report
from bythebook.index.records import Records
from bythebook.index.vectors import VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrating:
    """The lessons are in the index; relevance is being fitted to them. A book that is served already is so meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    ingestion: Ingestion
    calibrator: Calibrator
    records: Records
    index: VectorIndex

    async def run(
        self,
        root: Path,
        *,
        book_id: str | None = None,
        mode: Mode = "incremental",
        dry_run: bool = False,
        calibrate: bool = True,
    ) -> AsyncIterator[IngestionEvent | Calibrating]:
        """The ingestion's events; before its report the book is calibrated, if what it says changed. A book that comes, or
        moves to another collection, is served from there only when it is calibrated."""
        seen_to = dry_run or not calibrate
        async for event in self.ingestion.run(root, book_id=book_id, mode=mode, dry_run=dry_run):
            if isinstance(event, Filled) and not seen_to:
                yield Calibrating()
                await self.calibrator.calibrate(event.state, root)
                seen_to = True
            elif isinstance(event, Report) and not seen_to and (_changed(event) or not await self._fitted(event)):
                yield Calibrating()
                await self.calibrate(event.book_id, root)
            if not isinstance(event, Filled):
                yield event

    async def calibrate(self, book_id: str, root: Path) -> None:
        """Fit relevance to the book as it now stands in the index."""
        if state := await self.records.book(book_id):
            await self.calibrator.calibrate(state, root)

    async def _fitted(self, report: Report) -> bool:
        manifest = (await self.index.collections())[report.collection_name]
        fitted = manifest.calibration.get(report.book_id)
        return fitted is not None and fitted["close"]["method"] == METHOD


def _changed(report: Report) -> bool:
    return bool(report.chunks_created or report.chunks_deleted)
