"""The input and output of a drafter. There are two: the extractive one, and the model's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bythebook.retrieval.evidence import Evidence

SentenceKind = Literal["sentence", "item", "code", "table", "maths"]
"""How a sentence stands in an answer: running text, a list item, or a block of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A stretch of a chunk, exactly as the author wrote it: `chunk.text[start:end]` of the evidence's passage `chunk_id`."""

    label: int
    chunk_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSentence:
    """One sentence (or item, or block) of a draft, without its markers. `labels` are the evidence it claims to rest on;
    `quotes` are given where the drafter knows exactly which words those are; `basis` is the verbatim piece that a model says the
    sentence rests on, as it wrote it."""

    text: str
    labels: tuple[int, ...]
    quotes: tuple[Quote, ...] = ()
    kind: SentenceKind = "sentence"
    basis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A search made for this turn: document B's ToolCall."""

    tool_name: str
    query: str
    results_count: int
    avg_similarity: float
    error: str | None = None
    timestamp: datetime = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens a model used, as its server counted them."""

    prompt_tokens: int
    completion_tokens: int

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One earlier turn of the thread. `sources` are the sections it cited, in the order of its labels."""

    question: str
    answer: str
    sources: tuple[str, ...] = ()
    refused: bool = False
    """Whether the turn was refused. Its answer then says nothing about the subject."""


SearchAgain = Callable[[str, int, float], Awaitable[tuple[Evidence, ...]]]
"""Searches again, for a query, a number of results and a similarity threshold. Evidence found before keeps its label; new
evidence gets the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """`question` stands alone; `asked` is what the reader typed."""

    question: str
    asked: str
    evidence: tuple[Evidence, ...]
    book_title: str
    language: str
    history: tuple[Exchange, ...] = ()
    search_again: SearchAgain | None = None
    rarity: Mapping[str, float] = field(default_factory=dict)
    """How rare each stem of the question is in the whole book, if that is known."""
    embedding: NDArray[np.float32] | None = field(default=None, compare=False)
    """The embedding of the question, if it is known."""
    selection: str = ""
    """Words of the book that the reader selected and asks about. They stand in the question, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPrompt:
    """The instructions as a model was sent them."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInPassages:
    """The drafter says that what was found does not answer the question."""


DraftEvent = DraftSentence | ToolCall | Usage | SystemPrompt | NotInPassages


class Drafter(Protocol):
    """Drafts an answer from evidence: the extractive drafter, or a model's."""

    @property
    def model(self) -> str:
        """What an answer says it was drafted by."""

    def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]: ...

    async def close(self) -> None: ...
