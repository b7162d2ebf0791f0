"""Retrieval figures by the library that owns their definitions; nothing is counted by hand here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures
from ir_measures import RR, R, nDCG

NAMES = {
    "recall_at_1": R @ 1,
    "recall_at_3": R @ 3,
    "recall_at_5": R @ 5,
    "recall_at_10": R @ 10,
    "mrr_at_10": RR @ 10,
    "ndcg_at_10": nDCG @ 10,
}


def retrieval_figures(
    gold: Mapping[str, Sequence[str]], found: Mapping[str, Sequence[str]], *, depth: int
) -> dict[str, dict[str, float]]:
    """For each question its figures by name: `gold` are the lessons that are right, `found` the lesson of each result, best
    first. What looks deeper than results were asked for is left out."""
    measures = {measure: name for name, measure in NAMES.items() if int(measure["cutoff"]) <= depth}
    right = {id: dict.fromkeys(lessons, 1) for id, lessons in gold.items()}
    run = {id: _scored(found.get(id, ())) for id in gold}
    figures: dict[str, dict[str, float]] = {id: {} for id in gold}
    if right:
        for metric in ir_measures.iter_calc(list(measures), right, run):
            figures[metric.query_id][measures[metric.measure]] = float(metric.value)
    return figures


def _scored(lessons: Sequence[str]) -> dict[str, float]:
    """A lesson counts where its first result stands; further results of it keep their places, and find nothing new."""
    scored: dict[str, float] = {}
    for rank, lesson in enumerate(lessons):
        scored[lesson if lesson not in scored else f"{lesson}\n{rank}"] = float(len(lessons) - rank)
    return scored
