"""Turns marks into figures with their intervals. Every figure has a name that `--fail-under` knows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bythebook.evaluation.cases import REASONS
from bythebook.evaluation.intervals import bootstrap, wilson
from bythebook.evaluation.marks import Mark

Group = Literal["questions", "retrieval", "decisions", "citations", "latency"]
PLAIN = ("mrr_at_10", "ndcg_at_10")
"""Figures that are not shares, and so not percentages."""
LABELS = {
    "right": "handled right in every respect",
    "recall_at_1": "right lesson first",
    "recall_at_3": "right lesson among 3",
    "recall_at_5": "right lesson among 5",
    "recall_at_10": "right lesson among 10",
    "mrr_at_10": "mean reciprocal rank",
    "ndcg_at_10": "nDCG",
    "passage_at_5": "expected passage among 5",
    "useful": "answered, and says what was asked",
    "high_precision": "… of the answers at high confidence",
    "medium_precision": "… of the answers at medium confidence",
    "low_precision": "… of the answers at low confidence",
    "near_refusal": "not in the book, and refused or at low confidence",
    "decision_accuracy": "rightly answered or refused",
    "answer_recall": "answered, where the book answers",
    "answer_precision": "in the book, where it answered",
    "refusal_recall": "refused, where the book does not",
    "refusal_precision": "not in the book, where it refused",
    "reason_accuracy": "refused for the right reason",
    "citation_precision": "citations from the right lesson",
    "citation_recall": "right lesson cited",
    "quote_recall": "expected sentence cited",
    "keyword_recall": "says what it must",
    "quote_exactness": "quotes exact in the source",
    "sentence_support": "sentences supported on re-check",
    "follow_up_success": "follow-ups handled right",
    "latency_p50_ms": "answer or refusal, median",
    "latency_p95_ms": "answer or refusal, p95",
    "first_sentence_p95_ms": "first sentence, p95",
}
REASON_NAMES = {"refusal_recall": "when due", "refusal_precision": "when given"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value from 0 to 1 with the interval that holds it with 95% certainty; or milliseconds, which have none."""

    name: str
    group: Group
    label: str
    value: float
    low: float | None
    high: float | None
    count: int

    @property
    def shown(self) -> str:
        return self.written(self.value)

    @property
    def interval(self) -> str:
        return "" if self.low is None or self.high is None else f"{self.written(self.low)} to {self.written(self.high)}"

    def written(self, value: float) -> str:
        if self.name.endswith("_ms"):
            return f"{value:.0f} ms"
        return f"{value:.3f}" if self.name in PLAIN else percent(value)


def percent(share: float) -> str:
    """Shows 100% only where it is all of them."""
    return "100%" if share == 1.0 else f"{100 * min(share, 0.999):.1f}%"


def figures(marks: Sequence[Mark]) -> tuple[Figure, ...]:
    """Returns all figures of these marks, without those that no question expects anything for."""
    found = [*_questions(marks), *_retrieval(marks), *_decisions(marks), *_citations(marks)]
    return tuple(figure for figure in found if figure.count)


def of(value: Callable[[Mark], float | bool | None], marks: Iterable[Mark]) -> list[float]:
    """The values of these marks that are known."""
    return [float(known) for mark in marks if (known := value(mark)) is not None]


def _rate(name: str, group: Group, values: Sequence[float], label: str | None = None) -> Figure:
    right, count = round(sum(values)), len(values)
    low, high = wilson(right, count)
    value = right / count if count else 0.0
    return _figure(name, group, value, low, high, count, label)


def _mean(name: str, group: Group, values: Sequence[float]) -> Figure:
    """The mean; where every value is 0 or 1 it is a rate, because a bootstrap of a few equal values would be too certain."""
    if all(value in (0.0, 1.0) for value in values):
        return _rate(name, group, values)
    low, high = bootstrap(values)
    return _figure(name, group, sum(values) / len(values) if values else 0.0, low, high, len(values))


def _figure(
    name: str, group: Group, value: float, low: float | None, high: float | None, count: int, label: str | None = None
) -> Figure:
    rounded = [None if one is None else round(one, 4) for one in (low, high)]
    return Figure(
        name=name, group=group, label=label or LABELS[name], value=round(value, 4), low=rounded[0], high=rounded[1], count=count
    )


def _questions(marks: Sequence[Mark]) -> list[Figure]:
    follow_ups = [mark for mark in marks if mark.follow_up]
    return [
        _rate("right", "questions", of(lambda mark: mark.right, marks)),
        _rate("follow_up_success", "questions", of(lambda mark: mark.right, follow_ups)),
        _rate("useful", "questions", of(lambda mark: mark.useful, marks)),
        *_levels(marks),
    ]


def _levels(marks: Sequence[Mark]) -> list[Figure]:
    """Whether the confidence shown with an answer keeps its promise."""
    no = [mark for mark in marks if mark.expected is False and not mark.failure]
    sure = [mark.answered and mark.level in ("high", "medium") for mark in no]
    return [
        *(
            _rate(f"{level}_precision", "questions", of(lambda mark: mark.says_what_was_asked, at))
            for level in ("high", "medium", "low")
            for at in ([mark for mark in marks if mark.level == level],)
        ),
        _rate("near_refusal", "questions", [float(not one) for one in sure]),
    ]


def _retrieval(marks: Sequence[Mark]) -> list[Figure]:
    names = dict.fromkeys(name for mark in marks for name in mark.retrieval)
    found = []
    for name in (name for name in LABELS if name in names):
        values = of(lambda mark, name=name: mark.retrieval.get(name), marks)  # type: ignore[misc]
        found.append(_mean(name, "retrieval", values))
    located = [mark for mark in marks if mark.retrieval and mark.quote_stands]
    near = of(lambda mark: mark.passage_rank is not None and mark.passage_rank <= 5, located)
    return [*found, _rate("passage_at_5", "retrieval", near)]


def _decisions(marks: Sequence[Mark]) -> list[Figure]:
    decided = [mark for mark in marks if mark.expected is not None and not mark.failure]
    yes, no = ([mark for mark in decided if mark.expected is side] for side in (True, False))
    answered, refused = ([mark for mark in decided if mark.answered is side] for side in (True, False))
    found = [
        _rate("decision_accuracy", "decisions", of(lambda mark: mark.decided_right, marks)),
        _rate("answer_recall", "decisions", of(lambda mark: mark.answered, yes)),
        _rate("answer_precision", "decisions", of(lambda mark: mark.expected, answered)),
        _rate("refusal_recall", "decisions", of(lambda mark: not mark.answered, no)),
        _rate("refusal_precision", "decisions", of(lambda mark: not mark.expected, refused)),
        _rate("reason_accuracy", "decisions", [mark.reason == mark.expected_reason for mark in no if mark.expected_reason]),
    ]
    for reason in REASONS:
        wanted = [float(mark.reason == reason) for mark in no if mark.expected_reason == reason]
        given = [float(mark.expected_reason == reason) for mark in refused if mark.reason == reason and _reason_known(mark)]
        for name, values in (("refusal_recall", wanted), ("refusal_precision", given)):
            found.append(_rate(f"{name}_{reason}", "decisions", values, f"… {reason.replace('_', ' ')}, {REASON_NAMES[name]}"))
    return found


def _reason_known(mark: Mark) -> bool:
    return bool(mark.expected or mark.expected_reason)


def _citations(marks: Sequence[Mark]) -> list[Figure]:
    answered = [mark for mark in marks if mark.answered]
    backed = [mark for mark in answered if mark.expected is not False]
    quotes, inexact = sum(mark.quotes for mark in answered), sum(len(mark.inexact) for mark in answered)
    sentences, unsupported = sum(mark.sentences for mark in answered), sum(len(mark.unsupported) for mark in answered)
    return [
        _rate("citation_recall", "citations", of(lambda mark: mark.lesson_cited, backed)),
        _mean("citation_precision", "citations", of(lambda mark: mark.citation_precision, backed)),
        _rate("quote_recall", "citations", of(lambda mark: mark.quote_cited, backed)),
        _mean("keyword_recall", "citations", of(lambda mark: mark.words_found, backed)),
        _rate("quote_exactness", "citations", [1.0] * (quotes - inexact) + [0.0] * inexact),
        _rate("sentence_support", "citations", [1.0] * (sentences - unsupported) + [0.0] * unsupported),
    ]


def by_name(found: Iterable[Figure]) -> Mapping[str, Figure]:
    return {figure.name: figure for figure in found}
