"""The sentences of one draft, checked in their order; their meaning is judged while the next ones are drafted.

A batch goes to the judge as soon as none is under way, so that the first sentence waits for nobody. When the draft has ended,
what is left goes out at once: an answer waits for one more round trip at most. A sentence is released at the judge's "yes" to
it, while the verdicts on the others are still being written. One that announces something ("The states are:") waits for that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from bythebook.drafting.draft import DraftEvent, DraftSentence, NotInPassages, SystemPrompt, ToolCall, Usage
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Doubtful, Supported, Unsupported
from bythebook.grounding.judgement import Judge, Opinion, Settled, approved, assertions_of, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledSentence:
    """A drafted sentence and the decision on it."""

    draft: DraftSentence
    settled: Settled


@dataclass(slots=True)
class _Queued:
    draft: DraftSentence
    doubtful: Doubtful | None = None
    settled: Settled | None = None


class DraftCheck:
    """Checks one draft. Without a judge the words rule decides every sentence at once."""

    def __init__(self, checker: Checker, judge: Judge | None, *, whole: bool = False) -> None:
        """`whole`: the drafter adds whatever a sentence needs, so that a sentence that ends with a colon is complete."""
        self.checker = checker
        self._whole = whole
        self.tokens = 0
        self._judge = judge
        self._queue: deque[_Queued] = deque()
        self._unasked: list[_Queued] = []
        self._asking: set[asyncio.Task[None]] = set()
        self._ended = False

    def end(self) -> None:
        """Nothing more is drafted."""
        self._ended = True

    def add(self, draft: DraftSentence) -> None:
        one = _Queued(draft)
        self._queue.append(one)
        if self._judge is None:
            one.settled = Settled(outcome=self.checker.check(draft), by="program")
            return
        weighed = self.checker.weigh(draft)
        if isinstance(weighed, Doubtful):
            one.doubtful = weighed
            self._unasked.append(one)
        else:
            one.settled = Settled(outcome=weighed, by="program")

    def ready(self) -> Iterator[SettledSentence]:
        """The sentences that are decided and have no undecided one before them."""
        while self._queue and (settled := self._settled()):
            yield SettledSentence(draft=self._queue.popleft().draft, settled=settled)

    def _settled(self) -> Settled | None:
        """The decision on the first sentence in the queue. A sentence that announces something which does not follow is
        dropped."""
        first, *others = self._queue
        if self._whole or not first.settled or not _announces(first.settled.outcome):
            return first.settled
        for one in others:
            if not one.settled:
                return None
            if isinstance(one.settled.outcome, Supported):
                return first.settled if one.settled.outcome.kind != "sentence" else _withdrawn(first.settled)
        return _withdrawn(first.settled) if self._ended and not self.busy else None

    def ask(self, wake: Callable[[BaseException | None], None], *, last: bool = False) -> None:
        """Sends what waits to the judge, unless the judge is busy and more may come. `wake` is called when the judge has
        answered, or with the error."""
        if self._judge is None or not self._unasked or (self._asking and not last):
            return
        batch, self._unasked = self._unasked, []
        task = asyncio.create_task(self._ask(self._judge, batch, lambda: wake(None)))
        self._asking.add(task)

        def done(ended: asyncio.Task[None]) -> None:
            self._asking.discard(ended)
            wake(None if ended.cancelled() else ended.exception())

        task.add_done_callback(done)

    @property
    def busy(self) -> bool:
        return bool(self._asking or self._unasked)

    async def _ask(self, judge: Judge, batch: list[_Queued], wake: Callable[[], None]) -> None:
        doubtful = [one.doubtful for one in batch if one.doubtful]

        def hear(place: int, opinion: Opinion) -> None:
            if place < len(batch) and not batch[place].settled:
                batch[place].settled = approved(doubtful[place], opinion)
                wake()

        judgement = await judge(assertions_of(doubtful), hear)
        self.tokens += judgement.tokens
        for one, settled in zip(batch, settle(doubtful, judgement), strict=True):
            one.settled = one.settled or settled

    async def close(self) -> None:
        """Stops all calls of the judge."""
        for task in list(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)


def _announces(outcome: Supported | Unsupported) -> bool:
    return isinstance(outcome, Supported) and outcome.kind == "sentence" and outcome.text.rstrip("*_ ").endswith((":", "\uff1a"))


def _withdrawn(settled: Settled) -> Settled:
    outcome = Unsupported(text=settled.outcome.text, reason="announces what does not follow")
    return Settled(outcome=outcome, by="program")


async def checked_draft(
    events: AsyncIterator[DraftEvent], check: DraftCheck
) -> AsyncGenerator[DraftEvent | SettledSentence, None]:
    """Yields the events of a draft, its sentences as soon as they are decided."""
    inbox: asyncio.Queue[_Inbox] = asyncio.Queue()
    reading = asyncio.create_task(_read(events, inbox))
    reading.add_done_callback(lambda ended: inbox.put_nowait(_End(None if ended.cancelled() else ended.exception())))
    ended = False
    try:
        while not ended or check.busy:
            item = await inbox.get()
            error = item.error if isinstance(item, _End) else item
            if isinstance(error, BaseException):
                raise error
            ended = ended or isinstance(item, _End)
            if isinstance(item, _End):
                check.end()
            elif isinstance(item, DraftSentence):
                check.add(item)
            elif isinstance(item, ToolCall | Usage | SystemPrompt | NotInPassages):
                yield item
            check.ask(inbox.put_nowait, last=ended)
            for one in check.ready():
                yield one
        for one in check.ready():
            yield one
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        if isinstance(events, AsyncGenerator):
            await events.aclose()
        await check.close()


@dataclass(frozen=True, slots=True)
class _End:
    """The draft has ended, successfully or with an error."""

    error: BaseException | None


_Inbox = DraftEvent | _End | BaseException | None
"""What was drafted, how the draft ended, and how a judgement ended: None where it succeeded."""


async def _read(events: AsyncIterator[DraftEvent], inbox: asyncio.Queue[_Inbox]) -> None:
    """Puts the drafted events into the inbox."""
    async for event in events:
        inbox.put_nowait(event)
