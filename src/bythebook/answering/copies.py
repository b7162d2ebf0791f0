"""Removes sentences that a model copied from the book and that do not answer. They are true, but small models copy whatever they
are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bythebook.answering.draft_check import SettledSentence
from bythebook.answering.turn import Turn
from bythebook.grounding.citations import Citation, Supported, Unsupported
from bythebook.retrieval.demands import lacking, names
from bythebook.retrieval.sentence_reader import all_stems

MOST_COPIED = 4
"""The most copied sentences in one answer. A model that copies more repeats the passage."""


def without_idle_copies(turn: Turn, checked: SettledSentence) -> SettledSentence:
    """The checked sentence, dropped if it is a copy that does not answer: where the program itself would have refused and the
    passage does not mention what was asked about, or where the model goes on copying."""
    outcome, settled = checked.settled.outcome, checked.settled
    if settled.by != "program" or not isinstance(outcome, Supported):
        return checked
    reason = ""
    if turn.doubted and (missing := _missing(turn, outcome.citations)):
        turn.lacks, reason = missing, f"is from a passage that does not speak of {missing}"
    else:
        turn.copied += outcome.kind == "sentence"
        if turn.copied > MOST_COPIED:
            reason = "goes on copying the passage"
    return (
        replace(checked, settled=replace(settled, outcome=Unsupported(text=outcome.text, reason=reason))) if reason else checked
    )


def _missing(turn: Turn, citations: Sequence[Citation]) -> str:
    """A name in the question that the quoted passages do not contain; empty where they contain all."""
    language, rarity = turn.state.language, turn.look.rarity
    known = [stem for stem, idf in rarity.items() if idf < max(rarity.values())]
    quoted = {one.chunk_id for one in citations}
    passages = (chunk for one in turn.evidence for chunk in one.passages if chunk.id in quoted)
    held = frozenset[str]().union(*(all_stems(chunk, language) for chunk in passages))
    return min(lacking(names(turn.standalone, language, known=known), held), default="")
