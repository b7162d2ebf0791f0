"""Compares two reports of the same questions, question by question, and says whether a difference may be chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bythebook.evaluation.figures import LABELS
from bythebook.evaluation.intervals import bootstrap, mcnemar
from bythebook.evaluation.marks import Mark
from bythebook.evaluation.report import Report

CERTAIN = 0.05
MEANS: Mapping[str, Callable[[Mark], float | bool | None]] = {
    "recall_at_1": lambda mark: mark.retrieval.get("recall_at_1"),
    "recall_at_5": lambda mark: mark.retrieval.get("recall_at_5"),
    "mrr_at_10": lambda mark: mark.retrieval.get("mrr_at_10"),
    "ndcg_at_10": lambda mark: mark.retrieval.get("ndcg_at_10"),
    "citation_precision": lambda mark: mark.citation_precision,
    "keyword_recall": lambda mark: mark.words_found,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A question with a different result now."""

    id: str
    question: str
    before: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How a figure changed over the questions that both reports have. `chance` is a probability; means have an interval
    instead."""

    name: str
    label: str
    before: float
    now: float
    count: int
    low: float | None = None
    high: float | None = None
    chance: float | None = None

    @property
    def certain(self) -> bool:
        if self.chance is not None:
            return self.chance < CERTAIN
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two reports compared: which questions are better or worse now, and how the figures changed."""

    before: str
    same: int
    better: tuple[Change, ...]
    worse: tuple[Change, ...]
    otherwise: tuple[Change, ...]
    """Neither better nor worse, but different: another reason, other lessons cited."""
    only_before: tuple[str, ...]
    only_now: tuple[str, ...]
    shifts: tuple[Shift, ...]


def compare(before: Report, now: Report) -> Comparison:
    """Compares all questions that both asked in the same words, fitted or not."""
    old = {mark.id: mark for mark in before.marks}
    pairs = [(old[mark.id], mark) for mark in now.marks if mark.id in old and old[mark.id].question == mark.question]
    matched = {mark.id for _, mark in pairs}
    changes: dict[str, list[Change]] = {"better": [], "worse": [], "otherwise": []}
    for one, other in pairs:
        if _ending(one) == _ending(other) and one.right == other.right:
            continue
        judged = "otherwise" if one.right == other.right or None in (one.right, other.right) else None
        kind = judged or ("better" if other.right else "worse")
        changes[kind].append(Change(id=other.id, question=other.question, before=_ending(one), now=_ending(other)))
    return Comparison(
        before=f"{before.times.created_at}, {before.model}, By the Book {before.version}",
        same=len(pairs) - sum(map(len, changes.values())),
        better=tuple(changes["better"]),
        worse=tuple(changes["worse"]),
        otherwise=tuple(changes["otherwise"]),
        only_before=tuple(id for id in old if id not in matched),
        only_now=tuple(mark.id for mark in now.marks if mark.id not in matched),
        shifts=tuple(shift for shift in _shifts(pairs) if shift.count),
    )


def _ending(mark: Mark) -> str:
    if mark.failure:
        return "could not be asked"
    if not mark.answered:
        return f"refused, {(mark.reason or '').replace('_', ' ')}"
    faults = [fault for fault in mark.faults if not fault.startswith("answered")]
    return f"answered from {', '.join(mark.cited)}" + (f" ({'; '.join(faults)})" if faults else "")


def _shifts(pairs: Sequence[tuple[Mark, Mark]]) -> list[Shift]:
    return [
        _rate("right", lambda mark: mark.right, pairs),
        _rate("decision_accuracy", lambda mark: mark.decided_right, pairs),
        *(_mean(name, value, pairs) for name, value in MEANS.items()),
    ]


def _rate(name: str, value: Callable[[Mark], bool | None], pairs: Sequence[tuple[Mark, Mark]]) -> Shift:
    known = [(old, new) for one, other in pairs if (old := value(one)) is not None and (new := value(other)) is not None]
    better, worse = known.count((False, True)), known.count((True, False))
    sums = [sum(side) / len(known) if known else 0.0 for side in zip(*known, strict=True)] or [0.0, 0.0]
    chance = round(mcnemar(better, worse), 4)
    return Shift(name=name, label=LABELS[name], before=round(sums[0], 4), now=round(sums[1], 4), count=len(known), chance=chance)


def _mean(name: str, value: Callable[[Mark], float | bool | None], pairs: Sequence[tuple[Mark, Mark]]) -> Shift:
    known = [(old, new) for one, other in pairs if (old := value(one)) is not None and (new := value(other)) is not None]
    low, high = bootstrap([float(new) - float(old) for old, new in known])
    sums = [sum(map(float, side)) / len(known) for side in zip(*known, strict=True)] or [0.0, 0.0]
    return Shift(
        name=name,
        label=LABELS[name],
        before=round(sums[0], 4),
        now=round(sums[1], 4),
        count=len(known),
        low=round(low, 4),
        high=round(high, 4),
    )
