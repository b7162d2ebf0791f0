"""Reads the chunks that were found and says which of their statements answer the question. Cheap signs, such as shared words,
choose a few statements, and the embedder compares these with the question.

No sign is enough alone: a sentence that repeats the question has all of its words and answers nothing. The weights were fitted
on SQuAD questions and on the sample book, and rounded; four of five answers from the sample book have the sentence that its
author would quote.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk
from bythebook.books.statements import Statement, statements
from bythebook.embedding.embedder import Embedder
from bythebook.retrieval.answer_shapes import Shape, asked_for, asks, fits, opens_asking, says_nothing
from bythebook.retrieval.question_words import QuestionWords, stems
from bythebook.retrieval.ranker import (
    BEFORE_CHARACTERS,
    MARKUP_CHARACTERS,
    READ_CHARACTERS,
    RankableStatement,
    defines,
    has_numbered,
    names_somebody,
    names_version,
    rank_statements,
    ranks_by,
    under_its_name,
)

if TYPE_CHECKING:
    from bythebook.retrieval.answer_reader import AnswerReader, Scores

LOOKED_AT = 4
"""How many statements are embedded, which takes some 15 ms on two cores."""
EMBEDDED_CHARACTERS = 200
"""How many characters of a statement are embedded: the time grows with the length, and the first lines of a block of code show
what it is about."""
FOLLOWING_CHARACTERS = 100
"""How much of the text after a statement is embedded with it: it often says what the statement is good for, and separates
answers from mentions."""
MOVED_BY_LENGTH = 0.03
"""How much a cosine falls when the question is e times as long, whatever both say: from a regression on 5,000 pairs."""
REMEMBERED = 4096
COVERAGE_WEIGHT = 1.0
HEADING_WEIGHT = 0.65
BEFORE_WEIGHT = 0.75
"""The weight of the question's words that are in the heading above or in the sentence before, but not in the statement itself."""
COSINE_WEIGHT = 1.65
RANK_WEIGHT = 0.3
SHAPE_WEIGHT = 0.32
CODE_PENALTY = 0.2
NOTHING_PENALTY = 0.8
ASKING_SECTION = 2.0
"""NOTHING_PENALTY is multiplied by this for a statement in a section of questions to the reader."""
RANKED = 8
"""How many statements are ranked and, for that, embedded: more gained nothing on books left out."""
READ_WEIGHT = 0.3
"""The weight of the reader's score beside the cheap signs when the statements to be ranked are chosen."""
RANK_UNIT = 0.27
"""The ranking's scores are multiplied by this: they spread wider than the scores of the signs, and the same margins apply to
both."""
SAYS_NOTHING = 2.0
"""What the ranking subtracts where a statement only points or promises: few of the statements it was fitted on did."""
DEFINES = 1.5
"""What the ranking adds where "A node is a …" answers "What is a node?"."""
DEFINES_READ = 2.5
"""The least score of such a statement with the reader: half of those that answer on books left out have more."""
UNDER_ITS_NAME = 2.0
"""What the reader's score gains where a statement is under the identifier that the question names; under another identifier it
loses twice as much."""
CANNOT = 3.0
"""What the ranking subtracts from a statement that lacks what an answer must have."""
UNREAD, MOST_READ = -6.0, 8.0
"""What replaces the score of a statement that the reader could not read, and the highest score that counts."""
BEFORE, AFTER = 2, 1
"""How many statements before and after a statement are read together with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStatement:
    """A statement and how well it answers. `coverage` is the share of the question's words that it has; rare words weigh more.
    `cosine` is 0 for a statement that was not looked at closely."""

    statement: Statement
    chunk: Chunk
    coverage: float
    cosine: float
    score: float
    answers: float = UNREAD
    """The reader's score."""
    ranked: float | None = None
    """The ranking's own score; None where the ranking was not fitted to the embedder or the language."""


class SentenceReader:
    """Rates statements by how well they answer a question. It remembers the embeddings of the statements that it has read,
    because a class often asks the same."""

    def __init__(self, embedder: Embedder, answers: AnswerReader | None = None) -> None:
        """Without `answers` nothing is ranked: signs and embeddings decide alone."""
        self._embedder = embedder
        self._answers = answers
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    async def read(
        self,
        question: str,
        chunks: Sequence[Chunk],
        language: str,
        *,
        ranks: Sequence[int] | None = None,
        rarity: Mapping[str, float] | None = None,
        embedding: NDArray[np.float32] | None = None,
        by_signs: bool = False,
    ) -> tuple[ReadStatement, ...]:
        """All statements but headings, whole tables and questions, best first. `chunks` come in the order of their relevance,
        unless `ranks` tells it, from 0; `rarity` is the IDF of stems in the whole book and `embedding` the question's, where
        they are known. If both are given, reading the same chunks a second time needs no embedder. `by_signs`: leave out the
        ranking, whose scores decide otherwise."""
        rated = self._rated(question, chunks, language, ranks=ranks, rarity=rarity)
        if not by_signs and self._answers and self.ranks(language):
            candidates = await self._candidates(self._answers, question, chunks, rated, embedding)
            scores = rank_statements(question, [rankable(one, rank) for one, rank in candidates])
            near = [_with_rank(question, one, score) for (one, _), score in zip(candidates, scores, strict=True)]
        else:
            looked_at = await self._with_cosines(question, embedding, rated[:LOOKED_AT])
            near = [replace(one, score=one.score + COSINE_WEIGHT * one.cosine) for one, _ in looked_at]
        taken = {(one.chunk.id, one.statement) for one in near}
        rest = (one for one, _ in rated if (one.chunk.id, one.statement) not in taken)
        return (*sorted(near, key=lambda one: -one.score), *rest)

    async def candidates(
        self,
        question: str,
        chunks: Sequence[Chunk],
        language: str,
        *,
        rarity: Mapping[str, float] | None = None,
        embedding: NDArray[np.float32] | None = None,
    ) -> list[tuple[ReadStatement, int]]:
        """The statements that would be ranked, each with the rank of its chunk; without a ranking, none."""
        if not self._answers or not self.ranks(language):
            return []
        rated = self._rated(question, chunks, language, rarity=rarity)
        return await self._candidates(self._answers, question, chunks, rated, embedding)

    async def answers(self, question: str, chunk: Chunk, language: str) -> list[tuple[Statement, float]]:
        """The reader's score of each statement of a passage that it reads; nothing where nothing is ranked."""
        if not self._answers or not self.ranks(language):
            return []
        (scores,) = await self._answers.read(question, [chunk])
        there = zip(statements(chunk.preface, chunk.text), scores, strict=True)
        read = ((place, one, score) for place, (one, score) in enumerate(there) if score is not None)
        return [(one, _read_as(question, chunk, place, score)) for place, one, score in read]

    async def best_answers(self, question: str, chunks: Sequence[Chunk], language: str) -> list[float]:
        """For each chunk the reader's highest score of one of its statements; nothing where nothing is ranked."""
        if not self.ranks(language):
            return []
        read = await asyncio.gather(*(self.answers(question, chunk, language) for chunk in chunks))
        return [max((score for _, score in one), default=UNREAD) for one in read]

    def ranks(self, language: str) -> bool:
        """Whether the ranking decides in this language, with the embedder at hand."""
        return self._answers is not None and ranks_by(self._embedder.name, language)

    def _rated(
        self,
        question: str,
        chunks: Sequence[Chunk],
        language: str,
        *,
        ranks: Sequence[int] | None = None,
        rarity: Mapping[str, float] | None = None,
    ) -> list[tuple[ReadStatement, int]]:
        """All statements by their cheap signs, the likeliest first, each with the rank of its chunk."""
        asked, shape = QuestionWords.of(question, chunks, language, rarity or {}), asked_for(question, language)
        order = zip(ranks or range(len(chunks)), chunks, strict=True)
        rated = [(one, rank) for rank, chunk in order for one in _rate(asked, shape, chunk, rank)]
        return sorted(rated, key=lambda found: -found[0].score)

    async def _candidates(
        self,
        answers: AnswerReader,
        question: str,
        chunks: Sequence[Chunk],
        rated: Sequence[tuple[ReadStatement, int]],
        embedding: NDArray[np.float32] | None,
    ) -> list[tuple[ReadStatement, int]]:
        """The statements that the signs and the reader together find likeliest, with their cosines."""
        scores = {chunk.id: found for chunk, found in zip(chunks, await answers.read(question, chunks), strict=True)}
        read = [(_with_answers(question, one, scores[one.chunk.id]), rank) for one, rank in rated]
        read.sort(key=lambda found: -found[0].score - READ_WEIGHT * found[0].answers)
        return await self._with_cosines(question, embedding, read[:RANKED])

    async def _with_cosines(
        self, question: str, embedding: NDArray[np.float32] | None, found: Sequence[tuple[ReadStatement, int]]
    ) -> list[tuple[ReadStatement, int]]:
        cosines = await self._cosines(question, embedding, [_going_on(one) for one, _ in found])
        return [(replace(one, cosine=cosine), rank) for (one, rank), cosine in zip(found, cosines, strict=True)]

    async def said_already(self, question: str, read: Sequence[ReadStatement]) -> float:
        """How near one of these statements stays to itself when the question is put before it, 0 to 1: a statement that answers
        says most of what is asked. A long question moves a short statement further, which is corrected."""
        if not read:
            return 0.0
        texts = [_going_on(one) for one in read]
        alone = await self._vectors_of(texts)
        asked = [f"{question} {text}" for text in texts]
        together = await self._vectors_of(asked)
        stayed = [
            float(alone[text] @ together[both]) + MOVED_BY_LENGTH * math.log(len(question) / len(text))
            for text, both in zip(texts, asked, strict=True)
        ]
        return min(1.0, max(0.0, *stayed))

    async def _cosines(self, question: str, asked: NDArray[np.float32] | None, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        if asked is None:
            asked = await self._embedder.embed_question(question)
        vectors = await self._vectors_of(texts)
        return [float(asked @ vectors[text]) for text in texts]

    async def _vectors_of(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        known = {text: self._vectors[text] for text in texts if text in self._vectors}
        if missing:
            known.update(zip(missing, await self._embedder.embed_lessons(missing), strict=True))
        self._remember(known)
        return known

    def _remember(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        for text, vector in vectors.items():
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
        while len(self._vectors) > REMEMBERED:
            self._vectors.popitem(last=False)


def _going_on(one: ReadStatement) -> str:
    """A statement with the beginning of what follows it under the same heading."""
    found = statements(one.chunk.preface, one.chunk.text)
    after = next((each for each in found[found.index(one.statement) + 1 :] if each.kind != "table"), None)
    following = after.readable[:FOLLOWING_CHARACTERS] if after and after.kind != "heading" else ""
    return f"{one.statement.readable[:EMBEDDED_CHARACTERS]} {following}".rstrip()


def all_stems(chunk: Chunk, language: str) -> frozenset[str]:
    """The stems of a chunk's statements and of the headings above it."""
    texts = (one.readable for one in statements(chunk.preface, chunk.text))
    return frozenset().union(*(stems(text, language) for text in (chunk.page_title, *chunk.heading_path, *texts)))


def surroundings(one: ReadStatement, language: str) -> frozenset[str]:
    """The stems of a statement, of what is just before and after it, and of the headings above it."""
    found = statements(one.chunk.preface, one.chunk.text)
    place = found.index(one.statement)
    beside = [each.readable for each in found[max(0, place - BEFORE) : place + AFTER + 1] if each.kind != "table"]
    return frozenset().union(*(stems(text, language) for text in (one.chunk.page_title, *one.chunk.heading_path, *beside)))


def _rate(asked: QuestionWords, shape: Shape, chunk: Chunk, rank: int) -> Iterator[ReadStatement]:
    """Every statement of the chunk with its score from cheap signs."""
    above = frozenset().union(*(stems(title, asked.language) for title in (chunk.page_title, *chunk.heading_path)))
    asking, heading = any(map(opens_asking, chunk.heading_path)), above
    before, block = "", -1
    for one in statements(chunk.preface, chunk.text):
        raw = chunk.text[one.start : one.end]
        if one.kind == "heading":
            # The title of a box or picture opens no section.
            asking = opens_asking(one.readable) if raw.startswith("#") else asking
            heading, before = above | stems(one.readable, asked.language), ""
        elif one.kind != "table" and not asks(one):
            own = stems(one.readable, asked.language)
            coverage = asked.share(own)
            under = asked.share(own | heading)
            after = asked.share(own | heading | stems(before, asked.language))
            score = (
                COVERAGE_WEIGHT * coverage
                + HEADING_WEIGHT * (under - coverage)
                + BEFORE_WEIGHT * (after - under)
                + RANK_WEIGHT / (1 + rank)
                + SHAPE_WEIGHT * fits(shape, one, raw, asked.named_by)
                - NOTHING_PENALTY * (ASKING_SECTION if asking else says_nothing(one, raw))
                - CODE_PENALTY * (one.kind == "code" and shape not in ("code", "steps"))
            )
            yield ReadStatement(statement=one, chunk=chunk, coverage=coverage, cosine=0.0, score=score)
            # Items and rows are all read after the sentence that introduces them.
            before = before if one.kind in ("item", "row") and one.block == block else one.readable
            block = one.block


def _with_rank(question: str, one: ReadStatement, score: float) -> ReadStatement:
    raw = one.chunk.text[one.statement.start : one.statement.end]
    ranked = score - SAYS_NOTHING * (says_nothing(one.statement, raw) == 1.0)
    ranked += DEFINES * defines(question, one.statement.readable)
    ranked -= CANNOT * (not _can_answer(question, one.statement, one.chunk))
    return replace(one, ranked=ranked, score=RANK_UNIT * ranked)


def _with_answers(question: str, one: ReadStatement, scores: Scores) -> ReadStatement:
    place = statements(one.chunk.preface, one.chunk.text).index(one.statement)
    score = scores[place]
    return one if score is None else replace(one, answers=_read_as(question, one.chunk, place, score))


def _read_as(question: str, chunk: Chunk, place: int, score: float) -> float:
    """The reader's score of the statement at `place` of a passage, corrected by what the question and the heading above say
    about it."""
    statement = statements(chunk.preface, chunk.text)[place]
    said = statement.readable
    under = under_its_name(question, said, _heading_of(statement, chunk) or " ".join(chunk.heading_path[-1:]))
    score += UNDER_ITS_NAME * (under if under > 0 else 2 * under)
    if not _can_answer(question, statement, chunk):
        score = min(score, UNREAD)
    least = DEFINES_READ if defines(question, said) else -MOST_READ
    return min(MOST_READ, max(least, score))


def _heading_of(statement: Statement, chunk: Chunk) -> str:
    """The last heading or title above the statement in its chunk."""
    there = statements(chunk.preface, chunk.text)
    return next((one.readable for one in reversed(there[: there.index(statement)]) if one.kind == "heading"), "")


def _can_answer(question: str, statement: Statement, chunk: Chunk) -> bool:
    """Whether the statement can answer: not if the question asks who made a thing and the statement has no name, or for a version
    and neither it nor the heading above it has one, nor if its chunk has another version than the one asked about."""
    said = "" if statement.kind == "code" else statement.readable
    return (
        names_somebody(question, said)
        and names_version(question, f"{_heading_of(statement, chunk)} {statement.readable}")
        and has_numbered(question, f"{chunk.page_title} {chunk.text}")
    )


def rankable(one: ReadStatement, rank: int) -> RankableStatement:
    """A statement as the ranking reads it. `rank`: that of its chunk."""
    there = statements(one.chunk.preface, one.chunk.text)
    place = there.index(one.statement)
    before = there[place - 1] if place else None
    return RankableStatement(
        text=one.statement.readable[:READ_CHARACTERS],
        kind=one.statement.kind,
        rank=rank,
        place=place,
        places=len(there),
        coverage=one.coverage,
        sign=one.score,
        cosine=one.cosine,
        answers=one.answers,
        above=" › ".join((one.chunk.page_title, *one.chunk.heading_path)),
        before=before.readable[-BEFORE_CHARACTERS:] if before else "",
        before_kind=before.kind if before else "",
        markup=one.chunk.text[one.statement.start : one.statement.end][:MARKUP_CHARACTERS],
    )
