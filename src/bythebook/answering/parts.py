"""Several questions in one: each is looked up, decided and drafted in a turn of its own. The whole turn is as sure as the least
sure of them, and says which of them the book does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from bythebook.answering.question import Question
from bythebook.answering.turn import Turn
from bythebook.followups.rewrite import Rewrite
from bythebook.retrieval.query import MAX_TEXT
from bythebook.retrieval.search import RankedChunk
from bythebook.texts import texts

MOST_PARTS = 4
"""How many questions are looked up in one turn."""
LONGEST_NAMED = 160
"""Characters of the questions that a note names."""


def whole(parts: Sequence[Turn], question: Question, rewrite: Rewrite, *, left: Sequence[str]) -> Turn:
    """Makes one whole turn of its parts. All of them add to the same sentences and the same trace."""
    found = _alternating(parts)
    weakest = min(parts, key=_sureness)
    query = replace(weakest.look.found.query, text=rewrite.text[:MAX_TEXT])
    turn = replace(
        weakest,
        question=question,
        rewrite=rewrite,
        look=replace(weakest.look, found=replace(weakest.look.found, query=query, hits=tuple(hit for hit, _ in found))),
        levels=[level for _, level in found],
        left=tuple(left),
    )
    reserved = len(_note(turn, [part.standalone for part in parts], left))
    turn.parts = tuple(
        replace(
            turn,
            question=replace(question, text=part.standalone),
            rewrite=part.rewrite,
            look=part.look,
            levels=part.levels,
            confidence=part.confidence,
            share=place / len(parts),
            reserved=reserved,
            tokens=0,
        )
        for place, part in enumerate(parts, start=1)
    )
    return turn


def _alternating(parts: Sequence[Turn]) -> list[tuple[RankedChunk, float]]:
    """The best result of each part, then the second of each, each chunk once, with its best relevance."""
    ranked = [list(zip(part.look.found.hits, part.levels, strict=True)) for part in parts]
    best: dict[str, tuple[RankedChunk, float]] = {}
    for pair in (pair for row in zip_longest(*ranked) for pair in row if pair):
        known = best.setdefault(pair[0].chunk.id, pair)
        best[pair[0].chunk.id] = max(known, pair, key=lambda one: one[1])
    return list(best.values())


def gather(turn: Turn) -> None:
    """Gives the whole turn the results of its parts: the evidence, the confidence and the tokens."""
    answering = [part for part in turn.parts if not part.failure]
    decisive = min(answering, key=_sureness) if answering else max(turn.parts, key=_sureness)
    turn.evidence = max((part.evidence for part in turn.parts), key=len)
    turn.confidence, turn.failure = decisive.confidence, decisive.failure
    turn.gate, turn.beyond, turn.declined = decisive.gate, decisive.beyond, decisive.declined
    turn.tokens += sum(part.tokens for part in turn.parts)


def note(turn: Turn) -> str:
    """What is said of the parts that are not answered; empty where all are."""
    failed = [part for part in turn.parts if part.failure]
    unsupported = [part for part in failed if part.failure and part.failure.reason == "unsupported"]
    lost = [part.standalone for part in failed if part not in unsupported]
    return _note(turn, lost, [*(part.standalone for part in unsupported), *turn.left])


def _note(turn: Turn, lost: Sequence[str], left: Sequence[str]) -> str:
    said = texts(turn.state.language)
    told = ((said.part_missing, lost), (said.part_left, left))
    return " ".join(text.format(questions=_named(questions)) for text, questions in told if questions)


def _named(questions: Sequence[str]) -> str:
    named = " ".join(f"“{one}”" for one in questions)
    return named if len(named) <= LONGEST_NAMED else f"{named[:LONGEST_NAMED].rstrip()} …”"


def _sureness(turn: Turn) -> float:
    return turn.confidence.average_similarity
