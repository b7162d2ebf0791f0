"""One turn of a thread: takes the lease, reads the history, answers, and stores the whole turn before the reader is told that it
ended.

Closing the generator stops the work, stores nothing and opens the thread to the next turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, cast
from uuid import uuid4

from bythebook.answering.answer import Answered, Found, FoundAgain, Refused, Sentence, TurnEvent, without_disclaimer
from bythebook.answering.answerer import Answerer
from bythebook.answering.assessment import BookAssessment
from bythebook.answering.question import Question, ScoreScale
from bythebook.answering.turn import Steps, Tracing, told, untraced
from bythebook.drafting.completion import WriteLine
from bythebook.drafting.draft import Exchange
from bythebook.drafting.prompts import MAX_HISTORY_TURNS, SYSTEM_PROMPT
from bythebook.errors import BookError, Busy, InvalidInput
from bythebook.grounding.verdict import DEFAULT_SCORE_THRESHOLD
from bythebook.retrieval.query import Scope, SearchResult
from bythebook.threads.model import Lease, NewTurn, check_metadata, digest_of, read_thread_id
from bythebook.threads.store import Threads
from bythebook.threads.summary import PendingSummary
from bythebook.threads.transcript import opening, spoken

MAX_TURNS = 50
WAIT_SECONDS = 60.0
"""How long a turn waits for the one before it."""
CHANCE = Random()  # our own: the shared generator may be seeded by others
LOOK_SECONDS = (0.02, 0.25)
"""How long to wait between two checks whether the thread is free: briefly at first, then longer."""

BEGIN_AT_ONCE = 4
"""How many turns may take their lease at the same time. Among many, a turn that is ready to be stored must not wait until all
others have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question put to a thread. Without a `thread_id`, or with a new one, a thread begins. `metadata` is added to what is
    stored with the thread. `history`: what was said before, from a client that keeps the conversation itself; the thread is then
    the one that has said just that, or a new one."""

    text: str
    scope: Scope
    key_id: str | None = None
    thread_id: str | None = None
    score_threshold: float = DEFAULT_SCORE_THRESHOLD
    similarity_threshold: float = 0.0
    gate: bool = True
    score_scale: ScoreScale = "relevance"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Exchange, ...] | None = None
    selection: str = ""
    """Words of the book that the question is about."""
    books: tuple[BookAssessment, ...] = ()
    """Where several books were asked: how each stood, the one that answers first."""

    def question(self, history: tuple[Exchange, ...] = ()) -> Question:
        """Raises InvalidInput for what cannot be asked."""
        return Question(
            text=self.text,
            scope=self.scope,
            score_threshold=self.score_threshold,
            similarity_threshold=self.similarity_threshold,
            gate=self.gate,
            score_scale=self.score_scale,
            history=history,
            selection=self.selection,
            books=self.books,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The first event: the turn's thread and number, and the book that is asked."""

    thread_id: str
    book_id: str
    turn: int


ThreadEvent = Opened | TurnEvent


class Conversation:
    """Runs turns of threads: takes the lease, answers, and stores the turn."""

    def __init__(
        self,
        *,
        answerer: Answerer,
        threads: Threads,
        max_turns: int = MAX_TURNS,
        system_prompt: str = SYSTEM_PROMPT,
        wait_seconds: float = WAIT_SECONDS,
        tracing: Tracing = untraced,
        write_line: WriteLine | None = None,
    ) -> None:
        self._answerer = answerer
        self._threads = threads
        self._max_turns = max_turns
        self._system_prompt = system_prompt
        self._wait_seconds = wait_seconds
        self._tracing = tracing
        self._write_line = write_line
        self._beginning = asyncio.Semaphore(BEGIN_AT_ONCE)

    async def turn(self, asked: Asked) -> AsyncGenerator[ThreadEvent, None]:
        """Yields Opened, then the turn's own events. An invalid question, and a thread that does not exist, is full or stays
        busy, is an error before the first event."""
        with self._tracing() as steps:
            steps.attributes |= {"book_id": asked.scope.book_id, "asked": asked.text}
            async with aclosing(self._run(asked, steps)) as events:
                async for event in events:
                    yield event

    async def _run(self, asked: Asked, steps: Steps) -> AsyncGenerator[ThreadEvent, None]:
        asked_at = datetime.now(UTC)
        asked.question()
        self._check_room(len(asked.history or ()))
        thread_id = await self._thread_id(asked)
        token, kept = str(uuid4()), False
        renewing = asyncio.create_task(self._renew(thread_id, token))
        summing = PendingSummary(self._write_line)
        try:
            lease = await self._lease(thread_id, token, asked)
            self._check_room(lease.turn_count)
            if asked.metadata:
                check_metadata({**lease.metadata, **asked.metadata})
            if asked.history and lease.turn_count and lease.said != digest_of(asked.history):
                raise Busy("This conversation was continued by another request at the same moment. Ask again.")
            history = lease.history or (asked.history or ())[-MAX_HISTORY_TURNS:]
            steps.attributes |= {"thread_id": thread_id, "turn": lease.turn_count + 1}
            yield Opened(thread_id=thread_id, book_id=asked.scope.book_id, turn=lease.turn_count + 1)
            found: list[tuple[SearchResult, ...]] = []
            events = cast(AsyncGenerator[TurnEvent, None], self._answerer.answer(asked.question(history), steps))
            async with aclosing(events):
                async for event in events:
                    match event:
                        case Found() | FoundAgain():
                            found.append(event.results)
                        case Sentence():
                            summing.begin(asked.text, history)
                        case Answered() | Refused():
                            steps.attributes |= told(event.answer)
                            with steps.step("store"):
                                turn = self._turn(replace(lease, history=history), asked, event, found, asked_at, summing)
                                await self._threads.append(lease, turn)
                            kept = True
                    yield event
        finally:
            renewing.cancel()
            await summing.stop()
            if not kept:
                await self._threads.release(thread_id, token)

    async def _thread_id(self, asked: Asked) -> str:
        if asked.history:
            said = digest_of(asked.history)
            found = await self._threads.find(said, book_id=asked.scope.book_id, key_id=asked.key_id)
            return found or str(uuid4())
        return str(uuid4()) if asked.thread_id is None else read_thread_id(asked.thread_id)

    async def _lease(self, thread_id: str, token: str, asked: Asked) -> Lease:
        give_up_at = time.monotonic() + self._wait_seconds
        pause, longest = LOOK_SECONDS
        while True:
            async with self._beginning:
                lease = await self._threads.lease(
                    thread_id, token, book_id=asked.scope.book_id, key_id=asked.key_id, history=MAX_HISTORY_TURNS
                )
            if lease is not None:
                return lease
            if time.monotonic() >= give_up_at:
                raise Busy(
                    f"A turn of the thread {thread_id} has been running for {self._wait_seconds:g} seconds. "
                    "Wait until it has ended and ask again, or begin another thread."
                )
            await asyncio.sleep(pause * CHANCE.uniform(0.5, 1.5))
            pause = min(2 * pause, longest)

    async def _renew(self, thread_id: str, token: str) -> None:
        while True:
            await asyncio.sleep(self._threads.lease_for.total_seconds() / 3)
            with suppress(BookError):  # while the database is away; storing the turn will say so
                await self._threads.renew(thread_id, token)

    def _check_room(self, turn_count: int) -> None:
        if turn_count >= self._max_turns:
            questions = "question" if self._max_turns == 1 else "questions"
            raise InvalidInput(f"This thread has had its {self._max_turns} {questions}. Begin a new one.")

    def _turn(
        self,
        lease: Lease,
        asked: Asked,
        ended: Answered | Refused,
        found: list[tuple[SearchResult, ...]],
        asked_at: datetime,
        summing: PendingSummary,
    ) -> NewTurn:
        answer, number = ended.answer, lease.turn_count + 1
        messages = spoken(answer, found, turn=number, asked_at=asked_at)
        if number == 1:
            sent = ended.trace.system_prompt if ended.trace else None
            messages = (opening(sent or self._system_prompt, asked_at), *messages)
        sources = tuple(" › ".join(filter(None, (one.page_title, one.section))) for one in answer.citations)
        said = without_disclaimer(answer.answer, answer.disclaimer)
        now = Exchange(question=asked.text, answer=said, sources=sources, refused=answer.refused)
        exchanges = (*lease.history, now)
        return NewTurn(
            answer=answer,
            trace=ended.trace,
            messages=messages,
            topic_summary=summing.told(exchanges),
            metadata={**lease.metadata, **asked.metadata} if asked.metadata else {},
            said=None if asked.history is None else digest_of((*asked.history, now)),
        )
