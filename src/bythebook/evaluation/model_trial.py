"""Asks a model a dozen questions about the sample book, to find out whether it can be used: its form, its speed, and its truth.

No index is needed: each question comes with the passages of the lesson that answers it, or with those of another lesson.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bythebook.answering.draft_check import DraftCheck, SettledSentence, checked_draft
from bythebook.books.booktoml import read_book
from bythebook.books.discovery import discover
from bythebook.books.lesson import read_lesson
from bythebook.books.model import Book, Chunk
from bythebook.books.sites.detection import find_site
from bythebook.drafting.draft import Drafter, DraftRequest, NotInPassages, Usage
from bythebook.errors import BookError
from bythebook.evaluation.cases import Case
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Supported
from bythebook.grounding.judgement import Judge
from bythebook.ingestion.plan import PlannedTexts, make_plan
from bythebook.ingestion.readings import FileReader, ReadingStore
from bythebook.retrieval.evidence import Evidence

ANSWERABLE, UNANSWERABLE = 9, 3
PASSAGES = 3
LARGEST_FILE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialQuestion:
    """A question, the passages that a model is shown, and whether they answer it."""

    text: str
    evidence: tuple[Evidence, ...]
    answerable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTurn:
    """A model's result for one question. `error`: why there is none."""

    question: str
    answerable: bool
    sentences: int = 0
    quoted: int = 0
    kept: int = 0
    removed: tuple[str, ...] = ()
    judged: int = 0
    declined: bool = False
    first_seconds: float | None = None
    seconds: float = 0.0
    tokens: int = 0
    error: str = ""

    @property
    def right(self) -> bool:
        """Whether it answered exactly where the passages do."""
        return not self.error and (self.kept > 0 if self.answerable else self.kept == 0)


def trial_questions(chunks: Sequence[Chunk], cases: Sequence[Case]) -> list[TrialQuestion]:
    """Questions evenly from the whole book. Those near the subject but not in the book come with the first passages of a
    lesson."""
    answerable = [case for case in cases if case.answerable and case.quote and not case.history]
    others = [case for case in cases if not case.answerable and not case.history]
    questions = [
        TrialQuestion(text=case.question, evidence=_around(chunks, case.quote or ""), answerable=True)
        for case in answerable[:: max(1, len(answerable) // ANSWERABLE)][:ANSWERABLE]
    ]
    lessons = [chunks[at : at + PASSAGES] for at in range(0, len(chunks), max(1, len(chunks) // UNANSWERABLE))]
    questions += [
        TrialQuestion(text=case.question, evidence=_labelled(shown), answerable=False)
        for case, shown in zip(others[:: max(1, len(others) // UNANSWERABLE)][:UNANSWERABLE], lessons, strict=False)
    ]
    return [one for one in questions if one.evidence]


def read_chunks(folder: Path) -> tuple[Book, list[Chunk]]:
    """The book in a folder and all its chunks, without an index."""
    site = find_site(folder, discover(folder)[0])
    book, _ = read_book(folder, site=site)
    chunks: list[Chunk] = []
    texts, store = PlannedTexts(), ReadingStore(None)
    reader = FileReader(root=folder, limit_bytes=LARGEST_FILE, store=store)
    for page in make_plan(folder, book, {}, limit_bytes=LARGEST_FILE, texts=texts, store=store, site=site).pages:
        reading = texts.take(page.path) or reader.again(page.path, page.file).text()
        lesson = read_lesson(
            book,
            page.path,
            reading.text,
            file_hash=page.file_hash,
            claim=page.claim,
            id_base=page.id_base,
            chapter_title=page.chapter_title,
            reading=reading,
        )
        chunks += lesson.chunks
    return book, chunks


def _around(chunks: Sequence[Chunk], quote: str) -> tuple[Evidence, ...]:
    at = next((place for place, chunk in enumerate(chunks) if quote in chunk.text), None)
    return _labelled(chunks[max(0, at - 1) : at + PASSAGES - 1]) if at is not None else ()


def _labelled(chunks: Sequence[Chunk]) -> tuple[Evidence, ...]:
    return tuple(Evidence(label=label, passages=(one,), score=0.8, relevance=0.8) for label, one in enumerate(chunks, start=1))


async def try_model(
    questions: Sequence[TrialQuestion], book: Book, drafter: Drafter, judge: Judge | None
) -> AsyncIterator[TrialTurn]:
    """Runs one turn after the other, as a reader would ask."""
    for question in questions:
        began = time.perf_counter()
        try:
            yield await _turn(question, book, drafter, judge)
        except BookError as error:
            seconds = time.perf_counter() - began
            yield TrialTurn(question=question.text, answerable=question.answerable, seconds=seconds, error=str(error))


async def _turn(question: TrialQuestion, book: Book, drafter: Drafter, judge: Judge | None) -> TrialTurn:
    began = time.perf_counter()
    check = DraftCheck(Checker(question.evidence, book.language, question.text), judge)
    request = DraftRequest(
        question=question.text,
        asked=question.text,
        evidence=question.evidence,
        book_title=book.title,
        language=book.language,
    )
    checked: list[SettledSentence] = []
    declined, tokens, first = False, 0, None
    async for event in checked_draft(drafter.draft(request), check):
        match event:
            case Usage():
                tokens += event.total
            case NotInPassages():
                declined = True
            case SettledSentence():
                checked.append(event)
                if first is None and isinstance(event.settled.outcome, Supported):
                    first = time.perf_counter() - began
    removed = [one for one in checked if not isinstance(one.settled.outcome, Supported)]
    return TrialTurn(
        question=question.text,
        answerable=question.answerable,
        sentences=len(checked),
        quoted=sum(bool(one.draft.basis) or _copied(one) for one in checked),
        kept=len(checked) - len(removed),
        removed=tuple(one.settled.outcome.reason for one in removed if not isinstance(one.settled.outcome, Supported)),
        judged=sum(one.settled.by == "judge" for one in checked),
        declined=declined,
        first_seconds=first,
        seconds=time.perf_counter() - began,
        tokens=tokens + check.tokens,
    )


def _copied(one: SettledSentence) -> bool:
    """Whether the sentence is the book's own, which needs no quote."""
    return one.settled.by == "program" and isinstance(one.settled.outcome, Supported)
