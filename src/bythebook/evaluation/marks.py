"""A mark: the score of one question's outcome, a flat value that the report stores, shows and compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A result that was found for a question; `right` if it is from an expected lesson."""

    rank: int
    source_file: str
    page_title: str
    heading_path: tuple[str, ...]
    source_url: str
    score: float
    relevance: float
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How one question was handled. A field is None where nothing was expected, so that nothing is scored."""

    id: str
    question: str
    line: int
    kind: str
    fitted: bool
    """Whether relevance was fitted on this question: it is then scored separately."""
    filtered: bool
    follow_up: bool
    expected: bool | None
    expected_reason: str | None
    gold: tuple[str, ...]
    chapter: str
    order: tuple[str, int, int]
    quote_stands: bool | None
    """Whether the expected quote is still in its lesson."""
    retrieved: tuple[Retrieved, ...]
    passage_rank: int | None
    failure: str
    retrieval: Mapping[str, float] = field(default_factory=dict)
    searched: str = ""
    answered: bool = False
    reason: str | None = None
    detail: str = ""
    text: str = ""
    confidence: float = 0.0
    level: str = ""
    cited: tuple[str, ...] = ()
    citation_precision: float | None = None
    lesson_cited: bool | None = None
    quote_cited: bool | None = None
    words_found: float | None = None
    says: bool = False
    """Whether the question comes with words that an answer must contain."""
    quotes: int = 0
    inexact: tuple[str, ...] = ()
    sentences: int = 0
    unsupported: tuple[str, ...] = ()

    @property
    def decided_right(self) -> bool | None:
        """Whether it answered what the book answers, or refused what it does not."""
        return None if self.expected is None else not self.failure and self.answered is self.expected

    @property
    def useful(self) -> bool | None:
        """Whether it was answered and the answer says all that it must. None where the book does not answer, or the author gave
        no such words. Refusing what the book answers is not useful."""
        if not self.expected or not self.says:
            return None
        return self.answered and self.words_found == 1.0

    @property
    def says_what_was_asked(self) -> bool | None:
        """Whether an answer that was given says what was asked. An answer to what the book does not answer never does."""
        if not self.answered or self.expected is None:
            return None
        return self.useful if self.expected else False

    @property
    def right(self) -> bool | None:
        """Whether it was decided right and, if answered, from the right lesson, with the words it must contain, and with quotes
        that are in the book."""
        if self.expected is None:
            return None
        return not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """Describes what is wrong with the outcome."""
        found = [f"could not be asked: {self.failure}"] if self.failure else []
        if self.decided_right is False and not self.failure:
            found.append(
                "refused, though the book answers it" if self.expected else "answered, though it should have been refused"
            )
        if self.lesson_cited is False and self.expected:
            found.append("cites other lessons than the expected one")
        if self.quote_stands is False and self.expected:
            found.append("the expected quote no longer stands in its lesson")
        if self.words_found is not None and self.words_found < 1.0:
            found.append("does not say what it must")
        if self.inexact:
            found.append("quotes what the book does not say")
        if self.unsupported:
            found.append("says what its sources do not")
        return tuple(found)
