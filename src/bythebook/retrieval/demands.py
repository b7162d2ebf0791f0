"""What a question insists on: its names, which no reader puts into other words, and whether it asks about what is not so. A
passage that lacks them may be about the same and still not answer."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from bythebook.index.lexical import words

SENTENCE_START = re.compile(r"(?:^|[.!?:]\s)\W*$")
INNER_CAPITAL = re.compile(r"(?<=.)[A-Z_]")
YEAR = re.compile(r"1\d{3}|20\d\d")
MEASURED = re.compile(r"\d+(?:[a-z]{1,2}|x\d+)", re.IGNORECASE)
"""3D, 30s, 2nd, 640x480: circumstances, which the book tells for other numbers too."""
LETTERS = re.compile(r"[^\W\d_]{2}")
NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|without|except|cannot|unlike|fail\w*|refus\w*|least|fewest)\b|n['\u2019]t\b", re.IGNORECASE
)
CAPITALISING = ("de", "lb")
"""Languages that write every noun with a capital."""
SHORTEST_MISSPELT = 5
ALIKE = 0.84


def names(question: str, language: str, *, known: Collection[str]) -> frozenset[str]:
    """The stems of names, identifiers and years. `known` are the stems the book has: an acronym it knows may stand there
    written out, and is not insisted on."""
    found = ((question[start:end], start, stem) for start, end, stem in words(question, language))
    return frozenset(
        stem
        for word, start, stem in found
        if _is_name(word, question[:start], language) and not (word.isupper() and word.isalpha() and stem in known)
    )


def lacking(wanted: Collection[str], stems: Collection[str]) -> frozenset[str]:
    """The names that are not among the stems, nor misspelt there or in the question."""
    return frozenset(name for name in wanted if name not in stems and not _misspelt(name, stems))


def negates(text: str, language: str) -> bool:
    """English only; in other languages nothing is said to negate."""
    return language.casefold().startswith("en") and NEGATION.search(text) is not None


def _is_name(word: str, before: str, language: str) -> bool:
    if any(map(str.isdigit, word)):
        return bool(YEAR.fullmatch(word) or (LETTERS.search(word) and not MEASURED.fullmatch(word)))
    if len(word) < 2 or language.partition("-")[0].casefold() in CAPITALISING:
        return False
    if word.isupper():
        return len(word) > 2
    return bool(INNER_CAPITAL.search(word)) or (word[0].isupper() and not SENTENCE_START.search(before))


def _misspelt(name: str, stems: Collection[str]) -> bool:
    if len(name) < SHORTEST_MISSPELT:
        return False
    return any(near[0] == name[0] for near in get_close_matches(name, stems, n=2, cutoff=ALIKE))
