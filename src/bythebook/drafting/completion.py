"""What a model is asked for besides a draft: one line (a standalone question, what a thread is about), and a quiz. The caller
checks the result and can do without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bythebook.drafting.draft import DraftSentence, Usage
from bythebook.retrieval.evidence import Evidence

LONGEST_LINE = 500
"""Characters after which a line is cut off: the model is writing something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line as it came. `usage` is None where the server does not count, or the stream was not read to its end."""

    text: str
    usage: Usage | None = None


WriteLine = Callable[[str, str], Awaitable[Line]]
"""Writes a line from instructions and material. Raises Rejected, RateLimited or Unavailable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuizRequest:
    """`count`: how many questions are wanted at most."""

    evidence: tuple[Evidence, ...]
    count: int
    book_title: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuizCard:
    """A question and the sentence that answers it, as a model wrote them."""

    question: str
    answer: DraftSentence


@dataclass(frozen=True, slots=True, kw_only=True)
class QuizDraft:
    """A quiz as a model wrote it. `usage` is None where the server does not count, or the stream was not read to its end."""

    cards: tuple[QuizCard, ...]
    usage: Usage | None = None


WriteQuiz = Callable[[QuizRequest], Awaitable[QuizDraft]]
"""Writes a quiz. Raises Rejected, RateLimited or Unavailable where no card came."""
