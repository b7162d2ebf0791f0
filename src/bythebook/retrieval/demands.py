"""What a question insists on: its names, which no reader puts into other words, and whether it asks about what is not so. A
passage that lacks them may be about the same and still not answer. What may stand for a word that the book does not have: the
same word cut short or misspelt, or an abbreviation written out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from bythebook.index.lexical import words
from bythebook.retrieval.forms import NUMBER

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
"""Abbreviations that readers use for what a book writes out, as English stems."""

Alikes = Mapping[str, tuple[frozenset[str], ...]]
"""For each word the stems that may stand for it, in sets of which one has to be there whole."""


def alikes(unknown: Iterable[str], found: Collection[str]) -> Alikes:
    """`found` are the stems among which the words are looked for."""
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


SENTENCE_START = re.compile(r"(?:^|[.!?:]\s)\W*$")
INNER_CAPITAL = re.compile(r"(?<=.)[A-Z_]")
YEAR = re.compile(r"1\d{3}|20\d\d")
MEASURED = re.compile(r"\d+(?:[a-z]{1,2}|x\d+)", re.IGNORECASE)
"""3D, 30s, 2nd, 640x480: circumstances, which the book tells for other numbers too."""
LETTERS = re.compile(r"[^\W\d_]{2}")
NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|without|except|cannot|unlike|fail\w*|refus\w*|least|fewest)\b|n['\u2019]t\b", re.IGNORECASE
)
COUNTED = re.compile(
    r"\bhow (?:many|much|long|far|fast|often|large|big|high|deep|wide|old|tall|heavy|quick|quickly|steep)\b"
    r"|\b(?:what|which)(?:'s| is| are| was)?(?: the| a| an)?(?: \w+)? "
    r"(?:number|percentage|share|fraction|frequency|rate|size|distance|speed|value|population|amount)\b",
    re.IGNORECASE,
)
DATED = re.compile(r"\bwhen (?:was|were|did)\b|\b(?:what|which) (?:year|date|century|decade)\b", re.IGNORECASE)
DATE = re.compile(
    r"\b[12]\d{3}s?\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:century|year|month|day|after|before|once|until)", re.IGNORECASE
)
CAPITALISING = ("de", "lb")
"""Languages that write every noun with a capital."""


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
    """The names that are not among the stems, nor anything that may stand for them."""
    missing = [name for name in wanted if name not in stems]
    others = alikes(missing, stems)
    return frozenset(name for name in missing if not holds(stems, name, others))


def negates(text: str, language: str) -> bool:
    """English only; in other languages nothing is said to negate."""
    return language.casefold().startswith("en") and NEGATION.search(text) is not None


def weighed(
    found: Sequence[tuple[int, int, str]], rarity: Mapping[str, float], *, most: float, question: str
) -> dict[str, float]:
    """The rarity of each word once. A word the book has stands for its parts too, and a compound it does not have is
    nothing but its parts."""
    held = [(start, end) for start, end, stem in found if rarity[stem] < most]
    kept: dict[str, float] = {}
    for start, end, stem in found:
        inside = any(left <= start and end <= right and (left, right) != (start, end) for left, right in held)
        compound = rarity[stem] >= most and "-" in question[start:end]
        if not inside and not compound:
            kept[stem] = rarity[stem]
    return kept or dict(rarity)


def gives(question: str, texts: Collection[str], language: str) -> bool:
    """Whether any of the texts holds a number or a time, where the question asks for one. English only."""
    if not language.casefold().startswith("en"):
        return True
    wanted = DATE if DATED.search(question) else NUMBER if COUNTED.search(question) else None
    return wanted is None or any(wanted.search(text) for text in texts)


def _is_name(word: str, before: str, language: str) -> bool:
    if any(map(str.isdigit, word)):
        return bool(YEAR.fullmatch(word) or (LETTERS.search(word) and not MEASURED.fullmatch(word)))
    if len(word) < 2 or language.partition("-")[0].casefold() in CAPITALISING:
        return False
    if word.isupper():
        return len(word) > 2
    return bool(INNER_CAPITAL.search(word)) or (word[0].isupper() and not SENTENCE_START.search(before))
