"""The fit: deterministic, monotone, anchored where the documents' numbers stand."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bythebook.errors import Mismatch
from bythebook.grounding.calibration import FIT_VERSION, FOREIGN_SOURCE, Calibration, Fit, Glance, Probe, fit


def probe(cosine: float, *, answerable: bool, source: str = "author", closeness: float = 0.5) -> Probe:
    seen = Glance(top_cosine=cosine, cosine_margin=cosine / 2, agreement=0.4, closeness=closeness)
    return Probe(signals=seen, answerable=answerable, source=source, top_above_mean=0.2)


def probes(seed: int = 7, *, gap: float = 0.2, count: int = 40) -> list[Probe]:
    chance = np.random.default_rng(seed)
    yes = [probe(float(value), answerable=True) for value in chance.normal(0.5 + gap, 0.05, count)]
    no = [probe(float(value), answerable=False, source=FOREIGN_SOURCE) for value in chance.normal(0.5, 0.05, count)]
    return yes + no


def logits(fitted: Calibration, given: list[Probe], *, answerable: bool) -> list[float]:
    return sorted(fitted.logit(one.signals) for one in given if one.answerable == answerable)


def test_two_fits_are_the_same_to_the_byte() -> None:
    assert json.dumps(fit(probes()).to_dict()) == json.dumps(fit(probes()).to_dict())


def test_a_fit_comes_back_from_json_as_it_was() -> None:
    fitted = fit(probes())
    assert Calibration.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


def test_answering_and_refusing_part_at_sixty() -> None:
    given = probes(gap=0.12)
    fitted = fit(given)
    threshold = {level: logit for logit, level in fitted.anchors}[0.6]
    yes, no = (logits(fitted, given, answerable=answerable) for answerable in (True, False))
    refused, answered = np.mean([value < threshold for value in yes]), np.mean([value >= threshold for value in no])
    assert 1 - (refused + answered) / 2 == pytest.approx(fitted.balanced_accuracy)
    assert abs(refused - answered) < 0.1  # both are wrong about as often
    assert 0.8 < fitted.balanced_accuracy < 1.0


def test_the_other_anchors_are_shares_of_the_questions() -> None:
    given = probes(gap=0.3)
    fitted = fit(given)
    relevance = {answerable: [fitted.relevance(one.signals) for one in given if one.answerable == answerable]
                 for answerable in (True, False)}  # fmt: skip
    assert np.median(relevance[False]) == pytest.approx(0.3, abs=0.01)
    assert np.quantile(relevance[True], 0.25) == pytest.approx(0.75, abs=0.02)
    assert np.median(relevance[True]) == pytest.approx(0.85, abs=0.02)
    assert min(relevance[False]) == pytest.approx(0.0)
    assert max(relevance[True]) <= 0.98


def test_the_signal_that_tells_them_apart_weighs_most() -> None:
    fitted = fit(probes())
    weights = dict(zip(fitted.names, fitted.coefficients, strict=True))
    assert weights["top_cosine"] > 0.5
    assert abs(weights["agreement"]) + abs(weights["closeness"]) < 1e-9  # they never differed
    assert fitted.auc > 0.95
    assert (fitted.answerable, fitted.unanswerable) == (40, 40)
    assert fitted.sources == {"author": 40, FOREIGN_SOURCE: 40}


def test_both_kinds_weigh_the_same_however_many_there_are() -> None:
    given = probes()
    many = [*given, *(one for one in given if not one.answerable), *(one for one in given if not one.answerable)]
    once, thrice = fit(given), fit(many)
    assert thrice.balanced_accuracy == once.balanced_accuracy
    assert thrice.auc == pytest.approx(once.auc)


def test_a_question_is_off_the_subject_below_where_other_subjects_end() -> None:
    foreign = [probe(0.1 + place / 1000, answerable=False, source=FOREIGN_SOURCE) for place in range(10)]
    near = [probe(0.5 + place / 1000, answerable=place % 2 == 0, source="author") for place in range(10)]
    assert 0.109 < fit(foreign + near).subject < 0.5
    assert fit(near).subject == 0.0  # nothing to compare with: nothing is said to be off the subject


@given(st.integers(0, 500), st.floats(-0.4, 0.4))
@settings(max_examples=30)
def test_the_map_ascends_whatever_the_questions(seed: int, gap: float) -> None:
    fitted = fit(probes(seed, gap=gap, count=12))
    scores, levels = zip(*fitted.anchors, strict=True)
    assert levels == (0.0, 0.3, 0.6, 0.75, 0.85, 0.98)
    assert all(one < other for one, other in itertools.pairwise(scores))
    strongest = max(range(len(fitted.coefficients)), key=lambda place: abs(fitted.coefficients[place]))
    name, upwards = fitted.names[strongest], fitted.coefficients[strongest] >= 0
    seen = probe(0.5, answerable=True).signals
    assert isinstance(seen, Glance)
    along = [fitted.relevance(replace(seen, **{name: value})) for value in np.linspace(-1, 2, 40)]
    assert along == sorted(along, reverse=not upwards)
    assert all(0.0 <= level <= 1.0 for level in along)


def test_a_result_above_the_pools_mean_is_more_relevant_and_never_out_of_range() -> None:
    fitted = fit(probes())
    assert fitted.of_result(0.6, 0.0) == 0.6
    assert fitted.of_result(0.6, 0.2) == pytest.approx(0.75)  # as far above as the best of a typical pool
    assert fitted.of_result(0.6, -9) == 0.0
    assert fitted.of_result(0.6, 9) == 1.0


def test_what_the_manifest_keeps_comes_back_and_one_of_another_version_is_told_apart() -> None:
    fitted = fit(probes())
    kept = json.loads(json.dumps(Fit(close=fitted, quick=fitted, outdated=True).to_dict()))
    assert Fit.read(kept) == Fit(close=fitted, quick=fitted, outdated=True)
    assert Fit.read(None) is None
    later = {**kept, "version": FIT_VERSION + 1}
    assert Fit.read_current(later) is None
    with pytest.raises(Mismatch, match="calibrated by another version of this program"):
        Fit.read(later)


def test_a_fit_from_before_fits_had_numbers_is_known_by_its_method() -> None:
    fitted = fit(probes()).to_dict()
    assert Fit.read({"close": fitted, "quick": fitted}) is not None
    other = {**fitted, "method": "isotonic"}
    with pytest.raises(Mismatch, match="bythebook ingest FOLDER"):
        Fit.read({"close": other, "quick": other})
