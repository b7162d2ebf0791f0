"""How a turn ends without an answer: which words each reason is told in, and the nearest sections. The words themselves are in
`texts`, one file for each language.
"""

from __future__ import annotations

from dataclasses import replace

from bythebook.answering.answer import Answer, Section
from bythebook.answering.turn import Turn, unended_answer
from bythebook.grounding.verdict import RefusalReason
from bythebook.index.lexical import STEMMERS, STOP_WORDS
from bythebook.retrieval.search import RankedChunk
from bythebook.texts import Texts, texts

LANGUAGES = {**STEMMERS, "ja": "japanese", "ko": "korean", "ur": "urdu", "vi": "vietnamese", "zh": "chinese"}
NEAREST = 3


def refusal(turn: Turn, reason: RefusalReason, detail: str, *, model: str) -> Answer:
    """Ends the turn without an answer."""
    inside = list(zip(turn.look.found.hits, turn.levels, strict=True))
    sections = _sections(turn.beyond if reason == "outside_filters" else inside)
    said = _texts(turn)
    return replace(
        unended_answer(turn, model),
        answer=_refusal_text(reason, turn, said, sections),
        refused=True,
        confidence=replace(turn.confidence, should_answer=False),
        reason=reason,
        detail=detail,
        nearest=sections,
        language=said.language,
    )


def _sections(hits: list[tuple[RankedChunk, float]]) -> tuple[Section, ...]:
    """The nearest sections, each once."""
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


def _refusal_text(reason: RefusalReason, turn: Turn, said: Texts, sections: tuple[Section, ...]) -> str:
    match reason:
        case "nothing_found":
            text = said.no_context
        case "off_topic":
            text = said.off_topic.format(title=turn.state.title)
        case "not_in_book" if turn.declined:
            text = f"{said.no_confidence} {said.declined}"
        case "not_in_book":
            text = said.low_score
        case "unsupported":
            text = f"{said.no_confidence} {said.unsupported}"
        case "outside_filters":
            text = f"{said.no_context} {said.outside_filters}"
    searched = said.searched_nearest if sections else said.searched
    if said.language == "en" and _foreign(turn):
        searched = searched.replace("searched", f"searched; it is written in {_language(turn.state.language)}", 1)
    if (asked := len(turn.question.books)) > 1:
        searched = said.searched_several.format(count=asked, title=turn.state.title)
    return f"{text} {searched}"


def _texts(turn: Turn) -> Texts:
    """In the book's language, unless the question is in English."""
    return texts("en" if _in_english(turn) else turn.state.language)


def _foreign(turn: Turn) -> bool:
    """Whether the question may be in another language than the book: the book has hardly any of its words, and for an English
    book they are not among common English words either."""
    return turn.look.signals.known_share <= 0.2 and not (turn.state.language == "en" and _in_english(turn))


def _in_english(turn: Turn) -> bool:
    words = turn.standalone.lower().rstrip("?").split()
    return sum(word in STOP_WORDS for word in words) >= len(words) / 3


def _language(code: str) -> str:
    """The language's name, where the code is known."""
    return LANGUAGES.get(code.partition("-")[0].lower(), f"'{code}'").capitalize()
