"""The words of a question: what it asks about, which words are names, which readers do not reword, how rare each is, and how much
of it a text has. Also what may replace a word that the book does not have: the word shortened or misspelt, or an abbreviation
written out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from bythebook.books.model import Chunk
from bythebook.books.statements import statements
from bythebook.index.lexical import words
from bythebook.retrieval.answer_shapes import QUANTITY

ASKING = re.compile(
    rf"\bhow (?:{QUANTITY})\b|\bwhat (?:is|are) the differences? between\b|\bgive (?:me )?an example of\b", re.IGNORECASE
)
PLACED = re.compile(
    r"(?P<asked>(?:what(?:'s|s| is| are)|define|explain)\b.+?)\s+in\s+(?P<place>(?:an? |the )?[\w+.#-]+(?: [\w+.#-]+)?)\s*[?.]?",
    re.IGNORECASE,
)
"""A question that says where to look: "What is a topic in ROS 2?" """
SENTENCE_START = re.compile(r"(?:^|[.!?:]\s)\W*$")
INNER_CAPITAL = re.compile(r"(?<=.)[A-Z_]")
YEAR = re.compile(r"1\d{3}|20\d\d")
MEASURED = re.compile(r"\d+(?:[a-z]{1,2}|x\d+)", re.IGNORECASE)
"""Words with figures such as 3D, 30s, 2nd, 640x480: circumstances, which the book may describe with other numbers."""
LETTERS = re.compile(r"[^\W\d_]{2}")
NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|without|except|cannot|unlike|fail\w*|refus\w*|least|fewest)\b|n['\u2019]t\b", re.IGNORECASE
)
CAPITALISING = ("de", "lb")
"""Languages that write every noun with a capital."""
SHORTEST_CUT = 4
SHORTEST_MISSPELT = 5
ALIKE = 0.84
WRITTEN_OUT: Mapping[str, frozenset[str]] = {
    "ai": frozenset({"artifici", "intellig"}),
    "cv": frozenset({"comput", "vision"}),
    "llm": frozenset({"languag", "model"}),
    "ml": frozenset({"machin", "learn"}),
    "nn": frozenset({"neural", "network"}),
    "os": frozenset({"oper", "system"}),
    "rl": frozenset({"reinforc", "learn"}),
    "vr": frozenset({"virtual", "realiti"}),
}
"""Abbreviations that readers use for what a book writes out, with its English stems."""

Alikes = Mapping[str, tuple[frozenset[str], ...]]
"""For each word, the sets of stems that may replace it. One of the sets must be there completely."""


def asked_about(question: str, language: str) -> str:
    """The question without the words that only ask: a sentence that says "many" gives no number."""
    return ASKING.sub(" ", question) if language.casefold().startswith("en") else question


def placed_in(question: str, language: str) -> tuple[str, str] | None:
    """What a question asks, and the subject in which it says to look for that."""
    found = PLACED.fullmatch(question.strip()) if language.casefold().startswith("en") else None
    return (found["asked"], found["place"]) if found else None


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The stems of what a question asks about, each with its rarity. They tell how much of the question a text has."""

    weights: Mapping[str, float]
    language: str

    @classmethod
    def of(cls, question: str, chunks: Sequence[Chunk], language: str, rarity: Mapping[str, float]) -> QuestionWords:
        asked = sorted(stems(asked_about(question, language), language))
        """`rarity` is that of stems in the whole book, as far as it is known."""
        if not rarity.keys() >= set(asked):
            rarity = {**_rarity_within(asked, chunks, language), **rarity}
        return cls({stem: rarity[stem] for stem in asked}, language)

    def share(self, found: frozenset[str]) -> float:
        """The share of the question that these stems are, 0 to 1; rare words weigh more."""
        total = sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in found) / total if total else 0.0

    def named_by(self, text: str) -> float:
        """How well `text` names what is asked about: all of it, and little else."""
        found = stems(text, self.language)
        return self.share(found) / (1 + len(found - self.weights.keys()))


def _rarity_within(asked: Sequence[str], chunks: Sequence[Chunk], language: str) -> dict[str, float]:
    """How rare words are among the statements that are read, where their rarity in the book is not known."""
    found = [stems(one.readable, language) for chunk in chunks for one in statements(chunk.preface, chunk.text)]
    seen = Counter(stem for one in found for stem in one)
    return {stem: math.log(1 + (len(found) + 1) / (seen[stem] + 0.5)) for stem in asked}


@lru_cache(maxsize=8192)
def stems(text: str, language: str) -> frozenset[str]:
    """The words of a text as the search sees them, each once."""
    return frozenset(stem for _, _, stem in words(text, language))


def names(question: str, language: str, *, known: Collection[str]) -> frozenset[str]:
    """The stems of names, identifiers and years. `known` are the stems that the book has: an acronym that it knows may be
    written out in a passage and is not required."""
    found = ((question[start:end], start, stem) for start, end, stem in words(question, language))
    return frozenset(
        stem
        for word, start, stem in found
        if _is_name(word, question[:start], language) and not (word.isupper() and word.isalpha() and stem in known)
    )


def lacking(wanted: Collection[str], stems: Collection[str]) -> frozenset[str]:
    """The names that are not among the stems, and that nothing there replaces."""
    missing = [name for name in wanted if name not in stems]
    others = alikes(missing, stems)
    return frozenset(name for name in missing if not holds(stems, name, others))


def negates(text: str, language: str) -> bool:
    """Whether the text negates. English only; in other languages nothing does."""
    return language.casefold().startswith("en") and NEGATION.search(text) is not None


def weighed(
    found: Sequence[tuple[int, int, str]], rarity: Mapping[str, float], *, most: float, question: str
) -> dict[str, float]:
    """The rarity of each word, counted once. A word that the book has replaces its parts; a compound that it does not have is
    replaced by its parts."""
    held = [(start, end) for start, end, stem in found if rarity[stem] < most]
    kept: dict[str, float] = {}
    for start, end, stem in found:
        inside = any(left <= start and end <= right and (left, right) != (start, end) for left, right in held)
        compound = rarity[stem] >= most and "-" in question[start:end]
        if not inside and not compound:
            kept[stem] = rarity[stem]
    return kept or dict(rarity)


def _is_name(word: str, before: str, language: str) -> bool:
    if any(map(str.isdigit, word)):
        return bool(YEAR.fullmatch(word) or (LETTERS.search(word) and not MEASURED.fullmatch(word)))
    if len(word) < 2 or language.partition("-")[0].casefold() in CAPITALISING:
        return False
    if word.isupper():
        return len(word) > 2
    return bool(INNER_CAPITAL.search(word)) or (word[0].isupper() and not SENTENCE_START.search(before))


def alikes(unknown: Iterable[str], found: Collection[str]) -> Alikes:
    """What may replace these words. `found` are the stems among which that is looked for."""
    return {stem: tuple(_alike(stem, found)) for stem in unknown}


def holds(stems: Collection[str], stem: str, others: Alikes) -> bool:
    return stem in stems or any(all(each in stems for each in one) for one in others.get(stem, ()))


def _alike(stem: str, found: Collection[str]) -> Iterable[frozenset[str]]:
    if stem in WRITTEN_OUT:
        yield WRITTEN_OUT[stem]
    if not stem.isalpha():
        return
    if len(stem) >= SHORTEST_CUT:
        for other in sorted(found):
            if other.startswith(stem):
                yield frozenset({other})
    if len(stem) >= SHORTEST_MISSPELT:
        for other in get_close_matches(stem, sorted(found), n=2, cutoff=ALIKE):
            if other[0] == stem[0]:
                yield frozenset({other})
