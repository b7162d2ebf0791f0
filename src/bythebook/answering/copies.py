"""Removes sentences that a model copied from the book and that do not answer. They are true, but small models copy whatever
they are shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from bythebook.answering.draft_check import SettledSentence
from bythebook.answering.turn import Turn
from bythebook.books.markdown import letters
from bythebook.books.model import Chunk
from bythebook.books.statements import Statement
from bythebook.grounding.citations import Citation, Supported, Unsupported
from bythebook.grounding.verdict import POOL
from bythebook.retrieval.question_words import lacking, names
from bythebook.retrieval.sentence_reader import UNREAD, all_stems

MOST_COPIED = 4
"""The most copied sentences in one answer. A model that copies more repeats the passage."""
DOUBTED = -4.5
"""The least score of a copied sentence where the program itself would have refused; elsewhere it is `UNREAD`."""
FAR_BELOW = 6.0
"""How far the first sentence of an answer may score below the best statement of the passages, where that one rather answers
than not. Measured: these three limits remove none of 84 right answers, but 92 of 100 other sentences of the same passages, and
59 of 100 of the five others that the reader scores best."""

ReadAnswers = Callable[[str, Chunk, str], Awaitable[list[tuple[Statement, float]]]]
"""Gives the reader's score of each statement of a passage, for a question and a language."""


async def without_idle_copies(turn: Turn, checked: SettledSentence, read: ReadAnswers) -> SettledSentence:
    """The checked sentence, dropped if it is a copy that does not answer: the program itself would have refused and the passage
    does not mention what was asked about, or the reader finds that the sentence answers something else, or the model goes on
    copying."""
    outcome, settled = checked.settled.outcome, checked.settled
    if settled.by != "program" or not isinstance(outcome, Supported):
        return checked
    reason = await _idle(turn, outcome, read)
    return (
        replace(checked, settled=replace(settled, outcome=Unsupported(text=outcome.text, reason=reason))) if reason else checked
    )


async def _idle(turn: Turn, outcome: Supported, read: ReadAnswers) -> str:
    """Why the copy does not answer; empty where it may answer."""
    if turn.doubted and (missing := _missing(turn, outcome.citations)):
        turn.unanswered = f"the passages do not speak of what was asked about ({missing})"
        return f"is from a passage that does not speak of {missing}"
    if outcome.kind != "sentence":
        return ""
    if await _answers_another_question(turn, outcome, read):
        turn.unanswered = "what the model copied from the passages does not answer the question"
        return "is copied and does not answer the question"
    turn.copied += 1
    return "goes on copying the passage" if turn.copied > MOST_COPIED else ""


async def _answers_another_question(turn: Turn, outcome: Supported, read: ReadAnswers) -> bool:
    """Whether the reader finds that the copied sentence answers something else. The reader has read the best passages before,
    so this takes no time."""
    copied = letters(outcome.text)
    found = []
    for chunk in _quoted(turn, outcome.citations):
        for statement, score in await read(turn.look.found.query.text, chunk, turn.state.language):
            said = letters(statement.readable)
            if said and (said in copied or copied in said):
                found.append(score)
    if not found or turn.sentences:
        return bool(found) and max(found) < UNREAD
    least = DOUBTED if turn.doubted else UNREAD
    return max(found) < least or max(found) < await _best(turn, read) - FAR_BELOW


async def _best(turn: Turn, read: ReadAnswers) -> float:
    """The best score of a statement in the passages, where it rather answers than not."""
    pool = [hit.chunk for hit in turn.look.found.hits[:POOL]]
    each = [await read(turn.look.found.query.text, chunk, turn.state.language) for chunk in pool]
    best = max((score for read_ones in each for _, score in read_ones), default=UNREAD)
    return best if best > 0 else UNREAD


def _missing(turn: Turn, citations: Sequence[Citation]) -> str:
    """A name of the question that the quoted passages lack; empty where they have all of them."""
    language, rarity = turn.state.language, turn.look.rarity
    known = [stem for stem, idf in rarity.items() if idf < max(rarity.values())]
    held = frozenset[str]().union(*(all_stems(chunk, language) for chunk in _quoted(turn, citations)))
    return min(lacking(names(turn.standalone, language, known=known), held), default="")


def _quoted(turn: Turn, citations: Sequence[Citation]) -> list[Chunk]:
    quoted = {one.chunk_id for one in citations}
    return [chunk for one in turn.evidence for chunk in one.passages if chunk.id in quoted]
