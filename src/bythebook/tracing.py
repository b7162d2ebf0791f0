"""What decided a turn, and the trace of one that has ended, made of what happened in it."""

from __future__ import annotations

from dataclasses import asdict

from bythebook.grounding.confidence import ConfidenceMetrics
from bythebook.grounding.verdict import Unanswerable, Verdict
from bythebook.retrieval.evidence import Evidence
from bythebook.traces import Considered, Gate, Shown, Trace
from bythebook.turn import Turn

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
                section=hit.chunk.section_title or "",
                source_url=hit.chunk.source_url,
                score=hit.cosine,
                lexical=hit.lexical,
                relevance=level,
                label=labels.get(hit.chunk.id),
            )
            for hit, level in list(zip(turn.look.found.hits, turn.levels, strict=True))[:CONSIDERED]
        ),
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
