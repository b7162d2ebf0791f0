"""Judges the meaning of a sentence by a second, blind reading: what a judge is shown, what it answers, and what happens to the
sentence.

A judge sees a sentence and the passages it cites, but neither the question nor the rest of the draft. Its verdict counts if the
deciding words that it names are really there; otherwise the words rule decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bythebook.books.markdown import letters, single_spaced
from bythebook.grounding.citations import Doubtful, Supported, Unsupported
from bythebook.grounding.facts import is_light, read

LONGEST_WORDS = 120
"""How many characters of a judge's deciding words a reason shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What a judge sees: one sentence and the passages it cites, each with its place in the book."""

    sentence: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a judge says of one claim. `words` are the deciding words: from a passage if the claim is supported, else from the
    sentence."""

    supported: bool
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The opinions on the claims of one batch, None where there is none. `note` says why the judge failed, if it did."""

    opinions: tuple[Opinion | None, ...]
    tokens: int = 0
    note: str = ""


Hear = Callable[[int, Opinion], None]
"""Receives the place of a claim and the opinion on it while the judge is still answering."""
Judge = Callable[[Sequence[Assertion], Hear], Awaitable[Judgement]]
"""A judge never raises for a server that fails or is late: its judgement then has no opinions, and a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The decision on a sentence, and who made it."""

    outcome: Supported | Unsupported
    by: Literal["program", "judge", "words"]
    note: str = field(default="")


def assertions_of(doubtful: Sequence[Doubtful]) -> list[Assertion]:
    """What the judge is asked about one batch: every sentence once, then, in reverse order, once more those that the words rule
    would release. A judge's most frequent error is a single "no" to a sentence in the book's words."""
    asked = [Assertion(sentence=one.text, passages=one.passages) for one in doubtful]
    again = [claim for claim, one in zip(asked, doubtful, strict=True) if isinstance(one.by_words, Supported)]
    return [*asked, *reversed(again)]


def settle(doubtful: Sequence[Doubtful], judgement: Judgement) -> list[Settled]:
    """The decisions on the sentences of one batch, in their order."""
    first = list(judgement.opinions[: len(doubtful)])
    first += [None] * (len(doubtful) - len(first))
    second = list(reversed(judgement.opinions[len(doubtful) :]))
    settled = []
    for one, opinion in zip(doubtful, first, strict=True):
        other = second.pop(0) if isinstance(one.by_words, Supported) and second else None
        settled.append(
            _settled(one, [believed for each in (opinion, other) if (believed := _believed(one, each))], judgement.note)
        )
    return settled


def approved(one: Doubtful, opinion: Opinion) -> Settled | None:
    """The decision on a sentence after the judge's first "yes", whatever the judge says later; None where that "yes" does not
    count."""
    yes = opinion.supported and _believed(one, opinion) is not None
    return Settled(outcome=one.supported, by="judge") if yes else None


def _believed(one: Doubtful, opinion: Opinion | None) -> Opinion | None:
    """The opinion, if it counts: a "yes" counts where its deciding words mean something and are in a passage; a "no" always
    counts."""
    if opinion is None or not opinion.supported:
        return opinion
    words, said = letters(opinion.words), read(opinion.words, "en")  # "a" and "the" stand everywhere
    telling = said.quantities or not all(is_light(stem, "en") for stem in said.content)
    return opinion if telling and any(words in letters(passage) for passage in one.passages) else None


def _settled(one: Doubtful, opinions: Sequence[Opinion], note: str) -> Settled:
    if not opinions:
        return Settled(outcome=one.by_words, by="words", note=note or "the judge gave no answer that can be used")
    if any(opinion.supported for opinion in opinions):
        return Settled(outcome=one.supported, by="judge")
    words = single_spaced(opinions[0].words)[:LONGEST_WORDS]
    reason = (
        f"means something else than its sources, says the judge ({words})" if words else "means something else than its sources"
    )
    return Settled(outcome=Unsupported(text=one.text, reason=reason), by="judge")
