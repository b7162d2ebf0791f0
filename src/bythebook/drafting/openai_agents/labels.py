"""Labels for sentences that a model wrote without one. Small models forget a third of them.

A label put here is a claim like the model's own: what it names is still checked before anyone sees the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable

from bythebook.index.lexical import words
from bythebook.retrieval.evidence import Evidence

LEAST_WORDS = 3
"""A sentence of fewer words shares all of them with something by chance."""
LEAST_SHARE = 0.5


def nearest_labels(text: str, evidence: Iterable[Evidence], language: str) -> tuple[int, ...]:
    """The evidence with most of the sentence's words; none where no evidence has half of them."""
    said = _stems(text, language)
    if len(said) < LEAST_WORDS:
        return ()
    shares = {one.label: len(said & _stems(one.text, language)) / len(said) for one in evidence}
    best = max(shares, key=lambda label: (shares[label], -label), default=None)
    return (best,) if best is not None and shares[best] >= LEAST_SHARE else ()


def _stems(text: str, language: str) -> set[str]:
    return {stem for _, _, stem in words(text, language)}
