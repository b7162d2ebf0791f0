"""The events of a running job, the progress that they add up to, and a generator that yields them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from bythebook.ingestion.progress import Advanced, CalibrationBegun, IngestionEvent, IngestReport, Planned
from bythebook.jobs.model import Progress, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitBegun:
    """A server that the job needs is not available; it is tried again after a pause."""

    reason: str
    seconds: float


JobEvent = IngestionEvent | WaitBegun | IngestReport
"""An event of a job. The report comes last."""
TellJob = Callable[[JobEvent], Awaitable[None]]


async def follow(work: Callable[[TellJob], Coroutine[Any, Any, IngestReport]]) -> AsyncGenerator[JobEvent, None]:
    """Yields the events of the work, then its report. Leaving the generator cancels the work and waits until it has stopped."""
    told: asyncio.Queue[JobEvent | None] = asyncio.Queue()
    task = asyncio.create_task(work(told.put))
    task.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (event := await told.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        await ended(task)


async def ended(task: asyncio.Task[Any]) -> None:
    """Waits for the task to end. Its error is known already, or no longer of interest."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


class JobProgress:
    """Adds up a worker's events to the progress that others see."""

    def __init__(self, died_at: str | None = None) -> None:
        """`died_at`: where the worker before this one died."""
        self._began = time.monotonic()
        self._so_far = Progress(stage="fetching", died_at=died_at)

    @property
    def planned(self) -> bool:
        return self._so_far.files_total > 0

    def enter(self, stage: Stage) -> None:
        self._so_far = replace(self._so_far, stage=stage, waiting_for=None)

    def note(self, event: JobEvent) -> bool:
        """Adds an event. True where another lesson has begun: that must be stored at once, in case the worker dies of it."""
        before = self._so_far.lesson
        self._note(event)
        return self._so_far.lesson not in (None, before)

    def _note(self, event: JobEvent) -> None:
        match event:
            case Planned(plan=plan):
                skipped = plan.discovered - event.files_total - len(plan.failures)
                self._so_far = Progress(
                    stage="ingesting",
                    files_total=plan.discovered,
                    files_skipped=skipped,
                    bytes_total=event.bytes_total,
                    died_at=self._so_far.died_at,
                )
            case Advanced():
                self._so_far = replace(
                    self._so_far,
                    files_processed=event.files_done,
                    chunks_embedded=event.chunks_embedded,
                    bytes_done=event.bytes_done,
                    lesson=event.lesson,
                    chunks_left=event.chunks_left,
                )
            case CalibrationBegun():
                self.enter("calibrating")
            case WaitBegun():
                self._so_far = replace(self._so_far, stage="waiting", waiting_for=event.reason)
            case IngestReport():
                pass

    def progress(self) -> Progress:
        return replace(self._so_far, seconds=round(time.monotonic() - self._began, 1))
