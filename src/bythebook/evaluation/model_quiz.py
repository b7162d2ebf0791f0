"""A quiz drafted by a model from passages of the book, checked as an answer is: quotes and facts by the program, meaning by a
blind judge. What fails is left out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from bythebook.books.model import Chunk
from bythebook.drafting.completion import QuizCard, QuizRequest, WriteQuiz
from bythebook.grounding.checker import Checker, shown_to_judge
from bythebook.grounding.citations import Doubtful, Supported, Unsupported
from bythebook.grounding.facts import read
from bythebook.grounding.form import asks
from bythebook.grounding.hard_facts import hard_objection
from bythebook.grounding.judgement import Assertion, Judge, Judgement, assertions_of, settle
from bythebook.grounding.support import checked_source
from bythebook.retrieval.evidence import Evidence, gather

MOST_CARDS = 10
"""The most cards in one request: more take a small model longer than a reader waits."""
LONGEST_QUESTION = 300
QUESTION_MARKS = "?\uff1f\u061f"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCard:
    """A question and its checked answer, which is supported by one stretch of the book."""

    question: str
    answer: Supported
    verbatim: bool
    """Whether the answer is the quote itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuiz:
    """The cards that passed the check, and the tokens they took."""

    cards: tuple[CheckedCard, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighed:
    card: QuizCard
    outcome: Supported | Doubtful
    passage: str

    @property
    def pair(self) -> Assertion:
        """Question and answer as one statement for the judge."""
        said = f"To the question \u201c{self.card.question}\u201d the passage answers: {self.outcome.text}"
        return Assertion(sentence=said, passages=(self.passage,))


class ModelQuiz:
    """One request to the model for a whole quiz, and one to the judge. Without a judge the words rule decides."""

    def __init__(self, write: WriteQuiz, judge: Judge | None, *, evidence_tokens: int) -> None:
        self._write = write
        self._judge = judge
        self._evidence_tokens = evidence_tokens

    async def draft(self, chunks: Sequence[Chunk], count: int, *, book_title: str, language: str) -> CheckedQuiz:
        """Raises Rejected, RateLimited or Unavailable where the model gives nothing."""
        evidence = gather([(chunk, 1.0, 1.0) for chunk in _spread(chunks)], budget_tokens=self._evidence_tokens)
        if not evidence:
            return CheckedQuiz(cards=(), tokens=0)
        request = QuizRequest(evidence=evidence, count=min(count, MOST_CARDS), book_title=book_title, language=language)
        draft = await self._write(request)
        weighed = await asyncio.to_thread(_weigh, draft.cards, evidence, language)
        cards, tokens = await self._judged(weighed)
        return CheckedQuiz(cards=cards, tokens=tokens + (draft.usage.total if draft.usage else 0))

    async def _judged(self, weighed: Sequence[_Weighed]) -> tuple[tuple[CheckedCard, ...], int]:
        doubtful = [one.outcome for one in weighed if isinstance(one.outcome, Doubtful)]
        claims = assertions_of(doubtful)
        judgement, fits = Judgement(opinions=()), [True] * len(weighed)
        if self._judge and weighed:
            told = await self._judge([*claims, *(one.pair for one in weighed)], lambda place, opinion: None)
            pairs = told.opinions[len(claims) :]
            judgement = Judgement(opinions=told.opinions[: len(claims)], tokens=told.tokens, note=told.note)
            fits = [opinion is None or opinion.supported for opinion in pairs]
        settled = iter(settle(doubtful, judgement))
        cards = []
        for one, fit in zip(weighed, fits, strict=True):
            verbatim = isinstance(one.outcome, Supported)
            outcome = one.outcome if isinstance(one.outcome, Supported) else next(settled).outcome
            if fit and isinstance(outcome, Supported):
                cards.append(CheckedCard(question=one.card.question, answer=outcome, verbatim=verbatim))
        return tuple(cards), judgement.tokens


def _spread(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The first chunk of every lesson, then every second one: where not all have room, each lesson gets its share."""
    return [chunk for chunk in chain(*zip_longest(*by_lesson(chunks).values())) if chunk]


def by_lesson(chunks: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    lessons: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        lessons.setdefault(chunk.source_file, []).append(chunk)
    return lessons


def _weigh(cards: Sequence[QuizCard], evidence: Sequence[Evidence], language: str) -> list[_Weighed]:
    """The cards without an objection that the program can find."""
    checker = Checker(evidence, language)
    by_label = {one.label: one for one in evidence}
    found: dict[str, _Weighed] = {}
    for card in cards:
        outcome = checker.weigh(card.answer)
        if isinstance(outcome, Unsupported):
            continue
        citations = (outcome if isinstance(outcome, Supported) else outcome.supported).citations
        cited = by_label[citations[0].label]
        if len(citations) == 1 and not _objection(card.question, cited, language):
            weighed = _Weighed(card=card, outcome=outcome, passage=shown_to_judge(cited, language))
            found.setdefault(card.question.casefold(), weighed)
    return list(found.values())


def _objection(question: str, cited: Evidence, language: str) -> str | None:
    """The objection to a question: it is not a question, or it assumes a number, a name or a "not" that its passage does not
    have."""
    if not asks(question) or len(question) > LONGEST_QUESTION:
        return "is no question"
    sources = [checked_source(chunk, language) for chunk in cited.passages]
    said = question.rstrip(QUESTION_MARKS + " ")
    assumed = read(said, language)
    if not any(word in source.stems for source in sources for word in assumed.content):
        return "asks about nothing that its passage speaks of"
    return hard_objection(said, assumed, sources, read("", language), ())
