"""One turn: question → standalone question → look at the book → verdict → refuse, or draft and check → events.

When the verdict is to refuse, no model is called. What a drafter says reaches nobody before it is checked.
"""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from bythebook.answers import (
    DISCLAIMER,
    MAX_ANSWER_LENGTH,
    MAX_CITATIONS,
    REFUSAL_LOW_SCORE,
    REFUSAL_NO_CONTEXT,
    REFUSAL_OFF_TOPIC,
    Answer,
    Answered,
    Dropped,
    Found,
    Refused,
    Searching,
    Section,
    Sentence,
    TurnEvent,
    joined,
)
from bythebook.assessing import Assessor, Look, confidence, relevances
from bythebook.drafting.draft import Drafter, DraftRequest, DraftSentence, Exchange, ToolCall, Usage
from bythebook.drafting.followup import standalone
from bythebook.errors import InvalidInput, Unavailable
from bythebook.grounding.calibration import Calibration
from bythebook.grounding.citations import Checker, Supported
from bythebook.grounding.confidence import ConfidenceMetrics
from bythebook.grounding.verdict import DEFAULT_SCORE_THRESHOLD, Answerable, RefusalReason, Unanswerable, decide
from bythebook.index.embedding import Embedder
from bythebook.index.lexical import STEMMERS, STOP_WORDS
from bythebook.index.state import IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.retrieval.evidence import Evidence, gather
from bythebook.retrieval.query import MIN_TEXT, SearchQuery, SearchResult
from bythebook.retrieval.search import Hit, Search, to_result

MAX_QUESTION = 1000
UNREADABLE = ("Cc", "Cs")
"""Control characters, and what a terminal makes of bytes that are no text."""
LANGUAGES = {**STEMMERS, "ja": "japanese", "ko": "korean", "ur": "urdu", "vi": "vietnamese", "zh": "chinese"}
NEAREST = 3
EMBED_SECONDS = 30.0
SEARCH_SECONDS = 30.0
TOTAL_SECONDS = 90.0

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
class _Turn:
    """What has happened in one turn so far."""

    question: Question
    state: IngestionState
    asked_at: float
    standalone: str
    look: Look
    levels: list[float]
    confidence: ConfidenceMetrics
    retrieved_at: float
    beyond: list[tuple[Hit, float]] = field(default_factory=list)
    """Better hits outside the reader's filters with their relevance, where that was looked into."""
    sentences: list[Sentence] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    tokens: int = 0

    @property
    def shown(self) -> list[tuple[Hit, float]]:
        """The results that reach the similarity threshold, as many as were asked for."""
        least = self.question.similarity_threshold
        pairs = zip(self.look.found.hits, self.levels, strict=True)
        return [(hit, level) for hit, level in pairs if level >= least][: self.question.query.limit]


class Answering:
    def __init__(
        self,
        *,
        search: Search,
        assessor: Assessor,
        index: VectorIndex,
        embedder: Embedder,
        drafter: Drafter,
        tool_name: str = "search_textbook",
    ) -> None:
        self._search = search
        self._assessor = assessor
        self._index = index
        self._embedder = embedder
        self._drafter = drafter
        self._tool_name = tool_name

    async def answer(self, question: Question) -> AsyncIterator[TurnEvent]:
        """Searching, Found, then each Sentence as it passes, then Answered; or Refused."""
        asked_at = time.perf_counter()
        state = await self._search.book(question.query.book_id)
        calibration = await self._calibration(state, question)
        text = standalone(question.text, question.history, state.language)
        yield Searching(asked=question.text, question=text)
        look = await self._look(replace(question.query, text=_searchable(text)), state)
        levels = relevances(look, calibration)
        turn = _Turn(
            question=question,
            state=state,
            asked_at=asked_at,
            standalone=text,
            look=look,
            levels=levels,
            confidence=confidence(look, levels),
            retrieved_at=time.perf_counter(),
        )
        turn.calls.append(self._call(text, [level for _, level in turn.shown]))
        yield Found(results=_results(turn), confidence=turn.confidence)
        verdict = await self._verdict(turn, calibration)
        turn.retrieved_at = time.perf_counter()
        if isinstance(verdict, Unanswerable):
            yield Refused(answer=self._refusal(turn, verdict.reason, verdict.detail))
            return
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                async for sentence in self._drafted(turn, calibration):
                    yield sentence
        except TimeoutError as error:
            raise Unavailable(f"The answer took longer than {TOTAL_SECONDS:g} seconds and was given up. Try again.") from error
        if not turn.sentences:
            yield Refused(answer=self._refusal(turn, "unsupported", "nothing in the draft could be backed by the book"))
            return
        yield Answered(answer=self._answered(turn, verdict))

    async def _calibration(self, state: IngestionState, question: Question) -> Calibration | None:
        if question.score_scale == "cosine":
            return None
        manifest = (await self._index.collections())[state.collection_name]
        stored = manifest.calibration.get(state.book_id)
        return Calibration.from_dict(stored["close"]) if stored else None

    async def _look(self, query: SearchQuery, state: IngestionState) -> Look:
        try:
            async with asyncio.timeout(EMBED_SECONDS):
                embedding = await self._embedder.embed_question(query.text)
            async with asyncio.timeout(SEARCH_SECONDS):
                return await self._assessor.look(query, state, embedding)
        except TimeoutError as error:
            raise Unavailable("The search took longer than 30 seconds and was given up. Try again.") from error

    async def _verdict(self, turn: _Turn, calibration: Calibration | None) -> Answerable | Unanswerable:
        question = turn.question
        beyond, best_is_beyond = None, False
        unfiltered = SearchQuery(
            text=turn.look.found.query.text, book_id=turn.state.book_id, hardware_tier_filter=None, limit=question.query.limit
        )
        if turn.look.found.query.filters != unfiltered.filters:
            wide = await self._look(unfiltered, turn.state)
            inside = {hit.chunk.id for hit in turn.look.found.hits}
            best_is_beyond = bool(wide.found.hits) and wide.found.hits[0].chunk.id not in inside
            levels = relevances(wide, calibration)
            beyond = confidence(wide, levels)
            turn.beyond = [pair for pair in zip(wide.found.hits, levels, strict=True) if pair[0].chunk.id not in inside]
        return decide(
            turn.confidence,
            score_threshold=question.score_threshold,
            shown=len(turn.shown),
            similarity_threshold=question.similarity_threshold,
            on_subject=calibration is None or turn.look.signals.top_cosine >= calibration.subject,
            beyond=beyond,
            best_is_beyond=best_is_beyond,
        )

    async def _drafted(self, turn: _Turn, calibration: Calibration | None) -> AsyncIterator[Sentence]:
        evidence = await self._evidence(turn)
        checker = Checker(evidence, language=turn.state.language)

        async def search_again(query: str, top_k: int, threshold: float) -> tuple[Evidence, ...]:
            nonlocal evidence, checker
            wanted = replace(turn.question.query, text=_searchable(query), limit=min(top_k, MAX_CITATIONS))
            again = await self._look(wanted, turn.state)
            more = await self._evidence(replace_look(turn, again, relevances(again, calibration)), above=threshold)
            evidence, found = _merged(evidence, more)
            checker = Checker(evidence, language=turn.state.language)
            return found

        request = DraftRequest(
            question=turn.standalone,
            asked=turn.question.text,
            evidence=evidence,
            book_title=turn.state.title,
            language=turn.state.language,
            history=turn.question.history,
            search_again=search_again,
        )
        labels: set[int] = set()
        full = False
        async for event in self._drafter.draft(request):
            match event:
                case ToolCall():
                    turn.calls.append(event)
                case Usage():
                    turn.tokens += event.total
                case DraftSentence():
                    sentence = None if full else self._checked(turn, checker, event)
                    if sentence is None or len(labels.union(sentence.labels)) > MAX_CITATIONS:
                        continue
                    if len(joined((*turn.sentences, sentence))) > MAX_ANSWER_LENGTH:
                        full = bool(turn.sentences)  # the answer ends with the sentence before
                        continue
                    labels.update(sentence.labels)
                    turn.sentences.append(sentence)
                    yield sentence

    async def _evidence(self, turn: _Turn, *, above: float | None = None) -> tuple[Evidence, ...]:
        least = turn.question.similarity_threshold if above is None else above
        hits = [
            (hit.chunk, hit.cosine, level) for hit, level in zip(turn.look.found.hits, turn.levels, strict=True) if level >= least
        ]
        limit = min(turn.look.found.query.limit, MAX_CITATIONS)
        return await gather(self._index, turn.state, hits, limit=limit)

    def _checked(self, turn: _Turn, checker: Checker, draft: DraftSentence) -> Sentence | None:
        checked = checker.check(draft)
        if isinstance(checked, Supported):
            return Sentence(text=checked.text, kind=checked.kind, citations=checked.citations)
        turn.dropped.append(Dropped(text=checked.text, reason=checked.reason))
        return None

    def _call(self, query: str, levels: list[float]) -> ToolCall:
        average = sum(levels) / len(levels) if levels else 0.0
        return ToolCall(tool_name=self._tool_name, query=query, results_count=len(levels), avg_similarity=average)

    def _refusal(self, turn: _Turn, reason: RefusalReason, detail: str) -> Answer:
        inside = list(zip(turn.look.found.hits, turn.levels, strict=True))
        sections = _sections(turn.beyond if reason == "outside_filters" else inside)
        return replace(
            self._base(turn),
            answer=_refusal_text(reason, turn, sections),
            refused=True,
            reason=reason,
            detail=detail,
            nearest=sections,
        )

    def _answered(self, turn: _Turn, verdict: Answerable) -> Answer:
        sentences = tuple(turn.sentences)
        cited = {citation.label: citation for sentence in reversed(sentences) for citation in reversed(sentence.citations)}
        return replace(
            self._base(turn),
            answer=joined(sentences),
            sentences=sentences,
            citations=tuple(cited[label] for label in sorted(cited))[:MAX_CITATIONS],
            grounded=True,
            disclaimer=DISCLAIMER if verdict.confidence.confidence_level == "low" else None,
        )

    def _base(self, turn: _Turn) -> Answer:
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
            model=self._drafter.model,
            tokens_used=turn.tokens,
            retrieval_count=len(turn.shown),
            tool_calls=tuple(turn.calls),
            dropped=tuple(turn.dropped),
            retrieval_time_ms=1000 * (turn.retrieved_at - turn.asked_at),
            generation_time_ms=1000 * (now - turn.retrieved_at),
            created_at=datetime.now(UTC),
        )


def replace_look(turn: _Turn, look: Look, levels: list[float]) -> _Turn:
    return replace(turn, look=look, levels=levels)


def _merged(old: tuple[Evidence, ...], new: tuple[Evidence, ...]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """What was found before keeps its label; what is new gets the next ones."""
    known = {passage.id: evidence for evidence in old for passage in evidence.passages}
    together, found = list(old), []
    for evidence in new:
        if evidence.first.id in known:
            found.append(known[evidence.first.id])
            continue
        labelled = replace(evidence, label=len(together) + 1)
        together.append(labelled)
        found.append(labelled)
    return tuple(together), tuple(dict.fromkeys(found))


def _searchable(text: str) -> str:
    """A question may have one character, a search needs three."""
    return text.strip().ljust(MIN_TEXT, "?")


def _results(turn: _Turn) -> tuple[SearchResult, ...]:
    return tuple(to_result(rank, hit, level) for rank, (hit, level) in enumerate(turn.shown, start=1))


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


def _refusal_text(reason: RefusalReason, turn: _Turn, sections: tuple[Section, ...]) -> str:
    match reason:
        case "nothing_found":
            text = REFUSAL_NO_CONTEXT
        case "off_topic":
            text = REFUSAL_OFF_TOPIC.format(title=turn.state.title)
        case "not_in_book" | "unsupported":
            text = REFUSAL_LOW_SCORE
        case "outside_filters":
            text = f"{REFUSAL_NO_CONTEXT} The book does cover it beyond your filters."
    searched = f"The book was searched ({turn.state.total_chunks:,} chunks)"
    language = f"; it is written in {_language(turn.state.language)}" if _foreign(turn) else ""
    pointer = "; the nearest sections are below." if sections else "."
    return f"{text} {searched}{language}{pointer}"


def _foreign(turn: _Turn) -> bool:
    """Whether the question may be in another language than the book: the book has hardly any of its words, and in an
    English one they do not stand among English words either."""
    words = turn.standalone.lower().rstrip("?").split()
    english = turn.state.language == "en" and sum(word in STOP_WORDS for word in words) >= len(words) / 3
    return turn.look.signals.known_share <= 0.2 and not english


def _language(code: str) -> str:
    """In words, where the code is known."""
    return LANGUAGES.get(code.partition("-")[0].lower(), f"'{code}'").capitalize()
