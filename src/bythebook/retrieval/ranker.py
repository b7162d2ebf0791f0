"""Which statement answers: a linear ranking over what the reader says of a statement and signs that can be read off the
question and the statement.

The weights were fitted on questions of seven real books, each statement's label being the quote that the question's writer
named (scripts/fit_ranker.py; docs/decisions.md has the figures, each of a book that was left out). They know English only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANGUAGES = ("en",)
WEIGHTS = Path(__file__).with_name("ranker.json")
READ_CHARACTERS, BEFORE_CHARACTERS, MARKUP_CHARACTERS = 400, 200, 80
"""Of a statement, of what stands before it, and of the statement as it is written."""
LONG, SHORT = 350, 40
WORD_LETTERS = 6
"""Words are compared by their first letters: crude, and the same in every book."""

WORD = re.compile(r"[a-z0-9]+")
LIGHT = frozenset(
    """
    a an the of to in on for and or is are was were be it its this that these those with by as at from i you we my your do
    does did can could should would will what which how why when who where not no if there have has had so but than then
    into about me
    """.split()  # noqa: SIM905 - a list of two hundred quotes reads worse
)
ASKS_QUANTITY = re.compile(
    r"\b(how (many|much|long|fast|often|far|big|large|old|high|heavy)|what (percentage|fraction|share|speed|size|value|number"
    r"|port|version|rate|limit|year|date|frequency|range|distance|temperature)|which (version|port|year|release)|when|max(imum)?"
    r"|min(imum)?|default|at (least|most))\b",
    re.IGNORECASE,
)
ASKS_WHETHER = re.compile(
    r"^(so |and |but )?(should|can|could|does|do|did|is|are|was|were|will|would|must|may|has|have)\b", re.IGNORECASE
)
ASKS_WHY = re.compile(r"\b(why|reason|what for|how come)\b", re.IGNORECASE)
ASKS_HOW = re.compile(
    r"\b(how (do|can|to|would|should)|what (do|should) i (do|type|run|set|use)|command"
    r"|which (command|option|parameter|flag|setting))\b",
    re.IGNORECASE,
)
ASKS_WHO = re.compile(r"\bwho\b", re.IGNORECASE)
ASKS_WHAT = re.compile(r"^(what(?:'s| is| are| does)|define|meaning of)\b", re.IGNORECASE)
SUBJECT = re.compile(
    r"^\s*(?:what(?:'s| is| are)|define|what does)\s+(?:an?|the)?\s*(.+?)(?:\s+(?:mean|stand for|do))?\s*\??$", re.IGNORECASE
)
QUANTITY = re.compile(r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|once|twice|half)\b", re.IGNORECASE)
CAUSE = re.compile(
    r"\b(because|since|so that|in order to|due to|therefore|reason|as a result|thus|otherwise"
    r"|to (avoid|prevent|ensure|reduce|make|allow|enable|keep))\b",
    re.IGNORECASE,
)
LIMIT = re.compile(
    r"\b(not|no|never|cannot|can't|don't|doesn't|isn't|aren't|won't|without|only|unless|unsuitable|avoid)\b", re.IGNORECASE
)
PRONOUN = re.compile(r"^(it|its|this|that|these|those|they|their|such|he|she|here|there)\b", re.IGNORECASE)
ANNOUNCES = re.compile(
    r"(:|\b(below|following|next|section|chapter|this (guide|page|document|section|cheat sheet|lesson|tutorial|chapter))\b)",
    re.IGNORECASE,
)
INSTRUCTS = re.compile(
    r"^(set|use|run|open|select|click|type|add|create|install|enable|disable|change|configure|make|press|go|call|pass|define"
    r"|declare|import|write|put|start|ensure|check|do|don't|avoid|you (can|should|must|need|may)|to )\b",
    re.IGNORECASE,
)
DEFINES = re.compile(r"\b(is|are|means|refers to|stands for|describes|denotes|is called|known as|defined as)\b", re.IGNORECASE)
BRACKETED = re.compile(r"\([^)]*\)")
ARTICLES = frozenset({"a", "an", "the", "in"})
CODE = re.compile(r"`|\(\)|[A-Z]{2,}_[A-Z]|\w+\.\w+\(|--\w|/\w+/")
PERSON = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+")

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankableStatement:
    """A statement that may answer, with what the ranking reads of it. `sign` is the score of the cheap signs, `answers` the
    reader's; `place` of `places` is where it stands among the chunk's statements; `above` are the title and the headings over
    it."""

    text: str
    kind: str
    rank: int
    place: int
    places: int
    coverage: float
    sign: float
    cosine: float
    answers: float
    above: str
    before: str
    before_kind: str
    markup: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a question wants, read off its words."""

    words: frozenset[str]
    subject: frozenset[str]
    quantity: bool
    whether: bool
    why: bool
    how: bool
    who: bool
    what: bool

    @classmethod
    def of(cls, question: str) -> _Wanted:
        subject = SUBJECT.match(question[:300])
        return cls(
            words=frozenset(_words(question)),
            subject=frozenset(_words(subject[1])) if subject else frozenset(),
            quantity=bool(ASKS_QUANTITY.search(question)),
            whether=bool(ASKS_WHETHER.match(question)),
            why=bool(ASKS_WHY.search(question)),
            how=bool(ASKS_HOW.search(question)),
            who=bool(ASKS_WHO.search(question)),
            what=bool(ASKS_WHAT.match(question)),
        )


def ranks(language: str) -> bool:
    """Whether the ranking was fitted in this language."""
    return language.partition("-")[0].lower() in LANGUAGES


def rank_statements(question: str, candidates: Sequence[RankableStatement]) -> list[float]:
    """A score for each; above zero it rather answers than not."""
    if not candidates:
        return []
    fit = weights()
    rows = (features(question, candidates) - fit["means"]) / fit["spreads"]
    return [float(score) for score in rows @ fit["weights"] + fit["bias"]]


@cache
def weights() -> dict[str, Any]:
    """Means, spreads and weights of the features, the embedder they were fitted to, and the fit of what the scores mean."""
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    return {name: np.array(value) if isinstance(value, list) else value for name, value in stored.items()}


def features(question: str, candidates: Sequence[RankableStatement]) -> Array:
    """One row for each candidate. Their order is that of `ranker.json`."""
    wanted = _Wanted.of(question)
    best = [max(getattr(one, name) for one in candidates) for name in ("cosine", "sign", "coverage", "answers")]
    by_chunk: dict[int, list[float]] = {}
    for one in candidates:
        by_chunk.setdefault(one.rank, []).append(one.cosine)
    means = {rank: sum(cosines) / len(cosines) for rank, cosines in by_chunk.items()}
    rows = [[*_found(one, best, means[one.rank]), *_form(one), *_fits(wanted, one), *_says(wanted, one)] for one in candidates]
    return np.array(rows, dtype=np.float64)


def _found(one: RankableStatement, best: Sequence[float], chunk_mean: float) -> list[float]:
    """How well search, the cheap signs and the reader find it, alone and beside the best."""
    return [
        *(one.coverage, one.sign, one.cosine, one.coverage * one.cosine),
        *(one.cosine - best[0], one.sign - best[1], one.coverage - best[2]),
        *(1 / (1 + one.rank), one.cosine - chunk_mean),
        *(one.answers, max(0.0, one.answers), one.answers - best[3], one.answers == best[3]),
    ]


def _form(one: RankableStatement) -> list[float]:
    """What kind of statement it is and where it stands."""
    return [
        *(math.log(1 + len(one.text)), len(one.text) > LONG, len(one.text) < SHORT),
        *(one.kind == kind for kind in ("item", "row", "code", "maths")),
        *(one.text.rstrip().endswith(":"), bool(PRONOUN.match(one.text)), bool(ANNOUNCES.search(one.text))),
        *(one.before.rstrip().endswith(":"), one.before_kind == "heading"),
        *(one.place / max(1, one.places), one.place <= 1),
    ]


def _fits(wanted: _Wanted, one: RankableStatement) -> list[float]:
    """Whether it is what the question wants: a number, a cause, an instruction, a definition."""
    counts, defines, causes = bool(QUANTITY.search(one.text)), bool(DEFINES.search(one.text)), bool(CAUSE.search(one.text))
    words, above = _words(one.text), frozenset(_words(one.above))
    named = len(wanted.subject & frozenset(words[:8])) / len(wanted.subject) if wanted.subject else 0.0
    headed = len(wanted.subject & above) / len(wanted.subject) if wanted.subject else 0.0
    return [
        *(wanted.quantity and counts, wanted.quantity and not counts, not wanted.quantity and counts),
        wanted.whether and bool(LIMIT.search(one.text)),
        *(wanted.why and causes, wanted.why and not causes),
        *(wanted.how and bool(INSTRUCTS.match(one.text)), wanted.how and bool(CODE.search(one.markup + one.text))),
        *(wanted.how and one.kind == "code", wanted.who and bool(PERSON.search(one.text))),
        *(wanted.what * defines * named, wanted.what * headed, wanted.what and not defines),
    ]


def _says(wanted: _Wanted, one: RankableStatement) -> list[float]:
    """How much of the question stands in it and around it, and how much it adds."""
    words, above, before = frozenset(_words(one.text)), frozenset(_words(one.above)), frozenset(_words(one.before))
    new, size = len(words - wanted.words), max(1, len(wanted.words))
    return [
        *(math.log(1 + new), new == 0),
        *(
            len(wanted.words & above) / size,
            len(wanted.words & (words | above | before)) / size,
            len(wanted.words & before) / size,
        ),
    ]


def opens_with_definition(question: str, text: str) -> bool:
    """Whether "What is a node?" meets "A node is …", and not "A lifecycle node is …"."""
    subject = SUBJECT.match(question[:300])
    if not subject:
        return False
    opening = DEFINES.split(text[:200], maxsplit=1)
    named = WORD.findall(BRACKETED.sub(" ", opening[0]).lower())
    wanted = WORD.findall(subject[1].lower())
    return len(opening) > 1 and [word for word in named if word not in ARTICLES] == [
        word for word in wanted if word not in ARTICLES
    ]


def _words(text: str) -> list[str]:
    return [word[:WORD_LETTERS] for word in WORD.findall(text.lower()) if word not in LIGHT]
