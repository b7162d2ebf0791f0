"""Fitting relevance to a book: ask it questions it answers and questions it does not, and see what retrieval says."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bythebook.answering.look import Assessor
from bythebook.books.discovery import read_beside
from bythebook.books.statements import statements
from bythebook.embedding.embedder import Embedder
from bythebook.errors import InvalidBook
from bythebook.grounding.calibration import AUTHOR_FOREIGN_SOURCE, AUTHOR_SOURCE, FOREIGN_SOURCE, Calibration, Fit, Probe, fit
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.ingestion.probes import FOREIGN, ProbeQuestion, choose, definitions, headings, restatements
from bythebook.retrieval.query import MAX_TEXT, MIN_TEXT, Scope

QUESTIONS_FILE = "questions.jsonl"
LARGEST_QUESTIONS_FILE = 5_000_000
MOST_QUESTIONS = 5_000
"""Each is asked once or twice at every fit."""
PROBES_OF_EACH_KIND = 30
LEAST_PROBES = 8
AT_ONCE = 8
ENOUGH = 20
"""Answerable questions of the author's, and half as many others, that make questions from the book's text unnecessary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookQuestion:
    """A question its author wrote for the book, to fit or to score by."""

    id: str
    text: str
    answerable: bool
    foreign: bool = False
    """About another subject than the book's, in its author's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    text: str
    answerable: bool
    source: str
    without: frozenset[str] = frozenset()


def for_fitting(question_id: str) -> bool:
    """Half of an author's questions may be used for fitting and never for scoring; which half, their ids decide."""
    return hashlib.sha256(question_id.encode()).digest()[0] % 2 == 0


def read_questions(root: Path) -> list[BookQuestion]:
    """The book's own questions that can be asked of the whole book, at most so many. What cannot be read is passed over."""
    try:
        raw = read_beside(root, QUESTIONS_FILE, limit_bytes=LARGEST_QUESTIONS_FILE) or b""
    except InvalidBook:
        return []
    lines = raw.decode("utf-8", "replace").splitlines()
    return list(islice((question for line in lines if (question := _question(line))), MOST_QUESTIONS))


def _question(line: str) -> BookQuestion | None:
    """None where it is none, or one that nobody could ask."""
    try:
        row = json.loads(line)
        question = BookQuestion(
            id=str(row["id"]),
            text=str(row.get("standalone") or row["question"]).strip(),
            answerable=bool(row["answerable"]),
            foreign=row.get("kind") == "foreign",
        )
        f"{question.id} {question.text}".encode()  # half a character cannot be
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return question if not row.get("filters") and MIN_TEXT <= len(question.text) <= MAX_TEXT else None


class Calibrator:
    def __init__(
        self,
        *,
        index: VectorIndex,
        embedder: Embedder,
        assessor: Assessor,
        catalog_lock: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        """`catalog_lock` is held while the index's manifest changes: workers of other books change it too."""
        self._arranging = catalog_lock
        self._index = index
        self._embedder = embedder
        self._assessor = assessor

    async def calibrate(self, state: IngestionState, root: Path) -> bool:
        """Fit and store. False where the book is too small to make questions of."""
        asked = await self._questions(state, root)
        if min(sum(one.answerable for one in asked), sum(not one.answerable for one in asked)) < LEAST_PROBES:
            return False
        embeddings = await self._embedded([one.text for one in asked])
        close, quick = [], []
        for one, embedding in zip(asked, embeddings, strict=True):
            query = Scope(book_id=state.book_id).search(one.text)
            look = await self._assessor.look(query, state, embedding, without=one.without)
            probe = Probe(signals=look.signals, answerable=one.answerable, source=one.source, top_above_mean=look.top_above_mean)
            close.append(probe)
            quick.append(replace(probe, signals=look.glance))
        await self._store(state, fit(close), fit(quick))
        return True

    async def _embedded(self, questions: Sequence[str]) -> list[NDArray[np.float32]]:
        """As questions, which some embedders tell from lessons; a few at a time, as readers would ask them."""
        found: list[NDArray[np.float32]] = []
        for start in range(0, len(questions), AT_ONCE):
            found += await asyncio.gather(*map(self._embedder.embed_question, questions[start : start + AT_ONCE]))
        return found

    async def _store(self, state: IngestionState, close: Calibration, quick: Calibration) -> None:
        async with self._arranging():
            manifest = (await self._index.collections())[state.collection_name]
            stored = Fit(close=close, quick=quick).to_dict()
            await self._index.save_manifest(state.collection_name, manifest.fitted(state.book_id, stored))

    async def _questions(self, state: IngestionState, root: Path) -> list[_Asked]:
        own = [question for question in read_questions(root) if for_fitting(question.id)]
        asked = [
            _Asked(text=one.text, answerable=one.answerable, source=AUTHOR_FOREIGN_SOURCE if one.foreign else AUTHOR_SOURCE)
            for one in own
        ]
        asked += [_Asked(text=text, answerable=False, source=FOREIGN_SOURCE) for text in FOREIGN]
        answerable = sum(one.answerable for one in own)
        if answerable >= ENOUGH and len(own) - answerable >= ENOUGH // 2:  # real questions beat made ones
            return asked
        made, lessons = await self._made(state)
        for question in made:
            asked.append(_Asked(text=question.text, answerable=True, source=question.source))
            asked.append(_Asked(text=question.text, answerable=False, source="held out", without=lessons[question.lesson]))
        return asked

    async def _made(self, state: IngestionState) -> tuple[list[ProbeQuestion], dict[str, frozenset[str]]]:
        sentences: list[tuple[str, str]] = []
        titles: list[tuple[str, str]] = []
        ids: dict[str, set[str]] = {}
        async for held in self._index.scan(state.collection_name, Filters(book_id=state.book_id)):
            chunk = held.chunk
            ids.setdefault(chunk.source_file, set()).add(chunk.id)
            if chunk.section_title:
                titles.append((chunk.source_file, chunk.section_title))
            sentences.extend((chunk.source_file, text) for text in _sentences(chunk.preface, chunk.text))
        kinds: Collection[list[ProbeQuestion]] = (
            list(definitions(sentences)),
            list(headings(titles)),
            list(restatements(sentences)),
        )
        made = [question for kind in kinds for question in choose(kind, PROBES_OF_EACH_KIND)]
        return made, {lesson: frozenset(found) for lesson, found in ids.items()}


def _sentences(preface: str, text: str) -> Iterator[str]:
    return (one.readable for one in statements(preface, text) if one.kind in {"sentence", "item"})
