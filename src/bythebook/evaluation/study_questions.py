"""Questions for readers: those worth asking, and those for a quiz. They are the author's own, or else drafted from the text; for
a quiz by a model, where there is one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question
from bythebook.books.markdown import readable
from bythebook.books.model import Chunk, sha256
from bythebook.errors import BookError
from bythebook.evaluation.files import read_cases
from bythebook.evaluation.model_quiz import CheckedCard, ModelQuiz, by_lesson
from bythebook.evaluation.question_drafts import Purpose, draft_from
from bythebook.evaluation.question_store import WHOLE_BOOK, QuestionStore, StudyQuestion
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.ingestion.calibrator import QUESTIONS_FILE
from bythebook.retrieval.query import Scope

logger = logging.getLogger(__name__)

SURE = ("high", "medium")
TRIES, TRIES_OF_THE_BOOK = 2, 5
"""How many candidates are tried for each question that is wanted. The first page's are what a new reader sees, and found once."""
SAMPLED_LESSONS = 12
"""Drafts for a whole book come from this many of its lessons, spread over the book."""
MOST_KEPT = 500
STORED = 4
"""How many questions are stored for a lesson, and for the book: as many as the page shows."""
OF_EACH = 2
"""How many of them are proposed of each of several lessons."""
REST_TIMES = 2
DRAFTED_BY = 7
"""Raise it when other questions are drafted, or tried by other rules or weights: stored questions are then found again."""

_Key = tuple[str, str, datetime, str, int]
"""The purpose, the book, when it was ingested, the lessons, and how many."""
_Questions = tuple[StudyQuestion, ...]
Spend = Callable[[int], Awaitable[None]]
"""Receives the number of tokens that a quiz took."""


class StudyQuestions:
    """Finds questions for readers. They are kept in memory until the book is ingested again: whether the book answers a question
    is looked up once, however many readers ask for it, one question at a time, and after what readers ask. The model drafts a
    quiz once, too. Questions worth asking are stored until their lesson changes."""

    def __init__(self, index: VectorIndex, answerer: Answerer, store: QuestionStore, model_quiz: ModelQuiz | None = None) -> None:
        self._store = store
        self._index = index
        self._answerer = answerer
        self._model_quiz = model_quiz
        self._made: dict[_Key, asyncio.Task[_Questions]] = {}
        self._assessing = asyncio.Lock()

    @property
    def asks_model(self) -> bool:
        """Whether a quiz may take tokens of a model."""
        return self._model_quiz is not None

    async def worth_asking(self, state: IngestionState, files: Sequence[str], count: int) -> _Questions:
        """Questions that the tutor answers at high or medium confidence. No model is called for them."""
        key = ("ask", state.book_id, state.last_ingested, "\n".join(files), count)
        return await self._once(key, partial(self._found, state, files, count))

    async def quiz(self, state: IngestionState, files: Sequence[str], count: int, spend: Spend | None) -> _Questions:
        """Questions to learn by: the author's, then the model's, then those drafted from the text. Without `spend` the model is
        not asked, but what it drafted before is used."""
        key = ("learn", state.book_id, state.last_ingested, "\n".join(files), count)
        if self._model_quiz and (spend or key in self._made):
            try:
                return await self._once(key, partial(self._by_model, self._model_quiz, state, files, count, spend))
            except BookError as error:
                logger.warning("The quiz is drawn from the text, because the model drafted none: %s", error)
        return await self.to_learn(state, files, count)

    async def _once(self, key: _Key, make: Callable[[], Coroutine[Any, Any, _Questions]]) -> _Questions:
        if key not in self._made:
            if len(self._made) >= MOST_KEPT:
                self._made = {one: task for one, task in self._made.items() if not task.done()}
            self._made[key] = asyncio.create_task(make())
            self._made[key].add_done_callback(partial(self._forget_failure, key))
        return await asyncio.shield(self._made[key])  # a reader who leaves does not cancel it for the others

    def _forget_failure(self, key: _Key, task: asyncio.Task[_Questions]) -> None:
        if task.cancelled() or task.exception():
            self._made.pop(key, None)

    async def prepare(self, state: IngestionState) -> None:
        """Finds what is worth asking of the book and of each lesson that has changed, so that no reader waits for it. It rests
        longer than it works, because the machine has other work to do."""
        files = sorted(await self._index.source_files(state.collection_name, state.book_id))
        for lesson in ((), *((file,) for file in files)):
            began = time.perf_counter()
            await self.worth_asking(state, lesson, STORED)
            await asyncio.sleep(REST_TIMES * (time.perf_counter() - began))
        await self._store.forget_others(state.book_id, files)

    async def _found(self, state: IngestionState, files: Sequence[str], count: int) -> _Questions:
        if len(files) > 1:
            return await self._of_each(state, files, count)
        purpose: Purpose = "ask" if state.language.startswith("en") else "learn"  # headings are read as English
        chunks = await self._chunks(state, files)
        written = await asyncio.to_thread(_authors, Path(state.source_root), by_lesson(chunks))
        if count > STORED or not chunks:
            return await self._answered(state, await _all(written, chunks, count * TRIES, purpose), count)
        lesson, found_in = files[0] if files else WHOLE_BOOK, _digest(state, chunks, written)
        found = await self._store.read(state.book_id, lesson, found_in)
        if found is None:
            tries = TRIES if files else TRIES_OF_THE_BOOK
            found = await self._answered(state, await _all(written, chunks, STORED * tries, purpose), STORED)
            with suppress(BookError):  # a library that cannot be written can still be read
                await self._store.keep(state.book_id, lesson, found_in, found)
        return found[:count]

    async def _of_each(self, state: IngestionState, files: Sequence[str], count: int) -> _Questions:
        """The first questions of each of these lessons, in their order, until there are enough."""
        kept: dict[str, StudyQuestion] = {}
        for file in files:
            for one in (await self.worth_asking(state, (file,), STORED))[:OF_EACH]:
                kept.setdefault(one.question, one)
            if len(kept) >= count:
                break
        return tuple(kept.values())[:count]

    async def _by_model(
        self, model: ModelQuiz, state: IngestionState, files: Sequence[str], count: int, spend: Spend | None
    ) -> _Questions:
        chunks = await self._chunks(state, files)
        written = await asyncio.to_thread(_authors, Path(state.source_root), by_lesson(chunks))
        if len(written) >= count:
            return tuple(written[:count])
        quiz = await model.draft(chunks, count - len(written), book_title=state.title, language=state.language)
        if spend:
            await spend(quiz.tokens)
        drafted = await asyncio.to_thread(_drafted, chunks, count, "learn")
        return _distinct([*written, *map(_model_question, quiz.cards), *drafted])[:count]

    async def to_learn(self, state: IngestionState, files: Sequence[str], count: int) -> _Questions:
        """Questions with the sentence that answers them, of these lessons or of all; the author's before drafts."""
        chunks = await self._chunks(state, files)
        written = await asyncio.to_thread(_authors, Path(state.source_root), by_lesson(chunks))
        return await _all(written, chunks, count, "learn")

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

    async def _answered(self, state: IngestionState, asked: Sequence[StudyQuestion], count: int) -> _Questions:
        kept: list[StudyQuestion] = []
        for one in asked:
            question = Question(text=one.question, scope=Scope(book_id=state.book_id))
            async with self._assessing:
                assessed = await self._answerer.assess(question, in_background=True)
            kept += [one] if assessed.confidence_level in SURE else []
            if len(kept) == count:
                break
        return tuple(kept)


async def _all(written: Sequence[StudyQuestion], chunks: Sequence[Chunk], count: int, purpose: Purpose) -> _Questions:
    drafted = await asyncio.to_thread(_drafted, chunks, count, purpose) if len(written) < count else []
    return _distinct([*written, *drafted])[:count]


def _digest(state: IngestionState, chunks: Sequence[Chunk], written: Sequence[StudyQuestion]) -> str:
    """The same for the same words in the same collection: a rebuilt collection may have another embedder, and other answers."""
    said = [chunk.content_hash for chunk in chunks] + [f"{one.question}\n{one.quote}" for one in written]
    return sha256("\0".join([str(DRAFTED_BY), state.collection_name, *said]))


def _distinct(questions: Sequence[StudyQuestion]) -> _Questions:
    """Drops drafts for a sentence that is asked for already; the author may ask for one twice."""
    kept: list[StudyQuestion] = []
    for one in questions:
        if one.by == "author" or not any(one.quote in other.quote or other.quote in one.quote for other in kept):
            kept.append(one)
    return tuple(kept)


def _model_question(card: CheckedCard) -> StudyQuestion:
    citation = card.answer.citations[0]
    return StudyQuestion(
        id=f"model-{sha256(card.question)[:8]}",
        question=readable(card.question),
        source_file=citation.source_file,
        page_title=citation.page_title,
        quote=citation.quote,
        by="model",
        answer="" if card.verbatim else card.answer.text,
    )


def _authors(root: Path, texts: dict[str, list[Chunk]]) -> list[StudyQuestion]:
    """The author's questions that stand alone and whose sentence is in one of these lessons."""
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


def _drafted(chunks: Sequence[Chunk], count: int, purpose: Purpose) -> list[StudyQuestion]:
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
        for one in draft_from(chunks, count, purpose)
        if one.lesson and one.quote
    ]
