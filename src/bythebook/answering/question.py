"""What a reader asks, and the rules for a question."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from bythebook.answering.assessment import BookAssessment
from bythebook.drafting.draft import Exchange
from bythebook.errors import InvalidInput
from bythebook.grounding.verdict import DEFAULT_SCORE_THRESHOLD
from bythebook.retrieval.query import MAX_TEXT, Scope

MAX_QUESTION = 1000
UNREADABLE = ("Cc", "Cs")
"""Control characters, and what a terminal makes of bytes that are not text."""

ScoreScale = Literal["relevance", "cosine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a reader asks, which lessons may be used, and how sure an answer must be. The limit of its scope is how many results
    are shown."""

    text: str
    scope: Scope
    score_threshold: float = DEFAULT_SCORE_THRESHOLD
    similarity_threshold: float = 0.0
    gate: bool = True
    """Whether document E's confidence decides, too; without it only the two thresholds decide."""
    score_scale: ScoreScale = "relevance"
    history: tuple[Exchange, ...] = ()
    selection: str = ""
    """Words of the book that the reader selected, which the question is about."""
    books: tuple[BookAssessment, ...] = ()
    """Where several books were asked: the assessment of each, the one that answers first."""

    def __post_init__(self) -> None:
        check_question(self.text)
        for name in ("score_threshold", "similarity_threshold"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidInput(f"The {name.replace('_', ' ')} must be from 0.0 to 1.0, not {getattr(self, name)}.")


def about(question: str, selection: str) -> str:
    """The question together with the selected words, shortened to what a search accepts."""
    room = MAX_TEXT - len(question) - len(" “”")
    words = " ".join(selection.split())
    if len(words) > room:
        words = words[: max(0, words.rfind(" ", 0, room + 1))]
    return f"{question} “{words}”" if words else question


def check_question(text: str) -> None:
    length = len(text.strip())
    if not 1 <= length <= MAX_QUESTION:
        raise InvalidInput(f"A question takes 1 to {MAX_QUESTION:,} characters; this one has {length:,}.")
    if any(unicodedata.category(letter) in UNREADABLE and letter not in "\n\t\r" for letter in text):
        raise InvalidInput("The question holds control characters; type it again without them.")
