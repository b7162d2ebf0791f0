"""Fuses the scores of both searches, looks closely at the best texts, and drops duplicates.

The weights were measured on quiz questions of a 325-lesson textbook and on SQuAD (see docs/benchmarks.md): fusing scores beats
fusing ranks, and the density of the question's words in the closest 120 characters adds two points of recall@1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop

from bythebook.books.model import Chunk, ChunkSection
from bythebook.index.lexical import words
from bythebook.index.vectors import Candidate, ChunkText
from bythebook.retrieval.ranker import asks_meaning, defines, ranks

DENSE_WEIGHT = 0.45
CLOSENESS_WEIGHT = 0.5
DEFINITION_WEIGHT = 0.6
"""The bonus for a text that defines what the question asks the meaning of. In some books "What is WAL?" has its words in every
chapter, and its definition in one."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WINDOW_CHARACTERS = 120


def fuse(candidates: Sequence[Candidate]) -> list[tuple[Candidate, float]]:
    """Fuses the scores: each side is stretched to 0 to 1 over the candidates, then weighted. Best first, ties by id."""
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


@dataclass(frozen=True, slots=True)
class CloseLook:
    """The result of a close look at a candidate."""

    candidate: Candidate
    closeness: float
    score: float
    defines: bool = False

    @property
    def place(self) -> tuple[float, bool, str]:
        """A sort key; the smaller, the better."""
        return -self.score, not self.defines, self.candidate.id


def read_closely(
    question: str, language: str, texts: Sequence[ChunkText], best: Mapping[str, tuple[Candidate, float]], *, most: int
) -> list[CloseLook]:
    """The best `most` candidates, each text once: of two chunks that say the same, the better one stays. A candidate is skipped
    if it could not be among them even with all its words of the question side by side."""
    measure = Closeness(question, language)
    meaning = ranks(language) and asks_meaning(question)
    first: dict[str, CloseLook] = {}
    scores: list[float] = []  # a heap of the best `most` so far
    for text in texts:
        candidate, fused = best[text.id]
        if len(scores) == most and not meaning and fused + CLOSENESS_WEIGHT * measure.at_most(text.folded) < scores[0]:
            continue
        closeness = measure.of(text.folded)
        defined = meaning and any(defines(question, one) for one in SENTENCE.split(text.folded))
        look = CloseLook(candidate, closeness, fused + CLOSENESS_WEIGHT * closeness, defined)
        known = first.get(text.content_hash)
        if known is None:
            (heappush if len(scores) < most else heappushpop)(scores, look.score)
        if known is None or look.place < known.place:
            first[text.content_hash] = look
    # No higher than the best: how far a score stands above the others says how sure the find is, and a form does not.
    top = max((look.score for look in first.values()), default=0.0)
    looks = (replace(one, score=min(top, one.score + DEFINITION_WEIGHT)) if one.defines else one for one in first.values())
    return sorted(looks, key=lambda look: look.place)[:most]


def nearest_section(chunk: Chunk, measure: Closeness) -> ChunkSection:
    """The section that has most of the question; of two that have the same, the one that leads the chunk, else the first."""
    if not chunk.sections:
        return chunk.section_at(0)
    ends = [*(section.start for section in chunk.sections[1:]), len(chunk.text)]
    texts = {section: chunk.text[section.start : end] for section, end in zip(chunk.sections, ends, strict=True)}
    return max(texts, key=lambda section: (measure.of(texts[section].casefold()), section.heading_path == chunk.heading_path))


class Closeness:
    """How much of a question stands close together in a text, 0-1. Longer words weigh more."""

    def __init__(self, question: str, language: str) -> None:
        self._beginnings = list(dict.fromkeys(_beginning(stem) for _, _, stem in words(question, language)))
        self._anywhere = [not beginning[0].isascii() for beginning in self._beginnings]
        self._weights = [math.sqrt(len(beginning)) for beginning in self._beginnings]
        self._total = sum(self._weights)

    def at_most(self, folded: str) -> float:
        """An upper bound, found in a fifth of the time."""
        there = (weight for beginning, weight in zip(self._beginnings, self._weights, strict=True) if beginning in folded)
        return sum(there) / self._total if self._total else 0.0

    def of(self, folded: str) -> float:
        """The heaviest set of different words of the question within one window of a text, which must be case folded already."""
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
        """Where words begin with a stem of the question, and which stem that is. In scripts without spaces a stem may be
        anywhere. (One regular expression for all stems takes ten times as long.)"""
        places = []
        for word, beginning in enumerate(self._beginnings):
            at = text.find(beginning)
            while at >= 0:
                if at == 0 or self._anywhere[word] or not ((before := text[at - 1]).isalnum() or before == "_"):
                    places.append((at, word))
                at = text.find(beginning, at + 1)
        return places


def _beginning(stem: str) -> str:
    """The letters that a stem has in common with its words: "happi" with "happy", "cours" with "course"."""
    return stem[:-1] if len(stem) > 3 and stem[-1] in "ie" else stem
