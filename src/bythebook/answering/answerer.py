"""One turn: question → standalone question → search and assessment → verdict → refusal, or draft and check → events.

When the verdict is to refuse, no model is called. Nothing drafted is shown before it is checked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bythebook.answering.answer import (
    MAX_ANSWER_LENGTH,
    MAX_CITATIONS,
    Answered,
    Dropped,
    FoundAgain,
    Refused,
    SearchBegun,
    Sentence,
    TurnEvent,
    joined,
)
from bythebook.answering.assessment import BookAssessment
from bythebook.answering.copies import without_idle_copies
from bythebook.answering.draft_check import DraftCheck, SettledSentence, checked_draft
from bythebook.answering.look import Assessor, Look, confidence, relevances
from bythebook.answering.parts import MOST_PARTS, note, whole
from bythebook.answering.parts import gather as gather_parts
from bythebook.answering.question import Question, about
from bythebook.answering.refusal import refusal
from bythebook.answering.trace import Drafted
from bythebook.answering.turn import Steps, Tracing, Turn, answered, gate, numbered, results, shown_hits, trace, traced, untraced
from bythebook.drafting.completion import WriteLine
from bythebook.drafting.draft import Drafter, DraftRequest, NotInPassages, SystemPrompt, ToolCall, Usage
from bythebook.embedding.embedder import Embedder
from bythebook.errors import Unavailable
from bythebook.followups.parts import parts
from bythebook.followups.rewrite import Rewrite, make_standalone
from bythebook.grounding.answerability import Answerability, AuthoredScale, RankedScale, Scale
from bythebook.grounding.calibration import AUTHOR_SOURCE, Calibration, Fit
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Supported, Unsupported
from bythebook.grounding.judgement import Judge
from bythebook.grounding.verdict import Answerable, Unanswerable, decide, left_to_model, together
from bythebook.index.manifest import Manifest
from bythebook.index.state import IngestionState
from bythebook.retrieval.evidence import Evidence, gather, merge
from bythebook.retrieval.query import MIN_TEXT, SearchQuery
from bythebook.retrieval.ranker import ranks_by
from bythebook.retrieval.ranker import weights as ranker_weights
from bythebook.retrieval.search import RankedChunk, Search
from bythebook.texts import texts

EMBED_SECONDS = 30.0
SEARCH_SECONDS = 30.0
TOTAL_SECONDS = 90.0
AUTHORED = 20
"""How many questions of the author a fit must rest on to be used before the ranking's fit."""
LOOKS_AT_ONCE = 4
"""How many questions are looked up at the same time. Of a hundred that arrive together, the first is then answered at once and
the last no later than otherwise; without a limit, all would be as late as the last."""


class Answerer:
    """Answers questions: runs a whole turn, from the question to the answer or the refusal. There is one per process."""

    def __init__(
        self,
        *,
        search: Search,
        assessor: Assessor,
        embedder: Embedder,
        drafter: Drafter,
        tool_name: str = "search_textbook",
        write_line: WriteLine | None = None,
        judge: Judge | None = None,
        model_decides: bool = False,
        evidence_tokens: int | None = None,
        total_seconds: float = TOTAL_SECONDS,
        tracing: Tracing = untraced,
    ) -> None:
        """`judge`: who judges the meaning of sentences; without one the words rule decides. `model_decides`: whether the drafter
        is a model, which says itself when the passages do not answer. `evidence_tokens`: the most that a model gets; without a
        limit all results are evidence."""
        self._search = search
        self._assessor = assessor
        self._embedder = embedder
        self._drafter = drafter
        self._tool_name = tool_name
        self._write_line = write_line
        self._judge = judge
        self._model_decides = model_decides
        self._evidence_tokens = evidence_tokens
        self._seconds = total_seconds
        self._tracing = tracing
        self._looking = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._waited_for = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def answer(self, question: Question, steps: Steps | None = None) -> AsyncIterator[TurnEvent]:
        """Yields SearchBegun, Found, each Sentence once it has passed its check, then Answered; or Refused. Pass `steps` to trace
        the turn."""
        if steps is not None:
            return self._answer(question, steps)
        return traced(self._tracing, question, partial(self._answer, question))

    async def _answer(self, question: Question, steps: Steps) -> AsyncGenerator[TurnEvent, None]:
        asked_at = time.perf_counter()
        state, manifest = await self._search.served(question.scope.book_id)
        calibration = None if question.score_scale == "cosine" else relevance_scale(manifest, state)
        rewrite, asked = await self._understood(question, state, steps)
        text = rewrite.text
        yield SearchBegun(asked=question.text, question=text)
        with steps.step("search") as noted:
            begin = partial(self._looked_up, question, rewrite, state, calibration, asked_at=asked_at, steps=steps)
            if len(asked) == 1:
                turn = await begin(text)
            else:
                turns = await asyncio.gather(*map(begin, asked[:MOST_PARTS]))
                turn = whole(turns, question, rewrite, left=asked[MOST_PARTS:])
            noted |= {"candidates": len(turn.look.found.candidates), "top_cosine": turn.look.signals.top_cosine}
        turn.calls.append(self._call(text, [level for _, level in turn.shown]))
        yield turn.found
        for part in turn.parts or (turn,):
            with steps.step("verdict") as noted:
                verdict = await self._verdict(part, calibration)
                part.failure = verdict if isinstance(verdict, Unanswerable) else None
                noted |= {"answerable": part.failure is None, "relevance": part.confidence.max_similarity}
        turn.retrieved_at = time.perf_counter()
        try:
            async with asyncio.timeout(self._seconds):
                async for event in self._all_drafted(turn, calibration):
                    yield event
        except TimeoutError as error:
            raise Unavailable(f"The answer took longer than {self._seconds:g} seconds and was given up. Try again.") from error
        if turn.parts:
            gather_parts(turn)
        if turn.failure:
            answer = refusal(turn, turn.failure.reason, turn.failure.detail, model=self._drafter.model)
            yield Refused(answer=answer, trace=trace(turn))
            return
        if self._model_decides:
            judged = any(one.by == "judge" for one in turn.drafted) and not any(one.note for one in turn.drafted)
            kept, removed = len(turn.sentences), len(turn.dropped)
            turn.confidence = together(turn.confidence, kept=kept, removed=removed, judged=judged)
        yield Answered(answer=answered(turn, note(turn) if turn.parts else "", model=self._drafter.model), trace=trace(turn))

    async def _understood(self, question: Question, state: IngestionState, steps: Steps) -> tuple[Rewrite, tuple[str, ...]]:
        """The standalone question, and what it asks: one thing or several."""
        with steps.step("follow-up") as noted:
            rewrite = Rewrite(text=question.text)
            if question.history and not question.selection:  # "Explain this" means the words, and not the thread
                rewrite = await make_standalone(question.text, question.history, state.language, self._write_line)
            if rewrite.by is None and (alone := await self._assessor.unplaced(rewrite.text, state)) != rewrite.text:
                rewrite = replace(rewrite, text=alone, by="rules")
            asked = parts(rewrite.text, state.language)
            if len(asked) > 1:
                asked = tuple([await self._assessor.unplaced(one, state) for one in asked])
            if question.selection:
                rewrite = replace(rewrite, text=about(rewrite.text, question.selection))
                asked = tuple(about(one, question.selection) for one in asked)
            noted |= {
                "leaned": rewrite.text != question.text,
                "question": rewrite.text,
                "by": rewrite.by or "",
                "fell_back": bool(rewrite.note),
            }
        return rewrite, asked

    async def _looked_up(
        self,
        question: Question,
        rewrite: Rewrite,
        state: IngestionState,
        scale: Scale | None,
        text: str,
        *,
        asked_at: float,
        steps: Steps,
    ) -> Turn:
        """A turn with what was found for `text`."""
        look = await self._look(question.scope.search(_searchable(text)), state, scale, before=rewrite.before)
        levels = relevances(look, scale)
        return Turn(
            question=question,
            state=state,
            asked_at=asked_at,
            rewrite=replace(rewrite, text=text),
            look=look,
            levels=levels,
            confidence=confidence(look, levels),
            retrieved_at=time.perf_counter(),
            steps=steps,
            tokens=rewrite.usage.total if rewrite.usage else 0,
        )

    async def _all_drafted(self, turn: Turn, calibration: Scale | None) -> AsyncIterator[Sentence | FoundAgain]:
        """Drafts what the book may answer; of several questions in one, each by itself."""
        evidence: tuple[Evidence, ...] = ()
        for part in turn.parts or (turn,):
            if part.failure:
                continue
            part.evidence = evidence
            with turn.steps.step("draft") as noted:
                noted["model"] = self._drafter.model
                async for event in self._drafted(part, calibration):
                    yield event
            part.failure, evidence = _failure(part), part.evidence

    async def assess(self, question: Question, *, in_background: bool = False) -> BookAssessment:
        """How surely the book answers this: nothing is drafted and no model is called. `in_background`: only while no reader's
        question is looked up."""
        if in_background:
            await self._idle.wait()
        state, manifest = await self._search.served(question.scope.book_id)
        scale = None if question.score_scale == "cosine" else relevance_scale(manifest, state)
        look = await self._look(question.scope.search(_searchable(question.text)), state, scale, in_background=in_background)
        levels = relevances(look, scale)
        metrics = confidence(look, levels)
        verdict = decide(
            metrics,
            score_threshold=question.score_threshold,
            shown=sum(level >= question.similarity_threshold for level in levels),
            similarity_threshold=question.similarity_threshold,
            gate=question.gate,
        )
        return BookAssessment(
            book_id=state.book_id,
            title=state.title,
            answers=isinstance(verdict, Answerable),
            confidence_level=metrics.confidence_level,
            relevance=metrics.average_similarity,
            score=look.signals.top_cosine,
        )

    async def _look(
        self,
        query: SearchQuery,
        state: IngestionState,
        scale: Scale | None,
        embedding: NDArray[np.float32] | None = None,
        *,
        before: str = "",
        in_background: bool = False,
    ) -> Look:
        """`embedding`: the question's, where it is known already. `before`: the question before it."""
        self._waited_for += not in_background
        if self._waited_for:
            self._idle.clear()
        try:
            async with self._looking:
                if embedding is None:
                    async with asyncio.timeout(EMBED_SECONDS):
                        embedding = await self._embedder.embed_question(query.text)
                async with asyncio.timeout(SEARCH_SECONDS):
                    by_ranking = isinstance(scale, RankedScale)
                    return await self._assessor.look(query, state, embedding, before=before, by_ranking=by_ranking)
        except TimeoutError as error:
            raise Unavailable("The search took longer than 30 seconds and was given up. Try again.") from error
        finally:
            self._waited_for -= not in_background
            if not self._waited_for:
                self._idle.set()

    async def _verdict(self, turn: Turn, calibration: Scale | None) -> Answerable | Unanswerable:
        question = turn.question
        beyond, best_is_beyond = None, False
        unfiltered = question.scope.unfiltered
        if question.scope.filters != unfiltered.filters:
            again = unfiltered.search(turn.look.found.query.text)
            known = turn.look.found.embedding
            wide = await self._look(again, turn.state, calibration, known, before=turn.rewrite.before)
            inside = {hit.chunk.id for hit in turn.look.found.hits}
            best_is_beyond = bool(wide.found.hits) and wide.found.hits[0].chunk.id not in inside
            levels = relevances(wide, calibration)
            beyond = confidence(wide, levels)
            turn.beyond = [pair for pair in zip(wide.found.hits, levels, strict=True) if pair[0].chunk.id not in inside]
        verdict = decide(
            turn.confidence,
            score_threshold=question.score_threshold,
            shown=len(turn.shown),
            similarity_threshold=question.similarity_threshold,
            gate=question.gate,
            on_subject=calibration is None or turn.look.signals.top_cosine >= calibration.subject,
            beyond=beyond,
            best_is_beyond=best_is_beyond,
        )
        if self._model_decides and question.gate and question.score_scale != "cosine":
            refused = isinstance(verdict, Unanswerable)
            verdict = left_to_model(verdict, score_threshold=question.score_threshold, shown=len(turn.shown))
            turn.doubted = refused and isinstance(verdict, Answerable)
        turn.gate = gate(turn, verdict, subject=calibration.subject if calibration else None, beyond=beyond)
        return verdict

    async def _drafted(self, turn: Turn, calibration: Scale | None) -> AsyncIterator[Sentence | FoundAgain]:
        turn.evidence, evidence = merge(turn.evidence, self._evidence(turn.shown))
        checker = Checker(evidence, turn.state.language, turn.standalone)
        check = DraftCheck(checker, self._judge, whole=not self._model_decides)

        async def search_again(query: str, top_k: int, threshold: float) -> tuple[Evidence, ...]:
            wanted = replace(turn.question.scope, limit=top_k).search(_searchable(query))
            again = await self._look(wanted, turn.state, calibration)
            least = max(threshold, turn.question.similarity_threshold)
            shown = shown_hits(again, relevances(again, calibration), least=least, limit=top_k)
            turn.found_again.append(results(shown))
            turn.evidence, found = merge(turn.evidence, self._evidence(shown))
            check.checker.extend(turn.evidence)
            return found

        request = DraftRequest(
            question=turn.standalone,
            asked=turn.question.text,
            evidence=evidence,
            book_title=turn.state.title,
            language=turn.state.language,
            history=turn.question.history,
            search_again=search_again,
            rarity=turn.look.rarity,
            embedding=turn.look.found.embedding,
            selection=turn.question.selection,
        )
        async with aclosing(checked_draft(self._drafter.draft(request), check)) as events:
            async for event in events:
                match event:
                    case ToolCall():
                        turn.calls.append(event)
                        if event.error is None and turn.found_again:
                            yield FoundAgain(call=event, results=turn.found_again.pop(0))
                    case Usage():
                        turn.tokens += event.total
                    case SystemPrompt():
                        turn.system_prompt = event.text
                    case NotInPassages():
                        turn.declined = True
                    case SettledSentence():
                        if sentence := await self._released(turn, event):
                            yield sentence
        turn.tokens += check.tokens

    async def _released(self, turn: Turn, checked: SettledSentence) -> Sentence | None:
        """The sentence as a reader sees it, or None where it is dropped."""
        if self._model_decides:
            checked = await without_idle_copies(turn, checked, self._assessor.answers)
        return _released(turn, checked)

    def _evidence(self, shown: list[tuple[RankedChunk, float]]) -> tuple[Evidence, ...]:
        hits = [(hit.chunk, hit.cosine, level) for hit, level in shown]
        return gather(hits, budget_tokens=self._evidence_tokens)

    def _call(self, query: str, levels: list[float]) -> ToolCall:
        average = sum(levels) / len(levels) if levels else 0.0
        return ToolCall(
            tool_name=self._tool_name, query=query, results_count=len(levels), avg_similarity=average, timestamp=datetime.now(UTC)
        )


def _failure(turn: Turn) -> Unanswerable | None:
    """Why the draft does not answer, where it does not."""
    if turn.said:
        return None
    if turn.declined or turn.unanswered:
        detail = "the model finds no answer in the passages" if turn.declined else turn.unanswered
        return Unanswerable(reason="not_in_book", confidence=turn.confidence, detail=detail)
    detail = "nothing in the draft could be backed by the book"
    return Unanswerable(reason="unsupported", confidence=turn.confidence, detail=detail)


def _released(turn: Turn, checked: SettledSentence) -> Sentence | None:
    """The sentence as a reader sees it, or None where it is dropped; the turn then keeps the reason."""
    with turn.steps.step("check") as noted:
        shown = _shown(turn, checked.settled.outcome)
        noted |= {"supported": isinstance(shown, Sentence), "by": checked.settled.by}
    draft, settled = checked.draft, checked.settled
    dropped = None if isinstance(shown, Sentence) else shown
    turn.drafted.append(
        Drafted(text=draft.text, kind=draft.kind, labels=draft.labels, dropped=dropped, by=settled.by, note=settled.note)
    )
    if not isinstance(shown, Sentence):
        return None
    turn.said = True
    turn.sentences.append(shown)
    return shown


def _shown(turn: Turn, outcome: Supported | Unsupported) -> Sentence | str:
    """The sentence as a reader sees it, or why it is dropped."""
    if turn.full:
        return "comes after the answer is full"
    if isinstance(outcome, Unsupported):
        turn.dropped.append(Dropped(text=outcome.text, reason=outcome.reason))
        return outcome.reason
    if turn.reserved and any(one.text == outcome.text for one in turn.sentences):
        turn.said = True
        return "is in the answer to another part already"
    sentence = Sentence(text=outcome.text, kind=outcome.kind, citations=numbered(turn, outcome.citations))
    together = (*turn.sentences, sentence)
    if len({label for one in together for label in one.labels}) > int(MAX_CITATIONS * turn.share):
        return f"would be the first to cite more than {MAX_CITATIONS} sources"
    if len(joined(together)) > _room(turn):
        turn.full = bool(turn.sentences)  # the answer ends with the sentence before
        return f"makes the answer longer than {MAX_ANSWER_LENGTH:,} characters"
    turn.numbers |= {one.label: shown.label for one, shown in zip(outcome.citations, sentence.citations, strict=True)}
    return sentence


def _room(turn: Turn) -> int:
    """How many characters the sentences may have together. Unless the level is high, the answer may end with the disclaimer."""
    disclaimer = texts(turn.state.language).disclaimer
    kept = (0 if turn.confidence.confidence_level == "high" else len(disclaimer) + 2) + turn.reserved
    return int((MAX_ANSWER_LENGTH - kept) * turn.share)


def relevance_scale(manifest: Manifest, state: IngestionState) -> Scale | None:
    """What relevance means in a book is fitted by questions of its author together with the ranking's fit, which was made from
    readers' questions of other books; without enough of the author's questions, by the ranking's fit alone. Where the ranking was
    not fitted to the embedder or the language, the book's own fit decides, even if it was made only from questions generated from
    its text."""
    fitted = close_fit(manifest, state)
    if not ranks_by(manifest.embedder, state.language):
        return fitted
    fit = Answerability.from_dict(ranker_weights()["fit"])
    if fitted is None:
        return RankedScale(fit=fit)
    ranked = RankedScale(fit=fit, spread=fitted.spread, subject=fitted.subject)
    return AuthoredScale(own=fitted, ranked=ranked) if fitted.sources.get(AUTHOR_SOURCE, 0) >= AUTHORED else ranked


def _searchable(text: str) -> str:
    """Pads a question of one or two characters: a search needs three."""
    return text.strip().ljust(MIN_TEXT, "?")


def close_fit(manifest: Manifest, state: IngestionState) -> Calibration | None:
    fit = Fit.read(manifest.calibration.get(state.book_id))
    return fit.close if fit else None
