"""A turn's question, what has happened in it so far, and the answer or refusal it ends with. Values and wording; no I/O."""

from __future__ import annotations

import time
import unicodedata
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from bythebook.answers import (
    DISCLAIMER,
    MAX_CITATIONS,
    REFUSAL_LOW_SCORE,
    REFUSAL_NO_CONTEXT,
    REFUSAL_OFF_TOPIC,
    Answer,
    Dropped,
    Section,
    Sentence,
    joined,
)
from bythebook.assessing import Look
from bythebook.drafting.draft import Exchange, ToolCall
from bythebook.drafting.rewriting import Rewrite
from bythebook.errors import InvalidInput
from bythebook.grounding.confidence import ConfidenceMetrics
from bythebook.grounding.verdict import DEFAULT_SCORE_THRESHOLD, RefusalReason
from bythebook.index.lexical import STEMMERS, STOP_WORDS
from bythebook.index.state import IngestionState
from bythebook.retrieval.evidence import Evidence
from bythebook.retrieval.query import SearchQuery, SearchResult
from bythebook.retrieval.search import Hit, to_result
from bythebook.steps import Steps
from bythebook.traces import Drafted, Gate

MAX_QUESTION = 1000
UNREADABLE = ("Cc", "Cs")
"""Control characters, and what a terminal makes of bytes that are no text."""
LANGUAGES = {**STEMMERS, "ja": "japanese", "ko": "korean", "ur": "urdu", "vi": "vietnamese", "zh": "chinese"}
NEAREST = 3

ScoreScale = Literal["relevance", "cosine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a reader asks. `query` carries the book and the reader's filters; its limit is how many results are shown."""

    text: str
    query: SearchQuery
    score_threshold: float = DEFAULT_SCORE_THRESHOLD
    similarity_threshold: float = 0.0
    score_scale: ScoreScale = "relevance"
    history: tuple[Exchange, ...] = ()

    def __post_init__(self) -> None:
        check_question(self.text)
        for name in ("score_threshold", "similarity_threshold"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidInput(f"The {name.replace('_', ' ')} must be from 0.0 to 1.0, not {getattr(self, name)}.")


def check_question(text: str) -> None:
    length = len(text.strip())
    if not 1 <= length <= MAX_QUESTION:
        raise InvalidInput(f"A question takes 1 to {MAX_QUESTION:,} characters; this one has {length:,}.")
    if any(unicodedata.category(letter) in UNREADABLE and letter not in "\n\t\r" for letter in text):
        raise InvalidInput("The question holds control characters; type it again without them.")


@dataclass(slots=True)
class Turn:
    """What has happened in one turn so far."""

    question: Question
    state: IngestionState
    asked_at: float
    rewrite: Rewrite
    look: Look
    levels: list[float]
    confidence: ConfidenceMetrics
    retrieved_at: float
    beyond: list[tuple[Hit, float]] = field(default_factory=list)
    """Better hits outside the reader's filters with their relevance, where that was looked into."""
    evidence: tuple[Evidence, ...] = ()
    """What the drafter was shown."""
    sentences: list[Sentence] = field(default_factory=list)
    declined: bool = False
    """Whether the drafter said that the passages do not answer."""
    full: bool = False
    """Whether the next sentence was too long for the answer."""
    dropped: list[Dropped] = field(default_factory=list)
    gate: Gate | None = None
    drafted: list[Drafted] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    calls: list[ToolCall] = field(default_factory=list)
    tokens: int = 0

    @property
    def standalone(self) -> str:
        return self.rewrite.text

    @property
    def shown(self) -> list[tuple[Hit, float]]:
        """The results that reach the similarity threshold, as many as were asked for."""
        least = self.question.similarity_threshold
        pairs = zip(self.look.found.hits, self.levels, strict=True)
        return [(hit, level) for hit, level in pairs if level >= least][: self.question.query.limit]


def results(turn: Turn) -> tuple[SearchResult, ...]:
    return tuple(to_result(rank, hit, level) for rank, (hit, level) in enumerate(turn.shown, start=1))


def refusal(turn: Turn, reason: RefusalReason, detail: str, *, model: str) -> Answer:
    """The turn ends without an answer."""
    inside = list(zip(turn.look.found.hits, turn.levels, strict=True))
    sections = _sections(turn.beyond if reason == "outside_filters" else inside)
    return replace(
        _base(turn, model),
        answer=_refusal_text(reason, turn, sections),
        refused=True,
        reason=reason,
        detail=detail,
        nearest=sections,
    )


def answered(turn: Turn, confidence: ConfidenceMetrics, *, model: str) -> Answer:
    """The turn ends with what passed the check."""
    sentences = tuple(turn.sentences)
    cited = {citation.label: citation for sentence in reversed(sentences) for citation in reversed(sentence.citations)}
    return replace(
        _base(turn, model),
        answer=joined(sentences),
        sentences=sentences,
        citations=tuple(cited[label] for label in sorted(cited))[:MAX_CITATIONS],
        grounded=True,
        disclaimer=DISCLAIMER if confidence.confidence_level == "low" else None,
    )


def _base(turn: Turn, model: str) -> Answer:
    now = time.perf_counter()
    return Answer(
        answer="",
        sentences=(),
        citations=(),
        query=turn.question.text,
        question=turn.standalone,
        book_id=turn.state.book_id,
        grounded=False,
        refused=False,
        reason=None,
        detail="",
        disclaimer=None,
        confidence=turn.confidence,
        nearest=(),
        filter_applied=turn.question.query.prefix_filter,
        model=model,
        tokens_used=turn.tokens,
        retrieval_count=_reached(turn),
        tool_calls=tuple(turn.calls),
        dropped=tuple(turn.dropped),
        retrieval_time_ms=1000 * (turn.retrieved_at - turn.asked_at),
        generation_time_ms=1000 * (now - turn.retrieved_at),
        created_at=datetime.now(UTC),
    )


def _reached(turn: Turn) -> int:
    """How many of the results reached the drafter; where none was asked, how many there were."""
    if not turn.evidence:
        return len(turn.shown)
    held = {passage.id for one in turn.evidence for passage in one.passages}
    return sum(hit.chunk.id in held for hit, _ in turn.shown)


def _sections(hits: list[tuple[Hit, float]]) -> tuple[Section, ...]:
    """The nearest places, each once."""
    sections: dict[str, Section] = {}
    for hit, level in hits:
        chunk = hit.chunk
        sections.setdefault(
            chunk.source_url,
            Section(
                page_title=chunk.page_title,
                heading_path=chunk.heading_path,
                source_url=chunk.source_url,
                module=chunk.module,
                chapter=chunk.chapter,
                lesson=chunk.lesson,
                hardware_tier=chunk.hardware_tier,
                proficiency_level=chunk.proficiency_level,
                layer=chunk.layer,
                relevance=level,
            ),
        )
    return tuple(sections.values())[:NEAREST]


def _refusal_text(reason: RefusalReason, turn: Turn, sections: tuple[Section, ...]) -> str:
    match reason:
        case "nothing_found":
            text = REFUSAL_NO_CONTEXT
        case "off_topic":
            text = REFUSAL_OFF_TOPIC.format(title=turn.state.title)
        case "not_in_book" | "unsupported":
            text = REFUSAL_LOW_SCORE
        case "outside_filters":
            text = f"{REFUSAL_NO_CONTEXT} That is what your filters leave: the book does cover it beyond your filters."
    searched = f"The book was searched ({turn.state.total_chunks:,} chunks)"
    language = f"; it is written in {_language(turn.state.language)}" if _foreign(turn) else ""
    pointer = "; the nearest sections are below." if sections else "."
    return f"{text} {searched}{language}{pointer}"


def _foreign(turn: Turn) -> bool:
    """Whether the question may be in another language than the book: the book has hardly any of its words, and in an
    English one they do not stand among English words either."""
    words = turn.standalone.lower().rstrip("?").split()
    english = turn.state.language == "en" and sum(word in STOP_WORDS for word in words) >= len(words) / 3
    return turn.look.signals.known_share <= 0.2 and not english


def _language(code: str) -> str:
    """In words, where the code is known."""
    return LANGUAGES.get(code.partition("-")[0].lower(), f"'{code}'").capitalize()
