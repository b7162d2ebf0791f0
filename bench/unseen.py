"""Right on a book it has never seen: real books and questions that somebody else wrote, each left out of all fitting.

The reader and the ranking that are shipped were trained on all seven books, so they may not be scored on them. `BENCH_FOLDS`
names a folder with two files of weights per book, trained without that book (scripts/reader and scripts/fit_ranker.py make them).
Books that nothing was fitted by are scored by the weights that are shipped, as a user has them: `BENCH_OTHERS` names a folder
with `books/NAME` and `questions/NAME.jsonl`. Without either, nothing is scored here.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.alone import ingest_alone, opened
from bench.material import SHARED
from bench.table import Table, verdict
from bench.workshop import Workshop
from bythebook.answering.answer import without_disclaimer
from bythebook.evaluation.figures import by_name, figures, percent
from bythebook.evaluation.files import read_cases
from bythebook.evaluation.intervals import percentile
from bythebook.evaluation.marks import Mark
from bythebook.evaluation.report import Report, evaluate
from bythebook.evaluation.run import Manner
from bythebook.index.manifest import served_books
from bythebook.retrieval import ranker
from bythebook.retrieval.answer_reader import AnswerReader
from bythebook.settings import read_settings
from bythebook.texts import texts
from bythebook.wiring.reader import open_library

BOOKS = (
    *("ai-for-beginners", "fastapi-docs", "turing-way", "px4-guide", "dive-into-deep-learning"),
    *("gazebo-docs", "owasp-cheatsheets"),
)
GOALS: tuple[tuple[str, str, float], ...] = (
    ("right decisions", "decision_accuracy", 0.85),
    ("answerable answered at any level", "answer_recall", 0.92),
    ("not in the book, refused or at low confidence", "near_refusal", 0.88),
    ("useful: answered, and says what was asked", "useful", 0.75),
    ("of the answers at high, right", "high_precision", 0.90),
    ("of the answers at medium, right", "medium_precision", 0.75),
    ("gold quote among the cited, of answers", "quote_recall", 0.80),
)
LONGEST_MEDIAN = 250
SHIPPED = ranker.WEIGHTS
SLOWEST_MS = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One book's marks, and how long its questions took, one at a time."""

    book: str
    marks: tuple[Mark, ...]
    times_ms: tuple[float, ...]


def unseen(workshop: Workshop) -> Table:
    folds, others = os.environ.get("BENCH_FOLDS"), os.environ.get("BENCH_OTHERS")
    seven = [_score(workshop, book, SHARED, Path(folds)) for book in BOOKS if folds and _questions(SHARED, book).exists()]
    further = [_score(workshop, book, Path(others)) for book in _others(Path(others))] if others else []
    if seven or further:
        _keep(workshop.folder / "unseen.jsonl", [*seven, *further])
    return Table(
        title="Books never seen",
        columns=("questions", "n", "figure", "value", "95 %", "goal", ""),
        rows=(*_rows("all seven", seven), *_rows("other books", further)),
        note="Each book was left out: the reader and the ranking that answer its questions were trained without it, and so were "
        "the scale and the levels. The books were ingested as a new user would, without questions of an author. We wrote neither "
        "the books nor their questions; answers are scored by the questions' labels (quote, keywords), not by our own checker. A "
        "level that no answer got has no row. The length does not count the note under an answer at low confidence."
        if seven or further
        else "Not measured in this run: set BENCH_FOLDS to a folder of weights that were fitted with one book left out, or "
        "BENCH_OTHERS to a folder of books and questions that nothing was fitted by.",
    )


def _others(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "questions").glob("*.jsonl"))


def _score(workshop: Workshop, book: str, source: Path, folds: Path | None = None) -> Scored:
    """By the weights of `folds`, trained without the book; by those that are shipped, where nothing was trained on it."""
    data_dir = workshop.data_dir(f"unseen-{book}")
    if not (data_dir / "index").exists():
        ingest_alone(source / "books" / book, data_dir)
        asyncio.run(_calibrate(data_dir, source / "books" / book))
    ranker.WEIGHTS = folds / f"{book}.json" if folds else SHIPPED
    ranker.weights.cache_clear()
    reader = AnswerReader(folds / f"{book}.pack" if folds else None)
    report = asyncio.run(_evaluate(data_dir, _questions(source, book), reader))
    return Scored(book=book, marks=report.marks, times_ms=tuple(one.total_ms for one in report.times.questions.values()))


async def _calibrate(data_dir: Path, folder: Path) -> None:
    """As the command that ingests does after it."""
    async with opened(data_dir) as resources:
        (book_id,) = served_books(await resources.index.collections())
        await resources.calibrator.calibrate(await resources.search.book(book_id), folder)


async def _evaluate(data_dir: Path, questions: Path, reader: AnswerReader) -> Report:
    given, last = read_cases(questions), None
    async with open_library(read_settings(data_dir=data_dir), embeds=True, answer_reader=reader) as library:
        (book_id,) = served_books(await library.index.collections())
        state = await library.search.book(book_id)
        async for event in evaluate(library.answerer, library.index, state, given, Manner(at_once=1), name=questions.name):
            last = event
    assert isinstance(last, Report)
    return last


def _rows(name: str, scored: Sequence[Scored]) -> Iterable[tuple[str, ...]]:
    if not scored:
        return
    every = [mark for one in scored for mark in one.marks]
    found = by_name(figures(every))
    for label, figure, goal in GOALS:
        if figure not in found:
            continue
        one = found[figure]
        met = verdict(one.value >= goal)
        yield (name, str(one.count), label, one.shown, one.interval, f"≥ {goal:.0%}", met)
    foreign = [mark.decided_right for mark in every if mark.kind == "foreign"]
    share = sum(map(bool, foreign)) / len(foreign)
    yield (name, str(len(foreign)), "about another subject, refused", percent(share), "", "≥ 98 %", verdict(share >= 0.98))
    length = median(len(without_disclaimer(mark.text, texts("en").disclaimer)) for mark in every if mark.answered)
    short = verdict(length <= LONGEST_MEDIAN)
    yield (name, "", "median answer, characters", f"{length:.0f}", "", f"≤ {LONGEST_MEDIAN}", short)
    slow = percentile([time for one in scored for time in one.times_ms], 0.95)
    yield (name, "", "a question, p95", f"{slow:.0f} ms", "", f"≤ {SLOWEST_MS} ms", verdict(slow <= SLOWEST_MS))
    for one_book in scored:
        own = by_name(figures(one_book.marks))
        for label, figure, _ in GOALS:
            if figure in own:
                yield (one_book.book, str(own[figure].count), label, own[figure].shown, own[figure].interval, "", "")
    kinds = sorted({mark.kind for mark in every})
    for kind in kinds:
        of_kind = [mark for mark in every if mark.kind == kind]
        right = [bool(mark.useful if mark.expected else mark.decided_right) for mark in of_kind]
        yield (f"kind: {kind}", str(len(right)), "useful, or refused", percent(sum(right) / len(right)), "", "", "")


def _keep(path: Path, scored: Sequence[Scored]) -> None:
    """Every question with what became of it, to be read one by one."""
    with path.open("w", encoding="utf-8") as file:
        for one in scored:
            for mark in one.marks:
                row = {
                    "book": one.book,
                    "id": mark.id,
                    "kind": mark.kind,
                    "question": mark.question,
                    "expected": mark.expected,
                    "answered": mark.answered,
                    "level": mark.level,
                    "confidence": mark.confidence,
                    "useful": mark.useful,
                    "quote_cited": mark.quote_cited,
                    "reason": mark.reason,
                    "text": mark.text,
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _questions(source: Path, book: str) -> Path:
    return source / "questions" / f"{book}.jsonl"
