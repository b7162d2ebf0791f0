"""Compares one outcome with what its author expects, and with the book itself. A turn's own claims are not trusted: quotes are
looked up in the source text, and sentences are checked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from bythebook.answering.answer import Answer, Sentence, without_disclaimer
from bythebook.drafting.draft import DraftSentence, Quote, SentenceKind
from bythebook.evaluation.cases import Case
from bythebook.evaluation.lesson_texts import LessonText, LessonTexts
from bythebook.evaluation.marks import Mark, Retrieved
from bythebook.evaluation.run import Outcome
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Citation, Supported
from bythebook.retrieval.evidence import Evidence
from bythebook.retrieval.query import SearchResult

SHOWN = 5
"""How many results are stored with a question, to explain how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gold:
    """Where the book has the answer: the lessons, and the place of the expected quote in one of them."""

    lessons: tuple[LessonText, ...]
    quote: tuple[str, int, int] | None

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(lesson.source_file for lesson in self.lessons)

    def holds(self, source_file: str, start: int, end: int) -> bool:
        """Whether a stretch of a lesson overlaps the expected quote."""
        if self.quote is None:
            return False
        path, first, last = self.quote
        return source_file == path and start < last and first < end


class Scorer:
    """Scores outcomes against what their author expects and against the book."""

    def __init__(self, sources: LessonTexts, *, language: str) -> None:
        self._sources = sources
        self._language = language

    async def mark(self, outcome: Outcome, *, fitted: bool) -> Mark:
        case, answer = outcome.case, outcome.answer
        gold = await self._gold(case)
        mark = Mark(
            id=case.id,
            question=case.question,
            line=case.line,
            kind=case.kind,
            fitted=fitted,
            filtered=bool(case.filters),
            follow_up=bool(case.history),
            expected=case.answerable,
            expected_reason=case.reason,
            gold=case.lessons,
            chapter=gold.lessons[0].chapter if gold.lessons else "",
            order=gold.lessons[0].order if gold.lessons else ("", 0, 0),
            quote_stands=gold.quote is not None if case.quote and gold.lessons else None,
            retrieved=tuple(_retrieved(result, gold) for result in outcome.results[:SHOWN]),
            passage_rank=_passage_rank(outcome.results, gold),
            failure=outcome.failure,
            says=bool(case.keywords or case.answers),
        )
        return mark if answer is None else await self._answered(mark, case, answer, gold)

    async def _answered(self, mark: Mark, case: Case, answer: Answer, gold: _Gold) -> Mark:
        citations = [one for sentence in answer.sentences for one in sentence.citations]
        unsupported = [sentence.text for sentence in answer.sentences if not await self._supported(sentence)]
        inexact = [one.quote for one in citations if not await self._exact(one)]
        places = {(one.source_file, one.span.start, one.span.end) for one in citations}
        expects = bool(gold.lessons) and not answer.refused
        return replace(
            mark,
            searched=answer.question,
            answered=not answer.refused,
            reason=answer.reason,
            detail=answer.detail,
            text=answer.answer,
            confidence=round(answer.confidence.average_similarity, 4),
            level=answer.confidence.confidence_level,
            cited=tuple(sorted({one.source_file for one in citations})),
            citation_precision=sum(path in gold.paths for path, _, _ in places) / len(places) if expects and places else None,
            lesson_cited=bool(gold.paths & {path for path, _, _ in places}) if expects else None,
            quote_cited=any(gold.holds(*place) for place in places) if expects and case.quote else None,
            words_found=_words_found(case, answer) if not answer.refused else None,
            quotes=len(citations),
            inexact=tuple(inexact),
            sentences=len(answer.sentences),
            unsupported=tuple(unsupported),
        )

    async def _gold(self, case: Case) -> _Gold:
        lessons = [lesson for path in case.lessons if (lesson := await self._sources.lesson(path))]
        for lesson in lessons:
            place = lesson.find(case.quote) if case.quote else None
            if place:
                return _Gold(lessons=tuple(lessons), quote=(lesson.source_file, *place))
        return _Gold(lessons=tuple(lessons), quote=None)

    async def _exact(self, citation: Citation) -> bool:
        lesson = await self._sources.lesson(citation.source_file)
        return lesson is not None and lesson.between(citation.span.start, citation.span.end) == citation.quote

    async def _supported(self, sentence: Sentence) -> bool:
        """Whether a sentence is supported by the cited chunks as the index has them now: as a quotation, which is quick to check,
        or by its content."""
        evidence = await self._evidence(sentence.citations)
        if not evidence:
            return False
        checker = Checker(evidence, self._language)
        chunks = {chunk.id: chunk for one in evidence for chunk in one.passages}
        quotes = tuple(
            Quote(label=one.label, chunk_id=one.chunk_id, start=one.span.start - at, end=one.span.end - at)
            for one in sentence.citations
            if one.chunk_id in chunks
            for at in (chunks[one.chunk_id].span.start,)
        )
        draft = DraftSentence(text=sentence.text, labels=sentence.labels, kind=cast(SentenceKind, sentence.kind))
        return any(isinstance(checker.check(one), Supported) for one in (replace(draft, quotes=quotes), draft))

    async def _evidence(self, citations: Sequence[Citation]) -> list[Evidence]:
        by_label: dict[int, list[Citation]] = {}
        for citation in citations:
            by_label.setdefault(citation.label, []).append(citation)
        evidence = []
        for label, cited in by_label.items():
            lesson = await self._sources.lesson(cited[0].source_file)
            ids = {one.chunk_id for one in cited}
            passages = tuple(chunk for chunk in lesson.chunks if chunk.id in ids) if lesson else ()
            if passages:
                evidence.append(Evidence(label=label, passages=passages, score=cited[0].score, relevance=cited[0].relevance))
        return evidence


def _retrieved(result: SearchResult, gold: _Gold) -> Retrieved:
    return Retrieved(
        rank=result.rank,
        source_file=result.source_file,
        page_title=result.page_title,
        heading_path=result.heading_path,
        source_url=result.source_url,
        score=round(result.score, 4),
        relevance=round(result.relevance or 0.0, 4),
        right=result.source_file in gold.paths,
    )


def _passage_rank(results: Sequence[SearchResult], gold: _Gold) -> int | None:
    """The rank of the first result that holds the expected quote."""
    for result in results:
        if gold.holds(result.source_file, result.span.start, result.span.end):
            return result.rank
    return None


def _words_found(case: Case, answer: Answer) -> float | None:
    """The share of the required words that the answer has, in its own text or in its quotes."""
    if not case.keywords and not case.answers:
        return None
    parts = [
        without_disclaimer(answer.answer, answer.disclaimer),
        *(one.quote for sentence in answer.sentences for one in sentence.citations),
    ]
    said = " ".join(" ".join(parts).split()).casefold()
    found = [" ".join(word.split()).casefold() in said for word in case.keywords]
    if case.answers:
        found.append(any(" ".join(word.split()).casefold() in said for word in case.answers))
    return sum(found) / len(found)
