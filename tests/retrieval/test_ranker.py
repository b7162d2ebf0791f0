"""The ranking of statements, and what its scores are taken to mean."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from bythebook.embedding.granite import GraniteEmbedder
from bythebook.grounding.answerability import HIGH, LINE, MEDIUM, Answerability, AuthoredScale, RankedScale
from bythebook.grounding.calibration import Probe, RankedSignals, Signals, fit
from bythebook.retrieval.ranker import (
    WEIGHTS,
    RankableStatement,
    defines,
    features,
    has_numbered,
    names_somebody,
    names_version,
    rank_statements,
    ranks,
    ranks_by,
    under_its_name,
)


def statement(text: str, **given: Any) -> RankableStatement:
    blank: dict[str, Any] = {
        "kind": "sentence", "rank": 0, "place": 2, "places": 9, "coverage": 0.6, "sign": 1.2, "cosine": 0.8, "answers": 0.0,
        "above": "Wicks", "before": "", "before_kind": "sentence", "markup": text[:80],
    }  # fmt: skip
    return RankableStatement(text=text, **{**blank, **given})


@pytest.mark.parametrize(
    ("question", "answers", "does_not"),
    [
        ("How many litres does the tank hold?", "The tank holds nine litres of oil.", "The tank is filled before the lamp."),
        ("What is a wick?", "A wick is a braid of cotton that lifts oil.", "The following section is about the wick:"),
        ("Why is the oil warmed?", "It is warmed because cold oil climbs slowly.", "The oil is warmed in the kitchen there."),
    ],
)
def test_what_fits_the_question_comes_before_what_repeats_it(question: str, answers: str, does_not: str) -> None:
    first, second = rank_statements(question, [statement(answers), statement(does_not)])
    assert first > second


def test_it_was_fitted_to_one_embedder_and_in_english() -> None:
    assert ranks("en-GB")
    assert ranks_by(GraniteEmbedder.name, "en")
    assert not ranks_by(GraniteEmbedder.name, "de")
    assert not ranks_by("another embedder", "en")


def test_the_weights_are_those_of_the_features() -> None:
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    assert features("Why?", [statement("Because.")]).shape == (1, len(stored["weights"]))
    assert set(stored["fit"]["names"]) <= set(RankedSignals.__dataclass_fields__)
    assert rank_statements("Why?", []) == []


def test_hostile_text_is_scored_like_any_other() -> None:
    long = statement("a " * 200, above="x " * 5000, before="(" * 200, markup="`" * 80)
    assert np.isfinite(rank_statements("what is " + "a " * 490 + "?", [long])).all()


def test_relevance_rises_with_the_chances_and_meets_the_levels_at_their_lines() -> None:
    fit = Answerability.from_dict(
        {"names": ["rank_best"], "means": [0.0], "spreads": [1.0], "answerable": [1.0, 0.0], "right": [1.0, 0.0]}
        | {"line": 0.5, "medium": 0.7, "high": 0.9}
    )
    signals = dict.fromkeys(RankedSignals.__dataclass_fields__, 0.0)
    levels = [fit.relevance(RankedSignals(**{**signals, "rank_best": best})) for best in (-2.0, 0.0, 0.8473, 2.1972, 4.0)]
    assert levels == sorted(levels)
    assert levels[0] < LINE < levels[2]
    assert levels[2] == pytest.approx(MEDIUM, abs=1e-3)
    assert levels[3] == pytest.approx(HIGH, abs=1e-3)


def test_what_is_about_another_subject_is_not_answered_however_well_a_sentence_fits() -> None:
    fit = Answerability.from_dict(
        {"names": ["rank_best"], "means": [0.0], "spreads": [1.0], "answerable": [1.0, 0.0], "right": [1.0, 0.0]}
        | {"line": 0.5, "medium": 0.7, "high": 0.9}
    )
    scale = RankedScale(fit=fit, subject=0.63)
    blank = dict.fromkeys(RankedSignals.__dataclass_fields__, 0.0) | {"rank_best": 3.0}
    near, foreign = (scale.relevance(RankedSignals(**{**blank, "top_cosine": cosine})) for cosine in (0.61, 0.55))
    assert foreign < LINE < near


def test_the_authors_questions_and_the_ranking_decide_together() -> None:
    """The author's alone would answer both: by the signs the second looks as good."""
    signs = dict.fromkeys(Signals.__dataclass_fields__, 0.0)
    clear, unclear = (Signals(**{**signs, "sentence_cosine": cosine}) for cosine in (0.9, 0.4))
    asked = [*(Probe(signals=clear, answerable=True, source="author", top_above_mean=0.2),) * 20]
    asked += [Probe(signals=unclear, answerable=False, source="author", top_above_mean=0.2)] * 20
    ranking = Answerability.from_dict(
        {"names": ["rank_best"], "means": [0.0], "spreads": [1.0], "answerable": [1.0, 0.0], "right": [1.0, 0.0]}
        | {"line": 0.5, "medium": 0.7, "high": 0.9}
    )
    scale = AuthoredScale(own=fit(asked), ranked=RankedScale(fit=ranking))
    blank = dict.fromkeys(RankedSignals.__dataclass_fields__, 0.0)
    answered, refused = (scale.relevance(clear, RankedSignals(**{**blank, "rank_best": best})) for best in (0.5, -8.0))
    assert answered == pytest.approx(scale.own.relevance(clear)), "how surely is the author's to say"
    assert refused < LINE < MEDIUM <= answered


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What is a wick?", "A wick (a braid of cotton) is what lifts the oil.", True),
        ("what is the lamp oil", "Lamp oil means the oil of the rape plant.", True),
        ("What are wicks?", "The wick, also called the snast, is a braid of cotton.", True),
        ("What exactly is a wick in a lamp?", "In short, a wick is just a braid of cotton.", True),
        ("Define wick.", "Wick: a braid that lifts the oil", True),
        ("What do people mean by a wick?", "The braid of cotton is called a wick.", True),
        ("What is RBT?", "The Round Burner Trim (RBT) is a way to cut a wick.", True),
        ("What is a wick?", "Wicks are braids of cotton that lift the oil.", True),
        ("What is a wick?", "Argand\u2019s wicks are round braids you can turn up.", True),
        ("What are wicks?", "Wicks provide a simple way to lift the oil.", True),
        ("What is RBT?", "A burner with RBT (round) is a lamp.", False),
        ("What is a wick?", "Wicks are always cut by hand in the evening.", False),
        ("What is a wick?", "The braid is called a wick holder.", False),
        ("What is a wick?", "A spare wick is a wick in a tin.", False),
        ("What is a wick?", "A wick is not a candle.", False),
        ("What is a wick?", "A wick is cut every day.", False),
        ("What is a wick?", "The wick smokes.", False),
        ("Why is the wick cut?", "The wick is cut.", False),
        ("What is the length of a wick in the lamps of the east?", "The length of a wick is the height of its lamp.", False),
    ],
)
def test_a_definition_says_of_what_is_asked_about_what_it_is(question: str, text: str, expected: bool) -> None:
    assert defines(question, text) is expected


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("The default is 4.", "wick_width (integer)", 1),
        ("The default is 2.", "wick_length (integer)", -1),
        ("The default is half of wick_width.", "wick_length (integer)", 0),
        ("The default is 2.", "Settings", 0),
    ],
)
def test_what_stands_under_another_identifier_says_nothing_of_the_one_asked_about(text: str, term: str, expected: int) -> None:
    assert under_its_name("What is the default of wick_width?", text, term) == expected
    assert under_its_name("How wide is a wick?", text, term) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The round wick was proposed by Argand in 1780.", True),
        ("Argand proposed the round wick.", True),
        ("It was the work of Aimé Argand.", True),
        ("Round wicks burn brighter. Trim them daily.", False),
        ("The Round Wick lamp is bright.", False),
    ],
)
def test_who_made_a_thing_is_told_by_a_name(text: str, expected: bool) -> None:
    assert names_somebody("Who proposed the round wick lamp?", text) is expected
    assert names_somebody("Who may trim a wick?", text) is True


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Which release brought round wicks?", "Round wicks came with Lamps 2.4.", True),
        ("since what version are wicks round", "Since version 3 wicks are round.", True),
        ("Which version of Argand do I need?", "Argand 2 or later is needed.", True),
        ("What version of Argand do I need?", "Any version of Argand will do.", True),
        ("Which release brought round wicks?", "Round wicks burn brighter.", False),
        ("Since which Lamps version are wicks round?", "Trim wicks after 12 hours at 10.0.0.1.", False),
        ("Which version control does the guide use?", "It is kept in a repository.", True),
        ("Which wick burns longest?", "The round one.", True),
    ],
)
def test_a_version_is_told_by_its_number(question: str, text: str, expected: bool) -> None:
    assert names_version(question, text) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How bright is Argand 2?", True),
        ("How bright is the Argand 3?", False),
        ("How bright is the lamp of Chapter 3?", True),
        ("How bright are 3 lamps?", True),
    ],
)
def test_what_is_said_of_one_version_is_not_said_of_another(question: str, expected: bool) -> None:
    assert has_numbered(question, "The argand-2 is twice as bright as the Argand.") is expected
