"""A book brought to its readers: ingested, and calibrated where its text changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bythebook.calibrating import Calibrator
from bythebook.index.ingest import Ingestion
from bythebook.index.progress import IngestionEvent, Mode, Report
from bythebook.index.records import Records
from bythebook.index.vectors import VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrating:
    """The index is up to date and searchable; relevance is being fitted to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    ingestion: Ingestion
    calibrator: Calibrator
    records: Records
    index: VectorIndex

    async def run(
        self, root: Path, *, book_id: str | None = None, mode: Mode = "incremental", dry_run: bool = False
    ) -> AsyncIterator[IngestionEvent | Calibrating]:
        """The ingestion's events; before its report the book is calibrated, if what it says changed."""
        async for event in self.ingestion.run(root, book_id=book_id, mode=mode, dry_run=dry_run):
            if isinstance(event, Report) and not dry_run:
                state = await self.records.book(event.book_id)
                if state and (event.chunks_created or event.chunks_deleted or not await self._fitted(event)):
                    yield Calibrating()
                    await self.calibrator.calibrate(state, root)
            yield event

    async def _fitted(self, report: Report) -> bool:
        manifest = (await self.index.collections())[report.collection_name]
        return report.book_id in manifest.calibration
