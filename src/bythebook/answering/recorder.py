"""What decided a turn, the trace of one that has ended, and what is told of it to who listens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict

from bythebook.answering.answer import Answer, Answered, Refused, TurnEvent
from bythebook.answering.question import Question
from bythebook.answering.steps import Attributes, Steps, Tracing
from bythebook.answering.trace import Considered, FollowUp, Gate, Shown, Trace
from bythebook.answering.turn import Turn
from bythebook.followups.rewrite import Rewrite
from bythebook.grounding.confidence import ConfidenceMetrics
from bythebook.grounding.verdict import Unanswerable, Verdict
from bythebook.retrieval.evidence import Evidence

CONSIDERED = 10
"""Hits that a trace tells of: what a drafter may be shown, and as many again."""


def trace(turn: Turn) -> Trace:
    labels = {passage.id: one.label for one in turn.evidence for passage in one.passages}
    return Trace(
        query=turn.look.found.query,
        score_threshold=turn.question.score_threshold,
        similarity_threshold=turn.question.similarity_threshold,
        score_scale=turn.question.score_scale,
        signals=asdict(turn.look.signals),
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
        evidence=tuple(_shown(one) for one in turn.evidence),
        draft=tuple(turn.drafted),
        steps=turn.steps.taken,
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


def _shown(evidence: Evidence) -> Shown:
    return Shown(
        label=evidence.label,
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
    """An answer that is part of no thread."""
    with tracing() as steps:
        steps.attributes |= {"book_id": question.scope.book_id, "asked": question.text}
        async with aclosing(turn(steps)) as events:
            async for event in events:
                if isinstance(event, Answered | Refused):
                    steps.attributes |= told(event.answer)
                yield event


def told(answer: Answer) -> Attributes:
    """What a trace tells of how the turn ended."""
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
