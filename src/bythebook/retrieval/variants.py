"""Words of a question that the book does not have, and what in it may stand for them: the same word cut short or misspelt, or an
abbreviation written out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

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
