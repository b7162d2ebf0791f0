"""Questions for readers: worth asking, and to quiz oneself with. They are the author's own, or else drafted from the text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal

from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question
from bythebook.books.model import Chunk
from bythebook.errors import BookError
from bythebook.evaluation.files import read_cases
from bythebook.evaluation.question_drafts import draft_from
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.ingestion.calibrator import QUESTIONS_FILE
from bythebook.retrieval.query import Scope

SURE = ("high", "medium")
TRIES = 2
"""For each question that is wanted, so many are looked at: most are answered."""
SAMPLED_LESSONS = 12
"""Drafts for a whole book come from so many of its lessons, spread over it."""
MOST_KEPT = 500

_Key = tuple[str, datetime, str, int]
"""Book, when it was ingested, lessons, how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuestion:
    """`quote` is the book's sentence that answers it, as it is written in `source_file`."""

    id: str
    question: str
    source_file: str
    page_title: str
    quote: str
    by: Literal["author", "draft"]
    table_head: str = ""
    """The head of the table that the quote is a row of."""


class StudyQuestions:
    """Kept in memory until the book is brought in again: whether the book answers a question is looked up once, however many
    readers ask for it meanwhile, and one question at a time, behind what readers ask."""

    def __init__(self, index: VectorIndex, answerer: Answerer) -> None:
        self._index = index
        self._answerer = answerer
        self._worth: dict[_Key, asyncio.Task[tuple[StudyQuestion, ...]]] = {}
        self._assessing = asyncio.Lock()

    async def worth_asking(self, state: IngestionState, files: Sequence[str], count: int) -> tuple[StudyQuestion, ...]:
        """Questions that the tutor answers at high or medium confidence. No model is called for them."""
        key = (state.book_id, state.last_ingested, "\n".join(files), count)
        if key not in self._worth:
            if len(self._worth) >= MOST_KEPT:
                self._worth = {one: task for one, task in self._worth.items() if not task.done()}
            self._worth[key] = asyncio.create_task(self._found(state, files, count))
            self._worth[key].add_done_callback(partial(self._forget_failure, key))
        return await asyncio.shield(self._worth[key])  # a reader who leaves does not take it from the others

    def _forget_failure(self, key: _Key, task: asyncio.Task[tuple[StudyQuestion, ...]]) -> None:
        if task.cancelled() or task.exception():
            self._worth.pop(key, None)

    async def _found(self, state: IngestionState, files: Sequence[str], count: int) -> tuple[StudyQuestion, ...]:
        return await self._answered(state, await self.to_learn(state, files, count * TRIES), count)

    async def to_learn(self, state: IngestionState, files: Sequence[str], count: int) -> tuple[StudyQuestion, ...]:
        """Questions with the sentence that answers them, of these lessons or of all; the author's before drafts."""
        chunks = await self._chunks(state, files)
        texts: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            texts.setdefault(chunk.source_file, []).append(chunk)
        written = await asyncio.to_thread(_authors, Path(state.source_root), texts)
        drafted = await asyncio.to_thread(_drafted, chunks, count) if len(written) < count else []
        asked = {one.quote for one in written}
        return tuple([*written, *(one for one in drafted if one.quote not in asked)][:count])

    async def _chunks(self, state: IngestionState, files: Sequence[str]) -> list[Chunk]:
        if not files:
            every = sorted(await self._index.source_files(state.collection_name, state.book_id))
            files = every[:: max(1, len(every) // SAMPLED_LESSONS)]
        found: list[Chunk] = []
        for file in files:
            filters = Filters(book_id=state.book_id, source_file=file)
            some = [held.chunk async for held in self._index.scan(state.collection_name, filters)]
            found += sorted(some, key=lambda chunk: chunk.chunk_index)
        return found

    async def _answered(self, state: IngestionState, asked: Sequence[StudyQuestion], count: int) -> tuple[StudyQuestion, ...]:
        kept: list[StudyQuestion] = []
        for one in asked:
            question = Question(text=one.question, scope=Scope(book_id=state.book_id))
            async with self._assessing:
                assessed = await self._answerer.assess(question, in_background=True)
            kept += [one] if assessed.confidence_level in SURE else []
            if len(kept) == count:
                break
        return tuple(kept)


def _authors(root: Path, texts: dict[str, list[Chunk]]) -> list[StudyQuestion]:
    """Those that stand alone and whose sentence stands in one of these lessons."""
    try:
        cases = read_cases(root / QUESTIONS_FILE).cases if (root / QUESTIONS_FILE).is_file() else ()
    except (BookError, OSError):
        return []
    plain = [one for one in cases if one.answerable and one.checked and one.quote and not one.history and not one.filters]
    return [
        StudyQuestion(
            id=one.id,
            question=one.question,
            source_file=file,
            page_title=texts[file][0].page_title,
            quote=one.quote,
            by="author",
        )
        for one in plain
        for file in one.lessons
        if one.quote and file in texts and any(one.quote in chunk.text for chunk in texts[file])
    ]


def _drafted(chunks: Sequence[Chunk], count: int) -> list[StudyQuestion]:
    titles = {chunk.source_file: chunk.page_title for chunk in chunks}
    return [
        StudyQuestion(
            id=one.id,
            question=one.question,
            source_file=one.lesson,
            page_title=titles[one.lesson],
            quote=one.quote,
            by="draft",
            table_head=one.table_head,
        )
        for one in draft_from(chunks, count, to_learn=True)
        if one.lesson and one.quote
    ]
