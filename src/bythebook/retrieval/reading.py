"""Reads the chunks that were found: which of their statements answer the question. Cheap signs first, then a close look
with the embedder at the dozen that remain.

The weights were measured on SQuAD questions and on the sample book (see docs/benchmarks.md). No sign is enough alone:
a sentence that repeats the question covers all of its words and answers nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk
from bythebook.books.statements import Statement, statements
from bythebook.index.embedding import Embedder
from bythebook.index.lexical import words
from bythebook.retrieval.asking import Shape, asked_for

LOOKED_AT = 12
"""Statements that are embedded: some 30 ms on two cores."""
REMEMBERED = 4096
COVERAGE_WEIGHT = 1.0
HEADING_WEIGHT = 0.65
BEFORE_WEIGHT = 0.75
"""Words of the question that stand in the heading above, or in the sentence before, and not in the statement itself."""
COSINE_WEIGHT = 1.65
RANK_WEIGHT = 0.3
SHAPE_WEIGHT = 0.32
CODE_PENALTY = 0.2
PENALTY = 0.8
FEWEST_WORDS = 4

QUESTIONS = re.compile(
    r"(?:check|test) your(?:self| )|exercises?$|(?:review|practice|discussion|quiz) questions?|(?:knowledge|self)[- ](?:check|test)|quiz"
    r"|(?:learning )?(?:objectives|goals|outcomes)\b|what you(?:'ll| will| should) (?:learn|know)|further reading|references$|next steps$",
    re.IGNORECASE,
)
"""Sections that ask, promise or point elsewhere."""
NUMBER = re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|twice|hundred|thousand|million|billion)\b", re.I)
CAUSE = re.compile(
    r"\b(?:because|since|therefore|thus|hence|so that|so|due to|owing to|as a result|caus\w+|reasons?|which is why|leads? to"
    r"|otherwise|in order to|results? in|means that)\b",
    re.IGNORECASE,
)
CONTRAST = re.compile(r"\b(?:whereas|while|but|unlike|instead|in contrast|however|differ\w*|than|both|only|rather|not)\b|;", re.I)
STEP = re.compile(r"^(?:first|then|next|finally|to \w+,|use|run|set|add|open|call|create|put|save|start|install|make|check|choose)\b", re.I)
EXAMPLE = re.compile(r"\b(?:for example|for instance|such as|e\.g\.|suppose|imagine|consider)|\bif\b", re.IGNORECASE)
LISTED = re.compile(r",[^,]+(?:,| and | or )|:\s")
COPULA = re.compile(
    r"\s(?:is|are|was|were|means?|refers? to|denotes?|describes?|stands for|consists? of|has|have)\s|[:,]\s|\s\(", re.IGNORECASE
)

NEGATED = re.compile(r"\s(?:is|are|was|were)\s+(?:not|no)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStatement:
    """A statement and how well it answers. `coverage` is the share of the question's words it holds, rare ones weighing more;
    `cosine` is 0 for what was not looked at closely."""

    statement: Statement
    chunk: Chunk
    coverage: float
    cosine: float
    score: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    statement: Statement
    chunk: Chunk
    coverage: float
    cheap: float
    shown: str


class Reader:
    """Remembers the embeddings of statements it has read."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    async def read(
        self,
        question: str,
        chunks: Sequence[Chunk],
        language: str,
        *,
        rarity: Mapping[str, float] | None = None,
    ) -> tuple[ReadStatement, ...]:
        """All statements but headings and whole tables, best first. `chunks` come in the order of their relevance."""
        asked = _Question.of(question, chunks, language, rarity or {})
        candidates = [found for rank, chunk in enumerate(chunks) for found in _candidates(asked, chunk, rank)]
        candidates.sort(key=lambda one: -one.cheap)
        near = candidates[:LOOKED_AT]
        cosines = await self._cosines(question, [one.shown for one in near])
        read = [_read(one, cosine) for one, cosine in zip(near, cosines, strict=True)]
        read.sort(key=lambda one: -one.score)
        return (*read, *(_read(one, 0.0) for one in candidates[LOOKED_AT:]))

    async def _cosines(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        asked = await self._embedder.embed_question(question)
        if missing:
            self._vectors.update(zip(missing, await self._embedder.embed_lessons(missing), strict=True))
        cosines = []
        for text in texts:
            self._vectors.move_to_end(text)
            cosines.append(float(asked @ self._vectors[text]))
        while len(self._vectors) > REMEMBERED:
            self._vectors.popitem(last=False)
        return cosines


@dataclass(frozen=True, slots=True)
class _Question:
    weights: Mapping[str, float]
    shape: Shape
    language: str

    @classmethod
    def of(cls, question: str, chunks: Sequence[Chunk], language: str, rarity: Mapping[str, float]) -> _Question:
        """A word's weight is its rarity: the book's where the caller knows it, else that of the sentences at hand."""
        seen: Counter[str] = Counter()
        total = 0
        for chunk in chunks:
            for statement in statements(chunk.preface, chunk.text):
                total += 1
                seen.update(stems(statement.readable, language))
        weights = {
            stem: rarity.get(stem, math.log(1 + (total + 1) / (seen[stem] + 0.5))) for stem in stems(question, language)
        }
        return cls(weights, asked_for(question, language), language)

    def share(self, found: frozenset[str]) -> float:
        total = sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in found) / total if total else 0.0


@lru_cache(maxsize=8192)
def stems(text: str, language: str) -> frozenset[str]:
    """The words of a text as search sees them, each once."""
    return frozenset(stem for _, _, stem in words(text, language))


def _candidates(asked: _Question, chunk: Chunk, rank: int) -> list[_Candidate]:
    found: list[_Candidate] = []
    section = " ".join((chunk.page_title, *chunk.heading_path))
    asks = bool(QUESTIONS.match(chunk.section_title or ""))
    previous, block, heading = "", -1, ""
    for statement in statements(chunk.preface, chunk.text):
        if statement.kind == "heading":
            asks, heading, previous = bool(QUESTIONS.match(statement.readable)), statement.readable, ""
            continue
        if statement.kind == "table":
            continue
        own = stems(statement.readable, asked.language)
        coverage = asked.share(own)
        cheap = (
            COVERAGE_WEIGHT * coverage
            + HEADING_WEIGHT * (asked.share(own | stems(f"{section} {heading}", asked.language)) - coverage)
            + BEFORE_WEIGHT * (asked.share(own | stems(previous, asked.language)) - coverage)
            + RANK_WEIGHT / (1 + rank)
            + SHAPE_WEIGHT * _fits(asked, statement, chunk)
            - PENALTY * _says_nothing(statement, asks)
            - CODE_PENALTY * (statement.kind == "code" and asked.shape not in ("code", "steps"))
        )
        found.append(_Candidate(statement, chunk, coverage, cheap, statement.readable))
        previous, block = _introduction(statement, previous, block), statement.block
    return found


def _introduction(statement: Statement, previous: str, block: int) -> str:
    """What the next statement is read after: the sentence before it; for items and rows the sentence before them all."""
    return previous if statement.kind in ("item", "row") and statement.block == block else statement.readable


def _says_nothing(statement: Statement, asks: bool) -> float:
    text = statement.readable
    if asks or text.endswith("?") or (statement.kind == "code" and text.startswith(("graph", "flowchart", "sequenceDiagram"))):
        return 1.0
    if text.endswith(":"):
        return 0.1
    return 0.5 if len(text.split()) < FEWEST_WORDS and statement.kind in ("sentence", "item") else 0.0


def _fits(asked: _Question, statement: Statement, chunk: Chunk) -> float:
    """How well the form of a statement suits what is asked for, 0-1."""
    text, kind = statement.readable, statement.kind
    match asked.shape:
        case "definition":
            return _defines(asked, statement, chunk)
        case "number":
            return float(NUMBER.search(text) is not None)
        case "cause":
            return float(CAUSE.search(text) is not None)
        case "comparison":
            return 0.5 * (CONTRAST.search(text) is not None) + 0.5 * (kind == "row")
        case "steps":
            return 1.0 if STEP.search(text) else 0.5 * (kind in ("code", "item"))
        case "code":
            return float(kind == "code" or "`" in chunk.text[statement.start : statement.end])
        case "formula":
            return float(kind == "maths")
        case "listing":
            return 0.5 * (kind in ("item", "row")) + 0.5 * (LISTED.search(text) is not None)
        case "example":
            return float(EXAMPLE.search(text) is not None)
        case "plain":
            return 0.0


def _defines(asked: _Question, statement: Statement, chunk: Chunk) -> float:
    """Whether the statement begins with what is asked about and goes on to say what it is."""
    match = COPULA.search(statement.readable)
    if not match or statement.kind not in ("sentence", "item", "row"):
        return 0.0
    if NEGATED.match(statement.readable, match.start()):
        return 0.0
    head = stems(statement.readable[: match.start()], asked.language)
    foreign = len(head - asked.weights.keys())
    marked = "**" in chunk.text[statement.start : statement.end]
    return asked.share(head) / (1 + foreign) * (1.0 if marked else 0.7)


def _read(one: _Candidate, cosine: float) -> ReadStatement:
    return ReadStatement(
        statement=one.statement,
        chunk=one.chunk,
        coverage=one.coverage,
        cosine=cosine,
        score=one.cheap + COSINE_WEIGHT * cosine,
    )
