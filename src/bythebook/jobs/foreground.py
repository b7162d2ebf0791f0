"""An ingestion that a person waits for: a job like any other, run in this process at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from bythebook.index.state import NO_CONSENT, Consent
from bythebook.ingestion.identity import identify
from bythebook.ingestion.progress import IngestReport, Mode, nobody
from bythebook.jobs.model import Folder, Order
from bythebook.jobs.progress import TellJob, WaitBegun
from bythebook.jobs.runner import JobRunner, new_owner, this_host

TURN_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ForegroundJob:
    """What `bythebook ingest` runs."""

    runner: JobRunner

    async def run(
        self,
        root: Path,
        *,
        book_id: str | None = None,
        mode: Mode = "incremental",
        dry_run: bool = False,
        calibrate: bool = True,
        consent: Consent = NO_CONSENT,
        tell: TellJob = nobody,
    ) -> IngestReport:
        """A rehearsal is no job."""
        if dry_run:
            return await self.runner.publisher.run(root, book_id=book_id, mode=mode, dry_run=True, consent=consent, tell=tell)
        book = (await identify(self.runner.publisher.records, root, book_id=book_id, consent=consent)).book
        folder = Folder(path=await asyncio.to_thread(root.resolve), host=this_host())
        order = Order(book_id=book.book_id, source=folder, mode=mode, consent=consent)
        await self.runner.take_back()
        while (job := await self.runner.jobs.start(order, new_owner())) is None:
            await tell(WaitBegun(reason=f"Another job of '{book.book_id}' is running", seconds=TURN_POLL_SECONDS))
            await asyncio.sleep(TURN_POLL_SECONDS)
        return await self.runner.run(job, calibrate=calibrate, tell=tell)
