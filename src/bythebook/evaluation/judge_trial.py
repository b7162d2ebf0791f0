"""Shows a judge true sentences about the sample book and wrong twins of them, to find out whether its word can be relied on.

Every sentence is one that the program alone has no objection to, so that nobody but the judge tells the twins apart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bythebook.books.model import Book, Chunk
from bythebook.drafting.draft import DraftSentence
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Doubtful, Supported
from bythebook.grounding.judgement import Judge, assertions_of, settle
from bythebook.retrieval.evidence import Evidence

AT_ONCE = 3
"""How many sentences one request asks about: as many as an answer has."""
APART = 0.5
"""A judge tells true from wrong if the share it releases of the true sentences is this much above that of the wrong ones. One
that always gives the same answer has 0, and one that guesses hardly ever reaches half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSentence:
    """A sentence that a judge is shown, and whether it is true."""

    true: bool
    doubtful: Doubtful


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialVerdict:
    """What became of one sentence. `by` says who decided, `by_words` whether the words rule alone would release it."""

    sentence: str
    true: bool
    released: bool
    by: Literal["program", "judge", "words"]
    by_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTrial:
    """A judge's result. `undecided` are the sentences it gave no usable answer about: the words rule decided them."""

    true: int
    true_released: int
    true_released_by_words: int
    wrong: int
    wrong_removed: int
    wrong_removed_by_words: int
    undecided: int
    seconds: float
    tokens: int
    notes: tuple[str, ...]
    verdicts: tuple[TrialVerdict, ...]

    @property
    def tells_apart(self) -> bool:
        """Whether the judge's "yes" means something. Among these sentences it may be right more often than the words by always
        giving the same answer."""
        wrong_released = self.wrong - self.wrong_removed
        return self.true_released * self.wrong - wrong_released * self.true >= APART * self.true * self.wrong

    @property
    def is_better(self) -> bool:
        """Whether more sentences end rightly with the judge than without it."""
        with_judge = self.true_released + self.wrong_removed
        return with_judge > self.true_released_by_words + self.wrong_removed_by_words

    @property
    def errors(self) -> tuple[TrialVerdict, ...]:
        """What the judge itself got wrong, the wrong sentences that it released first."""
        wrongly = [one for one in self.verdicts if one.by == "judge" and one.released != one.true]
        return tuple(sorted(wrongly, key=lambda one: one.true))


def trial_sentences(path: Path, book: Book, chunks: Sequence[Chunk]) -> list[TrialSentence]:
    """The sentences of a file, in an order in which no request of a trial has both twins."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [
        _sentence(row, book, chunks, true=(place % 2 == 0) == first) for first in (True, False) for place, row in enumerate(rows)
    ]
    return [one for one in found if one]


def _sentence(row: dict[str, str], book: Book, chunks: Sequence[Chunk], *, true: bool) -> TrialSentence | None:
    chunk = next((chunk for chunk in chunks if row["quote"] in chunk.text), None)
    if chunk is None:
        return None
    checker = Checker([Evidence(label=1, passages=(chunk,), score=0.8, relevance=0.8)], book.language)
    text = row["true" if true else "wrong"]
    weighed = checker.weigh(DraftSentence(text=text, labels=(1,), kind="sentence", basis=row["quote"]))
    return TrialSentence(true=true, doubtful=weighed) if isinstance(weighed, Doubtful) else None


async def try_judge(sentences: Sequence[TrialSentence], judge: Judge) -> JudgeTrial:
    """Asks about a few sentences at a time, as the check of an answer does."""
    began, tokens = time.perf_counter(), 0
    verdicts: list[TrialVerdict] = []
    notes: dict[str, None] = {}
    for at in range(0, len(sentences), AT_ONCE):
        batch = sentences[at : at + AT_ONCE]
        doubtful = [one.doubtful for one in batch]
        judgement = await judge(assertions_of(doubtful), lambda place, opinion: None)
        tokens += judgement.tokens
        for one, settled in zip(batch, settle(doubtful, judgement), strict=True):
            notes |= {settled.note: None} if settled.note else {}
            verdicts.append(
                TrialVerdict(
                    sentence=one.doubtful.text,
                    true=one.true,
                    released=isinstance(settled.outcome, Supported),
                    by=settled.by,
                    by_words=isinstance(one.doubtful.by_words, Supported),
                )
            )
    return _counted(verdicts, seconds=time.perf_counter() - began, tokens=tokens, notes=tuple(notes))


def _counted(verdicts: Sequence[TrialVerdict], *, seconds: float, tokens: int, notes: tuple[str, ...]) -> JudgeTrial:
    true, wrong = [one for one in verdicts if one.true], [one for one in verdicts if not one.true]
    return JudgeTrial(
        true=len(true),
        true_released=sum(one.released for one in true),
        true_released_by_words=sum(one.by_words for one in true),
        wrong=len(wrong),
        wrong_removed=sum(not one.released for one in wrong),
        wrong_removed_by_words=sum(not one.by_words for one in wrong),
        undecided=sum(one.by == "words" for one in verdicts),
        seconds=seconds,
        tokens=tokens,
        notes=notes,
        verdicts=tuple(verdicts),
    )
