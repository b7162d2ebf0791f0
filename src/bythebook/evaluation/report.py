"""A whole evaluation: every question asked, marked and counted, with remarks. It is written and read as JSON, so that later
reports can be compared with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bythebook import __version__
from bythebook.answering.answerer import Answerer
from bythebook.answering.turn import EVALUATED
from bythebook.errors import InvalidInput, Unavailable
from bythebook.evaluation.cases import Case, Remark
from bythebook.evaluation.figures import Figure, figures
from bythebook.evaluation.files import CaseSet
from bythebook.evaluation.lesson_texts import LessonTexts
from bythebook.evaluation.marks import Mark
from bythebook.evaluation.rank_measures import retrieval_figures
from bythebook.evaluation.run import Manner, Outcome, ask_all
from bythebook.evaluation.scorer import Scorer
from bythebook.evaluation.times import Times, taken
from bythebook.grounding.calibration import AUTHOR_SOURCE, Fit
from bythebook.index.manifest import manifest_of
from bythebook.index.state import IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.ingestion.calibrator import FOREIGN, BookQuestion, for_fitting, read_questions
from bythebook.plain import from_plain, to_plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of an evaluation. `held_out` has the figures to rely on: of questions that relevance was not fitted by. `fitted`
    has those of the others."""

    book_id: str
    title: str
    model: str
    embedder: str
    questions_file: str
    version: str
    held_out: tuple[Figure, ...]
    fitted: tuple[Figure, ...]
    remarks: tuple[Remark, ...]
    marks: tuple[Mark, ...]
    times: Times
    """Last, because only the times differ between two runs."""

    @property
    def scored(self) -> tuple[Mark, ...]:
        """The questions that are scored."""
        return tuple(mark for mark in self.marks if not mark.fitted)

    def to_plain(self) -> dict[str, Any]:
        """Returns the report as JSON values, with the results of the marks."""
        plain: dict[str, Any] = to_plain(self)
        for mark, written in zip(self.marks, plain["marks"], strict=True):
            written |= {"decided_right": mark.decided_right, "right": mark.right, "faults": list(mark.faults)}
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDone:
    """One more question has been asked and marked."""

    done: int
    total: int


async def evaluate(
    answerer: Answerer, index: VectorIndex, state: IngestionState, given: CaseSet, manner: Manner, *, name: str
) -> AsyncIterator[CaseDone | Report]:
    """Yields progress, then the report."""
    sources = LessonTexts(index, state)
    cases, unknown = await sources.settle(given.cases)
    manifest = manifest_of(state, await index.collections())
    fitted = _fitted(cases, state, Fit.read(manifest.calibration.get(state.book_id)))
    scorer = Scorer(sources, language=state.language)
    outcomes: dict[str, Outcome] = {}
    marks: dict[str, Mark] = {}
    async for outcome in ask_all(answerer, state.book_id, cases, manner):
        outcomes[outcome.case.id] = outcome
        marks[outcome.case.id] = await scorer.mark(outcome, fitted=outcome.case.id in fitted)
        yield CaseDone(done=len(marks), total=len(cases))
    failures = [mark.failure for mark in marks.values() if mark.failure]
    if len(failures) == len(cases):
        raise Unavailable(failures[0])
    ordered = _with_retrieval([marks[case.id] for case in cases], outcomes, max(EVALUATED, manner.top_k))
    models = [outcome.answer.model for outcome in outcomes.values() if outcome.answer]
    yield Report(
        book_id=state.book_id,
        title=state.title,
        model=models[0],
        embedder=manifest.embedder,
        questions_file=name,
        version=__version__,
        held_out=figures([mark for mark in ordered if not mark.fitted]),
        fitted=figures([mark for mark in ordered if mark.fitted]),
        remarks=(*given.remarks, *unknown, *_noticed(ordered, cases)),
        marks=tuple(ordered),
        times=taken([outcomes[case.id] for case in cases], fitted=fitted, at_once=manner.at_once),
    )


def _with_retrieval(marks: Sequence[Mark], outcomes: dict[str, Outcome], depth: int) -> list[Mark]:
    """Adds retrieval figures to questions that expect a lesson which the reader's filters include."""
    gold = {mark.id: mark.gold for mark in marks if mark.gold and mark.expected is not False and not mark.failure}
    found = {id: [result.source_file for result in outcomes[id].results] for id in gold}
    by_id = retrieval_figures(gold, found, depth=depth)
    return [replace(mark, retrieval=by_id.get(mark.id, {})) for mark in marks]


def _fitted(cases: Sequence[Case], state: IngestionState, fit: Fit | None) -> frozenset[str]:
    """Returns the questions that relevance was fitted on."""
    if not fit:
        return frozenset()
    foreign = frozenset(case.id for case in cases if case.question in FOREIGN)
    if not fit.close.sources.get(AUTHOR_SOURCE):
        return foreign
    root = Path(state.source_root)
    return foreign | fitted_by(cases, read_questions(root) if root.is_dir() else None)


def fitted_by(cases: Iterable[Case], own: Iterable[BookQuestion] | None) -> frozenset[str]:
    """The questions that the book's own questions file has in the same words, whatever their ids. Where the book's folder is
    gone, every question that may have been used."""
    asked = [case for case in cases if not case.filters]
    if own is None:
        return frozenset(case.id for case in asked if for_fitting(case.id))
    texts = {question.text for question in own if for_fitting(question.id)}
    return frozenset(case.id for case in asked if (case.standalone or case.question) in texts)


def _noticed(marks: Sequence[Mark], cases: Sequence[Case]) -> list[Remark]:
    remarks = [
        Remark(line=mark.line, id=mark.id, message=f"its quote does not stand in {mark.gold[0]}")
        for mark in marks
        if mark.quote_stands is False
    ]
    unchecked = sum(not case.checked for case in cases)
    if unchecked:
        message = f"{unchecked:,} of {len(cases):,} questions are drafts that nobody has checked"
        remarks.append(Remark(line=0, id="", message=message))
    if not any(not mark.fitted for mark in marks):
        message = "relevance was fitted by every one of these questions; write others to score by"
        remarks.append(Remark(line=0, id="", message=message))
    return remarks


def read_report(path: Path) -> Report:
    """Reads a report that was written earlier."""
    try:
        return from_plain(Report, json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise InvalidInput(f"The report {path} cannot be read ({error.strerror}); name another file.") from error
    except ValueError as error:
        raise InvalidInput(f"{path} is not a report of 'bythebook evaluate --json'; write one and compare with that.") from error
