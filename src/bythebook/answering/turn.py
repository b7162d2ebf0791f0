"""What has happened in a turn so far, the answer it ends with, what decided it, and what listeners are told of it.

The steps of a turn are recorded while it runs: when each began, how long it took, and what is worth telling about it. A
listener gives `Conversation` a `Tracing` and is told when the turn has ended: a turn is a generator, and what is current
between two of its events is its reader's business.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from bythebook.answering.answer import (
    MAX_CITATIONS,
    Answer,
    Answered,
    Dropped,
    Found,
    Refused,
    Sentence,
    TurnEvent,
    joined,
    with_disclaimer,
)
from bythebook.answering.look import Look
from bythebook.answering.question import Question
from bythebook.answering.trace import Considered, Drafted, FollowUp, Gate, Shown, Step, StepName, Trace
from bythebook.drafting.draft import ToolCall
from bythebook.followups.rewrite import Rewrite
from bythebook.grounding.citations import Citation
from bythebook.grounding.verdict import ConfidenceMetrics, Unanswerable, Verdict
from bythebook.index.state import IngestionState
from bythebook.retrieval.evidence import Evidence
from bythebook.retrieval.query import SearchResult
from bythebook.retrieval.search import RankedChunk, to_result
from bythebook.texts import texts

Attribute = str | int | float | bool
Attributes = dict[str, Attribute]

CONSIDERED = 10
"""How many hits a trace lists: what a drafter may be shown, and as many again."""
EVALUATED = 10
"""How many of them the search is evaluated by: the depth of `mrr_at_10` and `ndcg_at_10`."""


@dataclass(slots=True)
class Steps:
    """The steps of one turn. `attributes` describe the turn as a whole."""

    attributes: Attributes = field(default_factory=dict)
    recorded: list[tuple[Step, Attributes]] = field(default_factory=list)

    @property
    def taken(self) -> tuple[Step, ...]:
        return tuple(step for step, _ in self.recorded)

    @contextmanager
    def step(self, name: StepName) -> Iterator[Attributes]:
        """Records a step with the attributes that are set in it, also if it fails."""
        attributes: Attributes = {}
        began_at, began = datetime.now(UTC), time.perf_counter()
        try:
            yield attributes
        finally:
            self.recorded.append((Step(name=name, began_at=began_at, seconds=time.perf_counter() - began), attributes))


Tracing = Callable[[], AbstractContextManager[Steps]]
"""Entered for each turn, and left when the turn has ended, failed or been abandoned."""


def untraced() -> AbstractContextManager[Steps]:
    return nullcontext(Steps())


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
    beyond: list[tuple[RankedChunk, float]] = field(default_factory=list)
    """Better hits outside the reader's filters with their relevance, where they were searched for."""
    evidence: tuple[Evidence, ...] = ()
    """What the drafter was shown."""
    sentences: list[Sentence] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    """The number under which readers see each cited evidence, by its label: 1, 2 … in the order of first use."""
    system_prompt: str | None = None
    """As the model was sent it."""
    declined: bool = False
    """Whether the drafter said that the passages do not answer."""
    doubted: bool = False
    """Whether the program alone would have refused, and left the decision to the model."""
    unanswered: str = ""
    """Why what the model only copied does not answer."""
    copied: int = 0
    """How many of the book's sentences a model has copied so far."""
    full: bool = False
    """Whether the next sentence was too long for the answer."""
    dropped: list[Dropped] = field(default_factory=list)
    gate: Gate | None = None
    drafted: list[Drafted] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    calls: list[ToolCall] = field(default_factory=list)
    found_again: list[tuple[SearchResult, ...]] = field(default_factory=list)
    """Results of further searches that no event has reported yet."""
    tokens: int = 0
    said: bool = False
    """Whether a sentence of the draft is in the answer."""
    failure: Unanswerable | None = None
    """Why nothing answers, where nothing does."""
    parts: tuple[Turn, ...] = ()
    """Where several things are asked at once: a turn for each, which share sentences, numbers, calls and steps with this one."""
    left: tuple[str, ...] = ()
    """What else was asked and not looked up."""
    share: float = 1.0
    """How much of the answer may be full after this one of several parts."""
    reserved: int = 0
    """How many characters of the answer are kept for what is said of its parts."""

    @property
    def standalone(self) -> str:
        return self.rewrite.text

    @property
    def shown(self) -> list[tuple[RankedChunk, float]]:
        """The results that reach the similarity threshold, as many as were asked for, each with its relevance."""
        least, limit = self.question.similarity_threshold, self.question.scope.limit * max(1, len(self.parts))
        return shown_hits(self.look, self.levels, least=least, limit=limit)

    @property
    def found(self) -> Found:
        shown = self.shown
        first = shown_hits(self.look, self.levels, least=self.question.similarity_threshold, limit=max(EVALUATED, len(shown)))
        ranked = results(first)
        return Found(results=ranked[: len(shown)], beyond=ranked[len(shown) :], confidence=self.confidence)


def shown_hits(look: Look, levels: Sequence[float], *, least: float, limit: int) -> list[tuple[RankedChunk, float]]:
    pairs = zip(look.found.hits, levels, strict=True)
    return [(hit, level) for hit, level in pairs if level >= least][:limit]


def results(shown: Sequence[tuple[RankedChunk, float]]) -> tuple[SearchResult, ...]:
    return tuple(to_result(rank, hit, level) for rank, (hit, level) in enumerate(shown, start=1))


def numbered(turn: Turn, citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """The citations under the numbers that readers see; evidence that no sentence cited so far gets the next ones."""
    numbers = dict(turn.numbers)
    return tuple(replace(one, label=numbers.setdefault(one.label, len(numbers) + 1)) for one in citations)


def answered(turn: Turn, note: str, *, model: str) -> Answer:
    """Ends the turn with the sentences that passed the check. `note`: what is said of the parts that are not answered."""
    sentences, confidence = tuple(turn.sentences), turn.confidence
    unsure = confidence.confidence_level in ("low", "insufficient")
    disclaimer = " ".join(filter(None, (texts(turn.state.language).disclaimer if unsure else "", note))) or None
    if note and not unsure:
        confidence = replace(confidence, confidence_level="low")
    cited = {citation.label: citation for sentence in reversed(sentences) for citation in reversed(sentence.citations)}
    return replace(
        unended_answer(turn, model),
        answer=with_disclaimer(joined(sentences), disclaimer),
        sentences=sentences,
        citations=tuple(cited[label] for label in sorted(cited))[:MAX_CITATIONS],
        grounded=True,
        disclaimer=disclaimer,
        confidence=replace(confidence, should_answer=True),
    )


def unended_answer(turn: Turn, model: str) -> Answer:
    """The fields that every answer and every refusal of this turn share."""
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
        filter_applied=turn.question.scope.prefix_filter,
        model=model,
        tokens_used=turn.tokens,
        retrieval_count=_reached(turn),
        tool_calls=tuple(turn.calls),
        dropped=tuple(turn.dropped),
        retrieval_time_ms=1000 * (turn.retrieved_at - turn.asked_at),
        generation_time_ms=1000 * (now - turn.retrieved_at),
        created_at=datetime.now(UTC),
        books=turn.question.books,
        language=texts(turn.state.language).language,
    )


def _reached(turn: Turn) -> int:
    """How many of the results reached the drafter; where there was no draft, how many there were."""
    if not turn.evidence:
        return len(turn.shown)
    held = {passage.id for one in turn.evidence for passage in one.passages}
    return sum(hit.chunk.id in held for hit, _ in turn.shown)


def trace(turn: Turn) -> Trace:
    numbers = dict(turn.numbers)
    for one in turn.evidence:  # uncited evidence is numbered after the cited
        numbers.setdefault(one.label, len(numbers) + 1)
    labels = {passage.id: numbers[one.label] for one in turn.evidence for passage in one.passages}
    return Trace(
        query=turn.look.found.query,
        score_threshold=turn.question.score_threshold,
        similarity_threshold=turn.question.similarity_threshold,
        score_scale=turn.question.score_scale,
        signals=asdict(turn.look.ranking or turn.look.signals),
        considered=tuple(
            Considered(
                chunk_id=hit.chunk.id,
                page_title=hit.chunk.page_title,
                section=hit.section.title or "",
                source_url=hit.section.source_url,
                score=hit.cosine,
                lexical=hit.lexical,
                relevance=level,
                label=labels.get(hit.chunk.id),
            )
            for hit, level in list(zip(turn.look.found.hits, turn.levels, strict=True))[:CONSIDERED]
        ),
        follow_up=_follow_up(turn.rewrite),
        gate=turn.gate,
        evidence=tuple(_shown(one, numbers[one.label]) for one in turn.evidence),
        draft=tuple(replace(one, labels=tuple(numbers.get(label, label) for label in one.labels)) for one in turn.drafted),
        steps=turn.steps.taken,
        system_prompt=turn.system_prompt,
    )


def gate(turn: Turn, verdict: Verdict, *, subject: float | None, beyond: ConfidenceMetrics | None) -> Gate:
    refused = verdict if isinstance(verdict, Unanswerable) else None
    return Gate(
        answerable=refused is None,
        reason=refused.reason if refused else None,
        detail=refused.detail if refused else "",
        best=turn.confidence.max_similarity,
        average=turn.confidence.average_similarity,
        top_cosine=turn.look.signals.top_cosine,
        subject=subject,
        beyond=beyond.average_similarity if beyond else None,
    )


def _follow_up(rewrite: Rewrite) -> FollowUp | None:
    return FollowUp(by=rewrite.by, note=rewrite.note) if rewrite.by or rewrite.note else None


def _shown(evidence: Evidence, number: int) -> Shown:
    return Shown(
        label=number,
        chunk_ids=tuple(passage.id for passage in evidence.passages),
        page_title=evidence.first.page_title,
        section=evidence.first.section_title or "",
        source_url=evidence.first.source_url,
        score=evidence.score,
        relevance=evidence.relevance,
    )


async def traced(
    tracing: Tracing, question: Question, turn: Callable[[Steps], AsyncGenerator[TurnEvent, None]]
) -> AsyncGenerator[TurnEvent, None]:
    """Runs a turn that is part of no thread, with tracing."""
    with tracing() as steps:
        steps.attributes |= {"book_id": question.scope.book_id, "asked": question.text}
        async with aclosing(turn(steps)) as events:
            async for event in events:
                if isinstance(event, Answered | Refused):
                    steps.attributes |= told(event.answer)
                yield event


def told(answer: Answer) -> Attributes:
    """What a trace reports of how the turn ended."""
    return {
        "refused": answer.refused,
        "reason": answer.reason or "",
        "confidence_level": answer.confidence.confidence_level,
        "sentences": len(answer.sentences),
        "dropped": len(answer.dropped),
        "citations": len(answer.citations),
        "tokens": answer.tokens_used,
        "model": answer.model,
    }
