"""How a turn ends without an answer: the wording of each reason, and the nearest sections."""

from __future__ import annotations

from dataclasses import replace

from bythebook.answering.answer import (
    REFUSAL_LOW_SCORE,
    REFUSAL_NO_CONTEXT,
    REFUSAL_OFF_TOPIC,
    Answer,
    Section,
)
from bythebook.answering.turn import Turn, unended_answer
from bythebook.grounding.verdict import RefusalReason
from bythebook.index.lexical import STEMMERS, STOP_WORDS
from bythebook.retrieval.search import RankedChunk

LANGUAGES = {**STEMMERS, "ja": "japanese", "ko": "korean", "ur": "urdu", "vi": "vietnamese", "zh": "chinese"}
NEAREST = 3
NO_CONFIDENCE = REFUSAL_LOW_SCORE.partition(". ")[0] + "."
"""How document A's sentence on low relevance begins. The rest of it would not be true of passages that are relevant."""


def refusal(turn: Turn, reason: RefusalReason, detail: str, *, model: str) -> Answer:
    """The turn ends without an answer."""
    inside = list(zip(turn.look.found.hits, turn.levels, strict=True))
    sections = _sections(turn.beyond if reason == "outside_filters" else inside)
    return replace(
        unended_answer(turn, model),
        answer=_refusal_text(reason, turn, sections),
        refused=True,
        confidence=replace(turn.confidence, should_answer=False),
        reason=reason,
        detail=detail,
        nearest=sections,
    )


def _sections(hits: list[tuple[RankedChunk, float]]) -> tuple[Section, ...]:
    """The nearest places, each once."""
    sections: dict[str, Section] = {}
    for hit, level in hits:
        chunk, section = hit.chunk, hit.section
        sections.setdefault(
            section.source_url,
            Section(
                page_title=chunk.page_title,
                heading_path=section.heading_path,
                source_url=section.source_url,
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
        case "not_in_book" if turn.declined:
            text = f"{NO_CONFIDENCE} The passages that were found do not answer it."
        case "not_in_book":
            text = REFUSAL_LOW_SCORE
        case "unsupported":
            text = f"{NO_CONFIDENCE} Nothing that was drafted from the passages that were found is backed by them."
        case "outside_filters":
            text = f"{REFUSAL_NO_CONTEXT} That is what your filters leave: the book does cover it beyond your filters."
    asked = len(turn.question.books)
    which = f"{asked} books were searched, and “{turn.state.title}” comes nearest" if asked > 1 else "The book was searched"
    searched = f"{which} ({turn.state.total_chunks:,} chunks)"
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
