"""Compares a drafted sentence with the book's own, word by word. Where both have the same words in the same order, a word that
differs is a change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from functools import lru_cache

from bythebook.grounding.facts import NEGATORS, in_a_name, is_light, stem
from bythebook.grounding.numbers import NUMBER_WORDS, value_of
from bythebook.grounding.synonyms import alike
from bythebook.grounding.units import UNITS

Tokens = tuple[str, ...]

NEAR = 0.6
"""The two are compared word by word if the book has this share of a draft's words in the same order."""
SAME = 0.8
"""From this share on, a word replaced by another changes what is said. Below it, the sentence is in other words."""
TOKEN = re.compile(r"\d[\d,.\u00a0\u202f]*\d|\d|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[%°\u2212-](?=\d)|[%°]")
NOT = "<not>"
DENIES = "denies what its sources affirm"
POINTERS = frozenset({"it", "they", "them", "this", "that", "these", "those", "he", "she", "one", "such"})
"""Words that refer to something said before. Naming that thing instead changes nothing."""
LEFT_OUT = 3
"""How many words may be left out together with a denial. A longer gap may hold denials of its own."""
SHORT_GAP = 2
FEWEST = 4
"""How many words must agree before a "not" among them counts as a change."""


def altered(text: str, windows: Sequence[str], language: str) -> str | None:
    """What the sentence changes in a statement that it otherwise repeats; None where it repeats none or changes nothing."""
    ours = tokens(text, language)
    for window in windows:
        theirs = tokens(window, language)
        matching = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        alike_words = sum(block.size for block in matching)
        if alike_words < NEAR * len(ours):
            continue
        for said, written in _gaps(ours, theirs, matching, language):
            reason = _denial(said, written, ours, theirs)
            if not reason and alike_words >= SAME * len(ours):
                reason = _substitution(said, written, language)
            if reason:
                return reason
    return None


def denied(text: str, windows: Sequence[str], language: str) -> str | None:
    """What the sentence changes by a "not": one added to or left out of a statement that it otherwise repeats."""
    ours = tokens(text, language)
    for window in windows:
        theirs = tokens(window, language)
        if (ours.count(NOT) - theirs.count(NOT)) % 2 == 0 or len({*ours} & {*theirs}) < NEAR * len({*ours}):
            continue
        matching = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        if sum(block.size for block in matching) < max(FEWEST, NEAR * len(ours)):
            continue
        for said, written in _gaps(ours, theirs, matching, language):
            if reason := _denial(said, written, ours, theirs):
                return reason
    return None


def _gaps(ours: Tokens, theirs: Tokens, matching: Sequence[Match], language: str) -> Iterator[tuple[Tokens, Tokens]]:
    """The gaps between the stretches that agree. A single light word, such as "the", is no such stretch."""
    first = start = 0
    for block in matching:
        lone = block.size == 1 and is_light(ours[block.a], language)
        if lone and 0 < block.a < len(ours) - 1:
            continue
        yield ours[first : block.a], theirs[start : block.b]
        first, start = block.a + block.size, block.b + block.size


def _denial(said: Tokens, written: Tokens, ours: Tokens, theirs: Tokens) -> str | None:
    more = said.count(NOT) - written.count(NOT)
    if more > 0 and ours.count(NOT) > theirs.count(NOT):
        return DENIES
    if more < 0 and len(written) - len(said) <= LEFT_OUT and ours.count(NOT) < theirs.count(NOT):
        return "affirms what its sources deny"
    return None


def _substitution(said: Tokens, written: Tokens, language: str) -> str | None:
    """Finds a word replaced by another in a gap of one or two words. A longer gap may only say the same in another order."""
    if not written or written[0] in POINTERS or max(len(said), len(written)) > SHORT_GAP:
        return None
    new = [word for word in said if word not in written and not is_light(word, language)]
    gone = [word for word in written if word not in said and not is_light(word, language)]
    new = [word for word in new if not any(alike(word, other) for other in written)]
    return f"says '{new[0]}' where its sources say '{gone[0]}'" if new and gone else None


@lru_cache(maxsize=4096)
def tokens(text: str, language: str) -> Tokens:
    """The stems of a text, including stop words; numbers by their value, units by their sign, and one token for every plain
    negation."""
    return tuple(_token(found[0], language, named=in_a_name(text, found.start(), found.end())) for found in TOKEN.finditer(text))


def _token(found: str, language: str, *, named: bool) -> str:
    word = found.casefold().replace("\u2019", "'")
    if found[0].isdigit():
        return value_of(found)
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    if word == "nor":  # the "not" has been said: "neither" or "not" stands before it
        return "or"
    if not named and (word in NEGATORS or word.endswith("n't")):
        return NOT
    return UNITS.get(found) or UNITS.get(word) or stem(word, language) if len(found) > 1 else found
