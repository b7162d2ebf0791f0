"""By the Book, as `bythebook ingest` and `serve` run it; ingestion includes its calibration, and what a server reads ahead."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bench.peers.trial import RESULTS, Passage
from bythebook.answering.answer import Answered
from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question
from bythebook.ingestion.progress import CalibrationBegun, IngestionEvent
from bythebook.ingestion.request import IngestionRequest
from bythebook.retrieval.query import Scope
from bythebook.settings import read_settings
from bythebook.wiring.author import Resources, open_resources

SCOPE = Scope(book_id="book", limit=RESULTS)


class Library:
    packages = ("bythebook",)

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}

    def ingest(self, book: Path, store: Path) -> None:
        self._runner = asyncio.Runner()
        self._opening = open_resources(read_settings(data_dir=store))
        self._resources: Resources = self._runner.run(self._opening.__aenter__())
        self._answerer: Answerer = self._resources.answerer
        self.parts["calibration"] = self._runner.run(self._publish(book))
        self._runner.run(self._resources.read_ahead())

    def ingest_again(self, book: Path, edited: str) -> None:
        self.parts["calibration_again"] = self._runner.run(self._publish(book))

    def search(self, question: str) -> list[Passage]:
        response = self._runner.run(self._resources.book_search.search(SCOPE.search(question)))
        return [Passage(lesson=result.source_file, text=result.text) for result in response.results]

    def answer(self, question: str) -> list[Passage]:
        """The quotes that a reader sees."""
        return self._runner.run(self._answer(question))

    async def _answer(self, question: str) -> list[Passage]:
        async for event in self._answerer.answer(Question(text=question, scope=SCOPE)):
            if isinstance(event, Answered):
                cited = [citation for sentence in event.answer.sentences for citation in sentence.citations]
                return [Passage(lesson=citation.source_file, text=citation.quote) for citation in cited]
        return []

    async def _publish(self, book: Path) -> float:
        """How long calibrating took of it. An edit is served when that begins."""
        calibrating: float | None = None

        async def hear(event: IngestionEvent) -> None:
            nonlocal calibrating
            if isinstance(event, CalibrationBegun):
                calibrating = time.perf_counter()

        await self._resources.publisher.run(book, IngestionRequest(book_id="book"), tell=hear)
        return time.perf_counter() - calibrating if calibrating else 0.0
