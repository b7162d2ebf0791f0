"""Ranks statements by how well they answer: a linear ranking over the reader's score and features of the question and the
statement.

The weights were fitted on questions of seven real books, each statement's label being the quote that the question's writer named
(scripts/fit_ranker.py; docs/decisions.md has the figures, each for a book that was left out). English only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANGUAGES = ("en",)
WEIGHTS = Path(__file__).with_name("ranker.json")
READ_CHARACTERS, BEFORE_CHARACTERS, MARKUP_CHARACTERS = 400, 200, 80
"""How many characters are read of a statement, of what is before it, and of the statement as it is written."""
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
ASKS_MEANING = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:^|[.!?]\s)\s*(?:what(?:['\u2019]?s| exactly is| is| are)|define)\s+(?:exactly )?(?:meant by )?(.+?)\s*[?.!]*$",
        r"\bwhat (?:does|do) (?:\w+ ){0,3}?mean by\s+(.+?)\s*[?.!]*$",
        r"\bwhat does\s+(.+?)\s+(?:mean|stand for|refer to|express)\b",
        r"\bhow is\s+(.+?)\s+defined\b",
        r"^(.{2,60}?),? what(?:['\u2019]?s| is) (?:it|that)\s*[?.!]*$",
    )
)
WHERE = re.compile(r"\s+(?:in|on|for|when|with|during|within|at)\b.*$")
LONGEST_NAME, SHORT_WORD = 8, 3
SHORT_FORM = re.compile(r"\(\s*[\"\u201c\u2018'`*]*([^()]{2,30}?)[\"\u201d\u2019'`*]*\s*\)\s*$")
"""An abbreviation that is introduced: "Write-Ahead Logging (WAL) is …"."""
ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]|[\"\u201c\u201d\u2018`*<>]")
LEADING = re.compile(
    r"(?:in|on|at|for|with|within|simply put|here|basically|formally|technically|recall that|note that|so|thus)\b[^,]{0,60},\s*",
    re.IGNORECASE,
)
OWNER = re.compile(r"^\W*[A-Z]\w*['\u2019]s\s+", re.IGNORECASE)
APPOSED = re.compile(r",\s[^,]{1,80},$")
SAYS_WHAT = re.compile(
    r"\b(?:is|are)\s+(?:(?:just|simply|basically|essentially|really|also)\s+)?"
    r"(?:an?|the|any|one|another|what|how|when|where|those|defined as|called|known as|short for)\b"
    r"|\bare\s+(?:\w+\s+){0,2}\w{3,}s\s+(?:that|which|in|of|for|where|with|at|whose|you|we|to)\b"
    r"|\brepresents?\s+(?:an?|the|any|one)\b"
    r"|\bprovides?\s+(?:an?|the)\s+(?:\w+\s+){0,2}(?:way|ability|means|mechanism|method)\b"
    r"|\b(?:means?|refers? to|stands? for|denotes?|(?:occurs?|happens?) (?:when|if))\b",
    re.IGNORECASE,
)
EXPLAINED = re.compile(r"[^:]{2,80}:\s*\S+(?:\s+\S+){3,}")
CALLED = re.compile(r"\b(?:called|termed|known as|referred to as)\s+([^.,;:()]{2,80})", re.IGNORECASE)
AFTER_NAME = frozenset({"and", "as", "because", "by", "for", "in", "of", "or", "that", "to", "when", "where", "which", "with"})
ARTICLES = frozenset({"a", "an", "the", "its", "their", "your", "our", "so", "term", "word"})
CODE = re.compile(r"`|\(\)|[A-Z]{2,}_[A-Z]|\w+\.\w+\(|--\w|/\w+/")
IDENTIFIER = re.compile(r"--[a-z][\w-]+|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b\w+(?=\(\))")
PERSON = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+")
ASKS_NAME = re.compile(
    r"\bwho (?:\w+ly |first )?(?:invented|created|proposed|wrote|founded|developed|introduced|designed|discovered|coined|built"
    r"|started|painted|composed|hacked|won|came up with)\b"
    r"|\bwho (?:is|are|was|were) (?:behind|the (?:\w+ ){0,2}"
    r"(?:creators?|authors?|inventors?|founders?|developers?|maintainers?|designers?|programmers?|winners?))\b",
    re.IGNORECASE,
)
ASKS_VERSION = re.compile(
    r"\b(?:which (?:[\w.+-]+ ){0,2}|what |what (?:is|was) the (?:\w+ )?)(?:version|release)s?\b"
    r"(?! (?:branch|candidate|control|cycle|field|file|format|manager|notes|policy|process|scheme|string|tag)s?\b)",
    re.IGNORECASE,
)
VERSION = re.compile(
    r"(?<![\d.])v?\d+(?:\.(?:\d+|x)){1,2}(?!\.?\d)|\b(?:[vV]ersions?|[rR]eleases?|v|[A-Z][\w-]*) \d+\b"
    r"|(?i:\b(?:latest|newest|next|current|any|all|every|each) (?:\w+ ){0,2}(?:version|release)s?\b)"
)
NUMBERED = re.compile(
    r"\b(?!(?:Chapter|Section|Figure|Table|Listing|Part|Step|Lesson|Module|Page)\b)([A-Z][\w-]*) (\d+(?:\.\d+)*)\b(?![\w%])"
)
CAPITALISED = re.compile(r"\b[A-Z]\w*[a-z]\w*")
OPENS = re.compile(r"(?:^|[.!?:]\s+|\n)[\W_]*$")
FIRST_NAME = re.compile(r"\s+(?:et al|and [A-Z]|[A-Z(]|\w+ed\b|wrote|built|came)")

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
    """What a question asks for, read from its words."""

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


def ranks_by(embedder: str, language: str) -> bool:
    """Whether the ranking was fitted to this embedder's cosines and in this language."""
    return ranks(language) and embedder == weights()["embedder"]


def rank_statements(question: str, candidates: Sequence[RankableStatement]) -> list[float]:
    """A score for each statement; above zero it rather answers than not."""
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
    """How well the search, the cheap signs and the reader find the statement, by itself and beside the best one."""
    return [
        *(one.coverage, one.sign, one.cosine, one.coverage * one.cosine),
        *(one.cosine - best[0], one.sign - best[1], one.coverage - best[2]),
        *(1 / (1 + one.rank), one.cosine - chunk_mean),
        *(one.answers, max(0.0, one.answers), one.answers - best[3], one.answers == best[3]),
    ]


def _form(one: RankableStatement) -> list[float]:
    """What kind of statement it is and where it is in its chunk."""
    return [
        *(math.log(1 + len(one.text)), len(one.text) > LONG, len(one.text) < SHORT),
        *(one.kind == kind for kind in ("item", "row", "code", "maths")),
        *(one.text.rstrip().endswith(":"), bool(PRONOUN.match(one.text)), bool(ANNOUNCES.search(one.text))),
        *(one.before.rstrip().endswith(":"), one.before_kind == "heading"),
        *(one.place / max(1, one.places), one.place <= 1),
    ]


def _fits(wanted: _Wanted, one: RankableStatement) -> list[float]:
    """Whether the statement is what the question asks for: a number, a cause, an instruction, a definition."""
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
    """How much of the question is in the statement and around it, and how much the statement adds."""
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


def defines(question: str, text: str) -> bool:
    """Whether "What is a node?" meets "A node is a …", "Node: …", "… (node) is a …" or "… is called a node", and not "A lifecycle
    node is a …". The reader was taught by longer questions and misses many of these."""
    wanted = _defined(question)
    if not any(all(word in text.lower() for word in name) for name in wanted):
        return False
    verb = SAYS_WHAT.search(text[:200])
    short = SHORT_FORM.search(text[: verb.start()]) if verb else None
    if short and _name(short[1]) in wanted:
        return True
    said = ASIDE.sub(" ", text[:READ_CHARACTERS])
    for opening in dict.fromkeys((said, LEADING.sub("", said, count=1))):
        verb = SAYS_WHAT.search(opening[:200])
        named = opening[: verb.start()] if verb else opening.partition(":")[0] if EXPLAINED.match(opening) else ""
        if named and not wanted.isdisjoint(map(_name, (named, APPOSED.sub("", named.rstrip()), OWNER.sub("", named)))):
            return True
    return any(_is_called(_name(each[1]), name) for each in CALLED.finditer(said) for name in wanted)


def names_somebody(question: str, text: str) -> bool:
    """Whether the text has a name that the question does not have, if the question asks who made or did something; for any
    other question it is true. A capital that opens a sentence is a name if a surname or a deed follows."""
    if not ASKS_NAME.search(question):
        return True
    known = question.casefold()
    return any(
        not OPENS.search(text[: one.start()]) or FIRST_NAME.match(text, one.end())
        for one in CAPITALISED.finditer(text[:READ_CHARACTERS])
        if one[0].casefold() not in known
    )


def names_version(question: str, text: str) -> bool:
    """Whether the text has a number that may be a version, or says "the latest version", if the question asks for one; true for
    any other question. What is said of a feature is not when it came."""
    return not ASKS_VERSION.search(question) or bool(VERSION.search(text))


def has_numbered(question: str, text: str) -> bool:
    """Whether the text has every name with a number that the question has: what is said of "Llama" or "Llama 3" is not said of
    "Llama 2"."""
    found = NUMBERED.findall(question)
    return all(re.search(rf"\b{re.escape(name)}[\s-]?v?{re.escape(number)}\b", text, re.IGNORECASE) for name, number in found)


def under_its_name(question: str, text: str, term: str) -> int:
    """For a question that names an identifier: 1 if the statement is under that identifier as its heading or term, -1 if it is
    under another one and does not name the one asked about, else 0. A reference says "The default value is 2." forty times."""
    asked = frozenset(IDENTIFIER.findall(question))
    over = asked and frozenset(IDENTIFIER.findall(term))
    if not over:
        return 0
    return 1 if asked & over else 0 if asked & frozenset(IDENTIFIER.findall(text)) else -1


def asks_meaning(question: str) -> bool:
    """Whether `defines` may find a definition for the question."""
    return bool(_defined(question))


def _is_called(words: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return words[: len(name)] == name and (len(words) == len(name) or words[len(name)] in AFTER_NAME)


@lru_cache(maxsize=64)
def _defined(question: str) -> frozenset[tuple[str, ...]]:
    """What a question asks the meaning of, with and without a few words that say where; nothing where it asks something else."""
    found = next(filter(None, (one.search(question[-300:]) for one in ASKS_MEANING)), None)
    whole = _name(found[1]) if found else ()
    part = _name(WHERE.sub("", found[1], count=1)) if found else ()
    names = {one for one in (whole, part) if one and len(one) + 3 >= len(whole)}
    return frozenset(names - {(word,) for word in ("it", "that", "this", "they")}) if len(whole) <= LONGEST_NAME else frozenset()


def _name(text: str) -> tuple[str, ...]:
    words = (word for word in WORD.findall(text.lower()) if word not in ARTICLES)
    return tuple(
        word[:-1] if len(word) > SHORT_WORD and word.endswith("s") and not word.endswith("ss") else word for word in words
    )


def _words(text: str) -> list[str]:
    return [word[:WORD_LETTERS] for word in WORD.findall(text.lower()) if word not in LIGHT]
