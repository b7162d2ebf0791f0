"""Relevance is fitted beside the watching, and gives way to what the author writes."""

from __future__ import annotations

import asyncio

from bythebook.cli.watch import DeferredFit
from bythebook.ingestion.progress import IngestReport
from tests.jobs.test_store import report


def test_a_fit_is_broken_off_by_an_edit_and_begun_again_at_the_next_pause() -> None:
    async def story() -> None:
        begun: list[IngestReport] = []
        ended: list[IngestReport] = []
        let_go = asyncio.Event()

        async def fit(wanted: IngestReport) -> None:
            begun.append(wanted)
            await let_go.wait()
            ended.append(wanted)

        fitting = DeferredFit(fit)
        fitting.go_on()  # nothing was edited
        edited = report()
        fitting.wanted = edited
        fitting.go_on()
        await asyncio.sleep(0)
        fitting.go_on()  # it runs already
        await fitting.break_off()
        assert (begun, ended) == ([edited], [])
        let_go.set()
        fitting.go_on()
        await asyncio.sleep(0)  # it has nothing more to wait for
        assert (begun, ended) == ([edited] * 2, [edited])
        assert fitting.wanted is None

    asyncio.run(story())
