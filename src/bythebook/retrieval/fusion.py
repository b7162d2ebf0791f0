"""One order out of two retrievals and a close look at the best. Pure: scores and texts in, order out.

The weights were measured on quiz questions of a 325-lesson textbook and on SQuAD (see docs/benchmarks.md): scores fused
beat ranks fused, and the density of the question's words in the closest 120 characters is worth two points of recall@1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bythebook.index.lexical import words
from bythebook.index.vectors import Candidate

DENSE_WEIGHT = 0.4
CLOSENESS_WEIGHT = 0.5
WINDOW_CHARACTERS = 120


def fuse(candidates: Sequence[Candidate]) -> list[tuple[Candidate, float]]:
    """Each side stretched to 0-1 over the candidates, then weighted. Best first, ties by id."""
    dense = _stretched([candidate.cosine for candidate in candidates])
    lexical = _stretched([candidate.lexical for candidate in candidates])
    fused = [
        (candidate, DENSE_WEIGHT * one + (1 - DENSE_WEIGHT) * other)
        for candidate, one, other in zip(candidates, dense, lexical, strict=True)
    ]
    return sorted(fused, key=lambda pair: (-pair[1], pair[0].id))


def _stretched(scores: Sequence[float]) -> list[float]:
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]


class Closeness:
    """How much of a question stands close together in a text, 0-1. Longer words weigh more."""

    def __init__(self, question: str, language: str) -> None:
        self._beginnings = list(dict.fromkeys(_beginning(stem) for _, _, stem in words(question, language)))
        self._anywhere = [not beginning[0].isascii() for beginning in self._beginnings]
        self._weights = [math.sqrt(len(beginning)) for beginning in self._beginnings]
        self._total = sum(self._weights)

    def at_most(self, folded: str) -> float:
        """What it cannot be more than, found in a fifth of the time."""
        there = (weight for beginning, weight in zip(self._beginnings, self._weights, strict=True) if beginning in folded)
        return sum(there) / self._total if self._total else 0.0

    def of(self, folded: str) -> float:
        """The heaviest set of different words of the question within one window of a text that is case folded already."""
        found = self._places(folded)
        found.sort()
        weights, inside = self._weights, [0] * len(self._weights)
        first, weight, best = 0, 0.0, 0.0
        for position, word in found:
            if not inside[word]:
                weight += weights[word]
            inside[word] += 1
            while position - found[first][0] > WINDOW_CHARACTERS:
                left = found[first][1]
                inside[left] -= 1
                if not inside[left]:
                    weight -= weights[left]
                first += 1
            if weight > best:
                best = weight
        return best / self._total if found else 0.0

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where words begin so, and which. Scripts without spaces have no beginnings of words: there, anywhere. (A regular
        expression for all of them at once takes ten times as long.)"""
        places = []
        for word, beginning in enumerate(self._beginnings):
            at = text.find(beginning)
            while at >= 0:
                if at == 0 or self._anywhere[word] or not ((before := text[at - 1]).isalnum() or before == "_"):
                    places.append((at, word))
                at = text.find(beginning, at + 1)
        return places


def _beginning(stem: str) -> str:
    """What a stem and its words have in common: "happi" stands for "happy", "cours" for "course"."""
    return stem[:-1] if len(stem) > 3 and stem[-1] in "ie" else stem
