"""A turn of a thread, with the real index, database, drafter and checker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from bythebook.answering.answer import Answered, Found, Refused, SearchBegun, Sentence
from bythebook.database.book_rows import rename_rows
from bythebook.drafting.draft import Drafter, DraftEvent, DraftRequest, DraftSentence
from bythebook.errors import Busy, InvalidInput, NotFound, Unavailable
from bythebook.retrieval.query import Scope
from bythebook.threads.conversation import Conversation, Opened, ThreadEvent
from bythebook.threads.store import ANY_KEY, Threads
from tests.support.lighthouse import FOREIGN, TRIMMED, WICK, Scripted
from tests.support.room import Room, asked, tell_in_room

Tell = Callable[[Callable[[Room], Awaitable[None]]], None]


@pytest.fixture
def tale(database_address: str | None, folder: Path) -> Tell:
    def run(story: Callable[[Room], Awaitable[None]]) -> None:
        tell_in_room(database_address, folder, story)

    return run


class Pausing:
    """A drafter that says when it is asked, waits until it may go on, and then drafts from the book."""

    model = "pausing"

    def __init__(self, drafter: Drafter) -> None:
        self.asked = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.ended = asyncio.Event()
        self._drafter = drafter

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        self.asked.set()
        try:
            await self.may_go_on.wait()
            async for event in self._drafter.draft(request):
                yield event
        finally:
            self.ended.set()

    async def close(self) -> None:
        pass


class Failing:
    """A drafter whose server has gone away."""

    model = "failing"

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        yield DraftSentence(text=TRIMMED, labels=(1,))
        raise Unavailable("The model does not answer.")

    async def close(self) -> None:
        pass


def test_a_turn_is_stored_before_its_reader_is_told_that_it_ended(tale: Tell) -> None:
    async def story(room: Room) -> None:
        kinds: list[type] = []
        async for event in room.conversation().turn(asked(WICK)):
            kinds.append(type(event))
            if isinstance(event, Opened):
                opened = event
            if isinstance(event, Answered | Refused):
                (stored,) = await room.threads.turns(opened.thread_id)
                assert (stored.answer, stored.trace) == (event.answer, event.trace)
                assert (await room.threads.get(opened.thread_id, None)).turn_count == 1
            else:
                assert await room.threads.list(ANY_KEY) == []
        assert kinds == [Opened, SearchBegun, Found, Sentence, Answered]
        assert opened.turn == 1
        assert await room.lease_ends() is None

    tale(story)


def test_a_turn_whose_book_is_renamed_while_it_runs_is_not_stored(tale: Tell) -> None:
    """Its citations name chunks that no longer exist."""

    async def story(room: Room) -> None:
        library, begun = room.lighthouse.library, await room.begun(WICK)
        drafters = {begun: Pausing(room.drafter), str(uuid4()): Pausing(room.drafter)}
        turns = [asyncio.create_task(_told(room.conversation(one), thread_id)) for thread_id, one in drafters.items()]
        for drafter in drafters.values():
            await drafter.asked.wait()
        await library.database.run(lambda connection: rename_rows(connection, "light", "lamp", {}))
        for drafter, turn in zip(drafters.values(), turns, strict=True):
            drafter.may_go_on.set()
            with pytest.raises(Busy, match="renamed to 'lamp'"):
                await turn
        (thread,) = await room.rows()
        assert (thread.book_id, thread.turn_count, thread.turn_token) == ("lamp", 1, None)
        assert [turn.answer.book_id for turn in await room.threads.turns(begun)] == ["lamp"]

    tale(story)


async def _told(conversation: Conversation, thread_id: str) -> None:
    async for _ in conversation.turn(asked(WICK, thread_id)):
        pass


def test_a_follow_up_leans_on_what_is_stored(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun("What is a wick?")
        opened, searching, *_, ended = await room.ask("How often is it trimmed?", thread_id)
        assert opened == Opened(thread_id=thread_id, book_id="light", turn=2)
        assert searching == SearchBegun(asked="How often is it trimmed?", question="How often is the wick trimmed?")
        assert isinstance(ended, Answered)
        assert TRIMMED in ended.answer.answer

    tale(story)


def test_a_refusal_is_kept_like_an_answer_and_its_trace_says_why(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun(FOREIGN, WICK)
        refused, answered = await room.threads.turns(thread_id)
        assert (refused.answer.refused, refused.answer.reason) == (True, "off_topic")
        assert refused.trace is not None
        assert {one.label for one in refused.trace.considered} == {None}
        assert answered.trace is not None
        best = answered.trace.considered[0]
        assert (best.label, best.page_title, best.section) == (1, "Wicks and oil", "Trimming the wick")
        assert best.chunk_id == answered.answer.citations[0].chunk_id
        assert (answered.trace.score_threshold, answered.trace.score_scale) == (0.3, "relevance")
        assert 0.0 < answered.trace.signals["top_cosine"] <= 1.0

    tale(story)


def test_a_trace_tells_what_decided_what_was_shown_and_what_became_of_every_sentence(tale: Tell) -> None:
    moon = "The moon is made of cheese."

    async def story(room: Room) -> None:
        thread_id = await room.begun(FOREIGN)
        async for _ in room.conversation(Scripted(TRIMMED, moon)).turn(asked(WICK, thread_id)):
            pass
        refused, answered = (turn.trace for turn in await room.threads.turns(thread_id))
        assert refused is not None
        assert refused.gate is not None
        assert (refused.gate.answerable, refused.gate.reason, refused.evidence, refused.draft) == (False, "off_topic", (), ())
        assert refused.gate.best < refused.score_threshold
        assert answered is not None
        assert answered.gate is not None
        assert (answered.gate.answerable, answered.gate.reason, answered.gate.beyond) == (True, None, None)
        assert answered.evidence[0].label == 1
        assert answered.considered[0].chunk_id in answered.evidence[0].chunk_ids
        kept, dropped = answered.draft
        assert (kept.text, kept.labels, kept.dropped) == (TRIMMED, (1,), None)
        assert dropped.text == moon
        assert dropped.dropped
        assert [step.name for step in answered.steps] == ["follow-up", "search", "verdict", "check", "check", "draft"]

    tale(story)


def test_a_reader_who_goes_away_leaves_nothing_and_the_thread_free(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun("What is a wick?")
        before = (await room.threads.get(thread_id, None), await room.threads.messages(thread_id))
        for last in (Opened, SearchBegun, Found, Sentence):
            for thread in (thread_id, None):
                async with aclosing(room.conversation().turn(asked(WICK, thread))) as events:
                    async for event in events:
                        if isinstance(event, last):
                            break
                (row,) = await room.rows()
                assert (row.thread_id, row.turn_token, row.turn_count) == (thread_id, None, 1)
        assert (await room.threads.get(thread_id, None), await room.threads.messages(thread_id)) == before

    tale(story)


def test_work_stops_when_the_reader_is_gone(tale: Tell) -> None:
    async def story(room: Room) -> None:
        pausing = Pausing(room.drafter)
        conversation = room.conversation(pausing)

        async def read() -> None:
            async for _ in conversation.turn(asked(WICK)):
                pass

        with anyio.CancelScope() as scope:  # how a web framework ends what a client left
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                await pausing.asked.wait()
                scope.cancel()
        assert pausing.ended.is_set()
        assert await room.rows() == []

    tale(story)


def test_cancelled_at_any_moment_a_turn_is_whole_or_was_not(tale: Tell) -> None:
    async def story(room: Room) -> None:
        conversation, kept = room.conversation(), 0
        for moment in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
            thread_id = str(uuid4())

            async def read(thread_id: str = thread_id) -> None:
                async for _ in conversation.turn(asked(WICK, thread_id)):
                    pass

            reading = asyncio.create_task(read())
            for _ in range(moment):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait([reading])
            rows = [row for row in await room.rows() if row.thread_id == thread_id]
            assert [(row.turn_token, row.turn_count) for row in rows] in ([], [(None, 1)])
            turns, messages = await room.threads.turns(thread_id), await room.threads.messages(thread_id)
            assert (len(turns), len(messages)) == ((1, 5) if rows else (0, 0))
            kept += len(turns)
        assert kept < 11

    tale(story)


def test_a_turn_waits_for_the_one_before_it(tale: Tell) -> None:
    async def story(room: Room) -> None:
        pausing = Pausing(room.drafter)
        thread_id = str(uuid4())

        async def first() -> list[ThreadEvent]:
            return [event async for event in room.conversation(pausing).turn(asked("What is a wick?", thread_id))]

        running = asyncio.create_task(first())
        await pausing.asked.wait()
        with pytest.raises(Busy, match=r"running for 0.05 seconds.*begin another thread"):
            await anext(room.conversation(wait_seconds=0.05).turn(asked(WICK, thread_id)))
        second = asyncio.create_task(room.ask("How often is it trimmed?", thread_id))
        await asyncio.sleep(0)
        pausing.may_go_on.set()
        await running
        opened, searching, *_ = await second
        assert opened == Opened(thread_id=thread_id, book_id="light", turn=2)
        assert searching == SearchBegun(asked="How often is it trimmed?", question="How often is the wick trimmed?")

    tale(story)


def test_many_readers_of_one_thread_take_turns(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id, conversation = str(uuid4()), room.conversation()

        async def read(number: int) -> list[ThreadEvent]:
            return [event async for event in conversation.turn(asked(f"What is a wick, {number}?", thread_id))]

        told = await asyncio.gather(*map(read, range(5)))
        turns = await room.threads.turns(thread_id)
        assert [turn.number for turn in turns] == [1, 2, 3, 4, 5]
        for events in told:
            opened, ended = events[0], events[-1]
            assert isinstance(opened, Opened)
            assert isinstance(ended, Answered | Refused)
            assert turns[opened.turn - 1].answer == ended.answer

    tale(story)


def test_a_long_turn_keeps_its_lease(tale: Tell) -> None:
    async def story(room: Room) -> None:
        short = replace(room, threads=Threads(room.lighthouse.library.database, lease=timedelta(seconds=0.3)))
        pausing = Pausing(room.drafter)

        async def read() -> list[ThreadEvent]:
            return [event async for event in short.conversation(pausing).turn(asked(WICK))]

        running = asyncio.create_task(read())
        await pausing.asked.wait()
        ends = [await room.lease_ends()]
        while len(ends) < 3:  # renewed twice
            if (end := await room.lease_ends()) != ends[-1]:
                ends.append(end)
        pausing.may_go_on.set()
        assert isinstance((await running)[-1], Answered)

    tale(story)


def test_a_drafter_that_fails_leaves_no_half_turn(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun("What is a wick?")
        with pytest.raises(Unavailable, match="does not answer"):
            async for _ in room.conversation(Failing()).turn(asked(WICK, thread_id)):
                pass
        assert (await room.ask(WICK, thread_id))[0] == Opened(thread_id=thread_id, book_id="light", turn=2)

    tale(story)


def test_a_thread_deleted_while_its_turn_runs_stays_deleted(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun("What is a wick?")
        seen: list[ThreadEvent] = []

        async def read() -> None:
            async for event in room.conversation().turn(asked(WICK, thread_id)):
                seen.append(event)
                if isinstance(event, Found):
                    await room.threads.delete(thread_id, None)

        with pytest.raises(NotFound, match="was deleted while its turn ran"):
            await read()
        assert not any(isinstance(event, Answered | Refused) for event in seen)
        assert await room.rows() == []

    tale(story)


def test_a_thread_that_is_full_offers_a_new_one(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun(WICK, WICK)
        with pytest.raises(InvalidInput, match="has had its 2 questions"):
            await anext(room.conversation(max_turns=2).turn(asked(WICK, thread_id)))
        assert (await room.threads.get(thread_id, None)).turn_count == 2
        assert (await room.ask(WICK, thread_id))[0] == Opened(thread_id=thread_id, book_id="light", turn=3)

    tale(story)


def test_what_cannot_be_asked_is_said_before_anything_happens(tale: Tell) -> None:
    async def story(room: Room) -> None:
        other = await room.begun(WICK)
        for wrong, error in (
            (asked(" "), InvalidInput),
            (asked("a\x00b"), InvalidInput),
            (asked(WICK, score_threshold=2.0), InvalidInput),
            (asked(WICK, "not a uuid"), InvalidInput),
            (asked(WICK, other, key_id="someone"), NotFound),
            (replace(asked(WICK, other), scope=Scope(book_id="dark")), NotFound),
        ):
            with pytest.raises(error):
                await anext(room.conversation().turn(wrong))
        assert [row.thread_id for row in await room.rows()] == [other]
        with pytest.raises(NotFound, match="There is no book 'dark'"):
            await room.ask(WICK, scope=Scope(book_id="dark"))
        assert [row.thread_id for row in await room.rows()] == [other]

    tale(story)


def test_metadata_and_summary(tale: Tell) -> None:
    async def story(room: Room) -> None:
        thread_id = str(uuid4())
        await room.ask(WICK, thread_id, metadata={"user_id": "u1"})
        for question in ("What is a wick?", FOREIGN, "What is a Fresnel lens?"):
            await room.ask(question, thread_id)
        thread = await room.threads.get(thread_id, None)
        assert (thread.metadata, thread.topic_summary) == ({"user_id": "u1"}, None)
        await room.ask("How often is it trimmed?", thread_id, metadata={"tags": ["wick"]})
        thread = await room.threads.get(thread_id, None)
        assert thread.metadata == {"user_id": "u1", "tags": ["wick"]}
        assert (thread.topic_summary or "").startswith("Wicks and oil (Trimming the wick")
        assert "Lenses" in (thread.topic_summary or "")

    tale(story)


def test_a_crowd_is_answered_in_its_order(tale: Tell) -> None:
    """When the first have their answers, the last have not been looked at: all together would all be last."""
    crowd = 80

    async def story(room: Room) -> None:
        conversation = room.conversation()
        opened, ended = 0, []

        async def one(number: int) -> None:
            nonlocal opened
            async for event in conversation.turn(asked(WICK)):
                opened += isinstance(event, Opened)
                if isinstance(event, Answered):
                    ended.append((number, opened))

        await asyncio.gather(*map(one, range(crowd)))
        assert len(ended) == crowd
        assert ended[0][1] <= crowd // 2
        early = {number for number, _ in ended[: crowd // 2]}
        assert sum(number < crowd * 3 // 4 for number in early) == len(early)

    tale(story)
