"""Figures, intervals and gates, from marks alone."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from bythebook.errors import InvalidInput
from bythebook.evaluation.breakdowns import by_chapter, confusion, operating_point, reliability, risk_coverage, worst
from bythebook.evaluation.figures import by_name, figures
from bythebook.evaluation.gates import NAMES, missed, read_gates
from bythebook.evaluation.intervals import bootstrap, mcnemar, wilson
from bythebook.evaluation.marks import Mark
from bythebook.evaluation.rank_measures import retrieval_figures
from bythebook.evaluation.times import QuestionTime, latencies


def mark(id: str, **given: Any) -> Mark:
    blank = Mark(
        id=id, question=id, line=0, kind="", fitted=False, filtered=False, follow_up=False, expected=True, expected_reason=None,
        gold=(), chapter="", order=("", 0, 0), quote_stands=None, retrieved=(), passage_rank=None, failure="", answered=True,
        confidence=0.9,
    )  # fmt: skip
    return replace(blank, **given)


def refused(id: str, **given: Any) -> Mark:
    return mark(id, **{"answered": False, "reason": "not_in_book", "confidence": 0.2, **given})


MARKS = [
    mark("right", lesson_cited=True, citation_precision=1.0, quotes=3, sentences=2, chapter="Chapter 1", order=("m", 1, 1)),
    mark("elsewhere", lesson_cited=False, citation_precision=0.0, quotes=1, inexact=("x",), sentences=1, chapter="Chapter 1"),
    refused("missed", chapter="Chapter 2", order=("m", 2, 1), confidence=0.5),
    refused("near", expected=False, expected_reason="not_in_book"),
    mark("fooled", expected=False, expected_reason="not_in_book", confidence=0.7),
    refused("beyond", expected=False, expected_reason="outside_filters", reason="outside_filters", filtered=True, confidence=0.8),
    mark("unjudged", expected=None),
]


def test_latency_is_told_apart_and_a_refusal_has_no_first_sentence() -> None:
    timings = [QuestionTime(total_ms=float(10 * number), first_sentence_ms=5.0 if number > 3 else None) for number in range(1, 6)]
    found = {name: (figure.value, figure.count) for name, figure in by_name(latencies(timings)).items()}
    assert found == {"latency_p50_ms": (30.0, 5), "latency_p95_ms": (48.0, 5), "first_sentence_p95_ms": (5.0, 2)}
    assert latencies([]) == ()


def test_useful_counts_refusals_and_levels_are_held_to_their_promise() -> None:
    marks = [
        mark("says", says=True, words_found=1.0, level="high"),
        mark("half", says=True, words_found=0.5, level="high"),
        mark("low", says=True, words_found=1.0, level="low"),
        refused("refused", says=True, level="insufficient"),
        mark("unsaid", level="high"),
        mark("sure of what is not there", expected=False, level="medium"),
        mark("unsure of what is not there", expected=False, level="low"),
        refused("rightly", expected=False, level="insufficient"),
    ]
    found = {name: (figure.value, figure.count) for name, figure in by_name(figures(marks)).items()}
    assert found["useful"] == (0.5, 4)
    assert found["high_precision"] == (0.5, 2)
    assert found["medium_precision"] == (0.0, 1)
    assert found["low_precision"] == (0.5, 2)
    assert found["near_refusal"] == (round(2 / 3, 4), 3)


def test_the_figures_count_what_they_say() -> None:
    found = {name: (figure.value, figure.count) for name, figure in by_name(figures(MARKS)).items()}
    assert found["right"] == (0.5, 6)
    assert found["decision_accuracy"] == (round(4 / 6, 4), 6)
    assert found["answer_recall"] == (round(2 / 3, 4), 3)
    assert found["answer_precision"] == (round(2 / 3, 4), 3)
    assert found["refusal_recall"] == (round(2 / 3, 4), 3)
    assert found["refusal_precision"] == (round(2 / 3, 4), 3)
    assert found["refusal_recall_not_in_book"] == (0.5, 2)
    assert found["refusal_precision_not_in_book"] == (0.5, 2)
    assert found["refusal_recall_outside_filters"] == (1.0, 1)
    assert found["citation_recall"] == (0.5, 2)
    assert found["citation_precision"] == (0.5, 2)
    assert found["quote_exactness"] == (0.75, 4)
    assert "follow_up_success" not in found
    assert "recall_at_5" not in found


def test_a_mark_says_what_is_wrong_with_it() -> None:
    assert mark("a").right is True
    assert mark("a", expected=None).right is None
    faults: dict[str, dict[str, Any]] = {
        "answered, though it should have been refused": {"expected": False},
        "refused, though the book answers it": {"answered": False},
        "cites other lessons than the expected one": {"lesson_cited": False},
        "the expected quote no longer stands in its lesson": {"quote_stands": False},
        "does not say what it must": {"words_found": 0.5},
        "quotes what the book does not say": {"inexact": ("x",)},
        "says what its sources do not": {"unsupported": ("x",)},
        "could not be asked: it was down": {"failure": "it was down"},
    }
    for fault, given in faults.items():
        found = mark("a", **given)
        assert found.faults == (fault,)
        assert found.right is False


def test_wilsons_interval() -> None:
    low, high = wilson(9, 10)
    assert (round(low, 4), round(high, 4)) == (0.5958, 0.9821)
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_bootstrap_is_the_same_on_every_run_and_holds_the_mean() -> None:
    values = [0.0, 0.5, 1.0, 1.0, 0.25] * 8
    assert bootstrap(values) == bootstrap(values)
    low, high = bootstrap(values)
    assert low < sum(values) / len(values) < high
    assert bootstrap([1.0] * 9) == (1.0, 1.0)


@pytest.mark.parametrize(("better", "worse", "chance"), [(0, 0, 1.0), (3, 3, 1.0), (8, 1, 0.0390625), (0, 6, 0.03125)])
def test_mcnemar(better: int, worse: int, chance: float) -> None:
    assert mcnemar(better, worse) == mcnemar(worse, better) == chance


def test_mcnemar_of_very_many_changes() -> None:
    assert 0 < mcnemar(4000, 4200) < 0.05


def test_retrieval_counts_a_lesson_where_its_first_result_stands() -> None:
    found = retrieval_figures({"a": ["x"], "b": ["y"]}, {"a": ["q", "q", "x", "x"], "b": []}, depth=10)
    assert found["a"]["recall_at_1"] == 0.0
    assert found["a"]["recall_at_3"] == found["a"]["recall_at_5"] == found["a"]["recall_at_10"] == 1.0
    assert found["a"]["mrr_at_10"] == pytest.approx(1 / 3)
    assert found["a"]["ndcg_at_10"] == pytest.approx(1 / math.log2(4))
    assert set(found["b"].values()) == {0.0}


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [  # what ir-measures 0.4 gives
        (["x", "y", "z"], "y q x y p q z", (1 / 3, 2 / 3, 2 / 3, 1.0, 1.0, 0.86034433104172)),
        (["x", "y"], "p x", (0.0, 0.5, 0.5, 0.5, 0.5, 0.38685280723454163)),
        (["y"], "a b c d e f g h i j y", (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        (["x", "y"], "x y", (0.5, 1.0, 1.0, 1.0, 1.0, 1.0)),
    ],
)
def test_retrieval_figures_are_those_of_trec_eval(gold: list[str], found: str, expected: tuple[float, ...]) -> None:
    figures = retrieval_figures({"a": gold}, {"a": found.split()}, depth=10)["a"]
    names = ("recall_at_1", "recall_at_3", "recall_at_5", "recall_at_10", "mrr_at_10", "ndcg_at_10")
    assert figures == dict(zip(names, map(pytest.approx, expected), strict=True))


def test_retrieval_tells_nothing_deeper_than_was_looked() -> None:
    assert set(retrieval_figures({"a": ["x"]}, {"a": ["x"]}, depth=3)["a"]) == {"recall_at_1", "recall_at_3"}
    assert retrieval_figures({}, {}, depth=10) == {}


def test_gates() -> None:
    gates = read_gates(["right=50%", "decision_accuracy = 0.9", "recall_at_5=0.5"])
    misses = missed(gates, figures(MARKS))
    measured, unknown = (miss.message for miss in misses)
    assert re.match(r"decision_accuracy .*0\.667 .*at least 0\.9", measured)
    assert re.match(r"recall_at_5 must be at least 0\.5, .*none", unknown)
    assert set(by_name(figures(MARKS))) <= set(NAMES)


@pytest.mark.parametrize(
    "given", ["right", "right=", "right=x", "right=2", "right=-1", "right=nan", "speed=0.5", "latency_p50_ms=1", ""]
)
def test_a_gate_that_is_none(given: str) -> None:
    with pytest.raises(InvalidInput, match=r"fail under|--fail-under"):
        read_gates([given])


def test_risk_rises_with_coverage_and_filters_are_left_out() -> None:
    points = risk_coverage(MARKS)
    assert [(point.coverage, point.risk) for point in points] == [(0.4, 0.0), (0.6, 1 / 3), (0.8, 0.25), (1.0, 0.4)]
    now = operating_point(MARKS)
    assert now is not None
    assert (now.coverage, now.risk) == (0.6, 1 / 3)
    assert operating_point([refused("a")]) is None


def test_reliability_puts_every_question_into_one_band() -> None:
    shares = reliability(MARKS)
    assert [(share.right, share.count) for share in shares] == [(0, 1), (1, 1), (0, 1), (2, 2)]
    assert reliability([mark("sure", confidence=1.0)])[0].count == 1


def test_confusion_chapters_and_the_worst() -> None:
    assert confusion(MARKS) == {
        "answered": {"answered": 2, "not_in_book": 1},
        "not_in_book": {"not_in_book": 1, "answered": 1},
        "outside_filters": {"outside_filters": 1},
    }
    assert [(share.label, share.right, share.count) for share in by_chapter(MARKS)] == [("Chapter 1", 1, 2), ("Chapter 2", 0, 1)]
    assert [found.id for found in worst(MARKS)] == ["elsewhere", "fooled", "missed"]
