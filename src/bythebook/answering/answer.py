"""The events of a turn and the answer it ends with: documents A's and C's AgentResponse in one. Values only; the command line,
the service and the page render them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bythebook.answering.assessment import BookAssessment
from bythebook.answering.trace import Trace
from bythebook.drafting.draft import ToolCall
from bythebook.drafting.prompts import MAX_ANSWER_LENGTH as MAX_ANSWER_LENGTH
from bythebook.drafting.prompts import MAX_CITATIONS as MAX_CITATIONS
from bythebook.grounding.citations import Citation
from bythebook.grounding.verdict import ConfidenceMetrics, RefusalReason
from bythebook.retrieval.query import SearchResult
from bythebook.texts import texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A place in the book that the reader may want to open."""

    page_title: str
    heading_path: tuple[str, ...]
    source_url: str
    module: str
    chapter: int
    lesson: int
    hardware_tier: int
    proficiency_level: str
    layer: str
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBegun:
    """The question as it is searched for; it differs from what was asked where that referred to the thread."""

    asked: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the search found. `results` are those shown to the reader, best first; `beyond` the next of the first ten, by which
    the search is evaluated."""

    results: tuple[SearchResult, ...]
    confidence: ConfidenceMetrics
    beyond: tuple[SearchResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgain:
    """What a further search found, one that the model asked for."""

    call: ToolCall
    results: tuple[SearchResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A checked sentence, item or block. `labels` are its markers."""

    text: str
    kind: str
    citations: tuple[Citation, ...]

    @property
    def labels(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(citation.label for citation in self.citations))

    @property
    def marked(self) -> str:
        return _marked(self, "".join(f"[{label}]" for label in self.labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A drafted sentence that no reader sees, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a turn ends with: an answer, or a refusal that says why and where to look instead. The text of an answer ends with its
    disclaimer, where it has one."""

    answer: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    query: str
    question: str
    book_id: str
    grounded: bool
    refused: bool
    reason: RefusalReason | None
    detail: str
    disclaimer: str | None
    confidence: ConfidenceMetrics
    nearest: tuple[Section, ...]
    filter_applied: str | None
    model: str
    tokens_used: int
    retrieval_count: int
    tool_calls: tuple[ToolCall, ...]
    dropped: tuple[Dropped, ...]
    retrieval_time_ms: float
    generation_time_ms: float
    created_at: datetime
    books: tuple[BookAssessment, ...] = ()
    """Where several books were asked: the assessment of each, this answer's book first."""
    language: str = "en"
    """The language of what the reader is told besides the book's own words."""

    @property
    def headline(self) -> str:
        """Why it was refused, in a few words."""
        return texts(self.language).headlines[self.reason or "unsupported"]

    @property
    def total_time_ms(self) -> float:
        return self.retrieval_time_ms + self.generation_time_ms

    def __str__(self) -> str:
        """The whole answer as Markdown, as a reader sees it."""
        from bythebook.answering.markdown import to_markdown

        return to_markdown(self)

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from bythebook.answering.notebook import to_html

        return to_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The last event of a turn that refuses."""

    answer: Answer
    trace: Trace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The last event of a turn that answers."""

    answer: Answer
    trace: Trace | None = None


TurnEvent = SearchBegun | Found | FoundAgain | Sentence | Refused | Answered


def inline(citation: Citation) -> str:
    """A citation inside a text, in document A's form."""
    place = f"Chapter: {citation.chapter} | Section: {citation.section}"
    return f"[Source: {citation.source_url} | {place} | Score: {citation.score:.2f}]"


def inline_text(sentences: Sequence[Sentence]) -> str:
    """The answer as one text, with document A's citations in place of markers."""
    return _joined([(one.kind, _marked(one, inline_citations(one))) for one in sentences])


def inline_citations(sentence: Sentence) -> str:
    """One citation for each of the sentence's labels."""
    first = {one.label: one for one in reversed(sentence.citations)}
    return " ".join(inline(first[label]) for label in sentence.labels)


def sources_footer(citations: Sequence[Citation]) -> list[str]:
    """Document C's lines below an answer: each source under the label that its sentences carry."""
    if not citations:
        return []
    return ["---", "**Sources:**", *(f"[{one.label}] {one.source_url} (score: {one.score:.2f})" for one in citations)]


def _marked(sentence: Sentence, marks: str) -> str:
    return f"{sentence.text}\n{marks}" if sentence.kind in {"code", "table", "maths"} else f"{sentence.text} {marks}"


def with_disclaimer(text: str, disclaimer: str | None) -> str:
    """Adds the disclaimer, which is part of the answer; answers stored by an earlier version do not have it in their text."""
    return text if not disclaimer or text.endswith(disclaimer) else f"{text}\n\n{disclaimer}"


def without_disclaimer(text: str, disclaimer: str | None) -> str:
    """The answer without its disclaimer: what a follow-up may refer to."""
    return text.removesuffix(disclaimer).rstrip() if disclaimer else text


def joined(sentences: Sequence[Sentence]) -> str:
    """The answer as one text with its markers."""
    return _joined([(one.kind, one.marked) for one in sentences])


def _joined(parts: Sequence[tuple[str, str]]) -> str:
    """Joins sentences with spaces; items and blocks stand on lines of their own."""
    text = ""
    for kind, marked in parts:
        if not text:
            text = marked
        elif kind == "sentence":
            text += (" " if text_runs_on(text) else "\n\n") + marked
        else:
            text += ("\n" if kind == "item" else "\n\n") + marked
    return text


def text_runs_on(text: str) -> bool:
    last = text.rpartition("\n")[2]
    return not last.startswith(("- ", "* ", "|", "```", "[")) and not last[:3].rstrip(". ").isdigit()
