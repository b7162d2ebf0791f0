"""How long the questions took. Everything that differs between two runs over the same book is here, apart from the figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bythebook.evaluation.figures import LABELS, Figure
from bythebook.evaluation.intervals import percentile
from bythebook.evaluation.run import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTime:
    """One question's milliseconds, until its end and until its first sentence. A refusal has no sentence."""

    total_ms: float
    first_sentence_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When a run was made and how fast it went, and how many questions ran at once."""

    created_at: str
    at_once: int
    held_out: tuple[Figure, ...]
    fitted: tuple[Figure, ...]
    questions: Mapping[str, QuestionTime]


def taken(outcomes: Sequence[Outcome], *, fitted: Collection[str], at_once: int) -> Times:
    """The times of questions that could be asked."""
    timings = {
        outcome.case.id: QuestionTime(total_ms=outcome.total_ms, first_sentence_ms=outcome.first_sentence_ms)
        for outcome in outcomes
        if not outcome.failure
    }
    return Times(
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        at_once=at_once,
        held_out=latencies([timing for id, timing in timings.items() if id not in fitted]),
        fitted=latencies([timing for id, timing in timings.items() if id in fitted]),
        questions=timings,
    )


def latencies(timings: Sequence[QuestionTime]) -> tuple[Figure, ...]:
    total = [timing.total_ms for timing in timings]
    first = [timing.first_sentence_ms for timing in timings if timing.first_sentence_ms is not None]
    rows = (("latency_p50_ms", total, 0.5), ("latency_p95_ms", total, 0.95), ("first_sentence_p95_ms", first, 0.95))
    return tuple(
        Figure(
            name=name,
            group="latency",
            label=LABELS[name],
            value=round(percentile(values, share), 1),
            low=None,
            high=None,
            count=len(values),
        )
        for name, values, share in rows
        if values
    )
