"""Threads on both databases: whole turns, one at a time, and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select, update

from bythebook.answering.answer import Answer
from bythebook.answering.trace import Trace
from bythebook.database.engine import Database, database_url
from bythebook.database.tables import cited, messages, turns
from bythebook.database.tables import threads as table
from bythebook.drafting.draft import Exchange
from bythebook.errors import Busy, InvalidInput, NotFound, StorageFailure
from bythebook.threads.model import IDLE, SHOWN_MESSAGES
from bythebook.threads.store import ANY_KEY, LEASE, Threads
from tests.support.databases import tell
from tests.support.made_turns import NOON, answer, citation, keep, new_turn, refusal
from tests.support.values_of import values_of

Tell = Callable[[Callable[[Threads, Database], Awaitable[None]]], None]

ASKED = st.text(min_size=1).map(lambda text: f"Why {text}?")


@pytest.fixture
def tale(database_address: str | None, folder: Path) -> Tell:
    def run(story: Callable[[Threads, Database], Awaitable[None]]) -> None:
        tell(database_address, folder, lambda database: story(Threads(database), database))

    return run


def later(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_a_turn_comes_back_as_it_went_in(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        first, second = answer("What is a wick?"), refusal(at=later(5))
        thread_id = await keep(threads, first, second)
        kept = await threads.turns(thread_id)
        assert [turn.answer for turn in kept] == [first, second]
        assert [(turn.number, turn.asked, turn.created_at) for turn in kept] == [
            (1, "What is a wick?", NOON),
            (2, second.query, later(5)),
        ]
        assert await threads.turns(thread_id, last=1) == kept[1:]
        assert await threads.turn(thread_id, 1) == kept[0]
        with pytest.raises(NotFound, match="has no turn 3"):
            await threads.turn(thread_id, 3)

    tale(story)


def test_document_es_fields_of_a_thread(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        now = datetime.now(UTC)
        lease = await threads.lease(str(uuid4()), str(uuid4()), book_id="light", key_id="k1")
        assert lease is not None
        told = new_turn(answer("What  is\na wick?", at=now), metadata={"user_id": "u", "tags": ["é"]}, topic_summary="Wicks")
        assert await threads.append(lease, told) == 1
        thread = await threads.get(lease.thread_id, "k1")
        assert (thread.thread_id, thread.book_id, thread.key_id) == (lease.thread_id, "light", "k1")
        assert (thread.title, thread.turn_count, thread.topic_summary) == ("What is a wick?", 1, "Wicks")
        assert thread.metadata == {"user_id": "u", "tags": ["é"]}
        assert (thread.created_at, thread.updated_at) == (now - timedelta(seconds=1), now)
        await keep(threads, answer(at=now + timedelta(seconds=9)), thread_id=lease.thread_id, key_id="k1")
        again = await threads.get(lease.thread_id, "k1")
        assert (again.created_at, again.updated_at) == (thread.created_at, now + timedelta(seconds=9))
        assert (again.metadata, again.topic_summary, again.title) == (thread.metadata, "Wicks", thread.title)

    tale(story)


def test_the_transcript(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        thread_id = await keep(threads, answer("What is a wick?"), refusal(at=later(1)))
        whole = await threads.messages(thread_id)
        assert [(one.turn, one.role) for one in whole] == [
            (0, "system"),
            *((turn, role) for turn in (1, 2) for role in ("user", "assistant", "tool", "assistant")),
        ]
        view = [one for one in whole if one.spoken]
        assert [one.role for one in view] == ["user", "assistant"] * 2
        assert [one.confidence for one in view] == [None, 0.875] * 2
        assert [one.timestamp for one in view] == [NOON - timedelta(seconds=1), NOON, later(1) - timedelta(seconds=1), later(1)]
        (call,) = whole[2].tool_calls or ()
        assert (whole[3].tool_call_id, whole[3].tool_name) == (call["id"], call["function"]["name"])

    tale(story)


def test_past_50_messages_the_oldest_are_archived_and_not_lost(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        thread_id = await keep(threads, *(refusal(f"Question {number}?", at=later(number)) for number in range(1, 28)))
        shown = [one for one in await threads.messages(thread_id) if one.spoken]
        assert len(shown) == SHOWN_MESSAGES
        assert (shown[0].role, shown[0].content) == ("user", "Question 3?")
        assert (await threads.messages(thread_id))[0].role == "system"
        whole = [one for one in await threads.messages(thread_id, archived=True) if one.spoken]
        assert [one.content for one in whole[::2]] == [f"Question {number}?" for number in range(1, 28)]
        assert [one.archived for one in whole] == [True] * 4 + [False] * 50

    tale(story)


def test_idle_for_an_hour_it_is_archived_and_the_next_turn_brings_it_back(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        now = datetime.now(UTC)
        thread_id = await keep(threads, answer(at=now - IDLE))
        assert (await threads.get(thread_id, None)).archived_at == now
        assert [thread.archived_at for thread in await threads.list(None)] == [now]
        await keep(threads, answer(at=now), thread_id=thread_id)
        assert (await threads.get(thread_id, None)).archived_at is None

    tale(story)


def test_a_thread_belongs_to_its_key(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        of = {key: await keep(threads, answer(), key_id=key) for key in (None, "a", "b")}
        for key, thread_id in of.items():
            assert [thread.thread_id for thread in await threads.list(key)] == [thread_id]
            assert (await threads.get(thread_id, key)).key_id == key
            for other in {None, "a", "b", ""} - {key}:
                for foreign in (
                    threads.get(thread_id, other),
                    threads.rename(thread_id, other, "Mine now"),
                    threads.delete(thread_id, other),
                    threads.lease(thread_id, str(uuid4()), book_id="light", key_id=other),
                ):
                    with pytest.raises(NotFound, match=f"There is no thread {thread_id}"):
                        await foreign
        assert {thread.key_id for thread in await threads.list(ANY_KEY)} == {None, "a", "b"}
        assert {thread.title for thread in await threads.list(ANY_KEY)} == {answer().query}

    tale(story)


def test_a_thread_belongs_to_its_book(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        light = await keep(threads, answer())
        dark = await keep(threads, answer(book_id="dark"), book_id="dark")
        assert [thread.thread_id for thread in await threads.list(None, book_id="light")] == [light]
        assert [thread.thread_id for thread in await threads.list(None, book_id="dark")] == [dark]
        with pytest.raises(NotFound, match="There is no thread"):
            await threads.lease(light, str(uuid4()), book_id="dark", key_id=None)

    tale(story)


def test_the_latest_comes_first_and_pages_miss_nothing(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        ids = [await keep(threads, answer(at=later(number))) for number in range(7)]
        await keep(threads, answer(at=later(60)), thread_id=ids[2])
        expected = [ids[2], *(id for id in reversed(ids) if id != ids[2])]
        page, seen = await threads.list(None, limit=3), []
        while page:
            seen += [thread.thread_id for thread in page]
            page = await threads.list(None, limit=3, before=page[-1].updated_at)
        assert seen == expected

    tale(story)


def test_a_name(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        thread_id = await keep(threads, answer())
        await threads.rename(thread_id, None, "  Über  Dochte ")
        assert (await threads.get(thread_id, None)).title == "Über Dochte"
        for bad in ("", " \n", "x" * 121, "a\x07b"):
            with pytest.raises(InvalidInput, match="title takes 1 to 120"):
                await threads.rename(thread_id, None, bad)

    tale(story)


def test_deleted_it_is_gone_for_good(tale: Tell) -> None:
    async def story(threads: Threads, database: Database) -> None:
        thread_id, other = await keep(threads, answer(), answer()), await keep(threads, answer())
        await threads.delete(thread_id, None)
        with pytest.raises(NotFound):
            await threads.get(thread_id, None)

        def left(connection: Connection) -> list[set[str]]:
            return [set(connection.execute(select(kept.c.thread_id)).scalars()) for kept in (table, messages, turns, cited)]

        assert await database.run(left) == [{other}] * 4
        with pytest.raises(NotFound):
            await threads.delete(thread_id, None)

    tale(story)


def test_one_turn_at_a_time(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        thread_id = str(uuid4())
        first = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert first is not None
        assert await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None) is None
        await threads.append(first, new_turn(answer()))
        second = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert second is not None
        assert second.turn_count == 1
        await threads.release(second.thread_id, second.token)
        third = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert third is not None
        assert third.turn_count == 1

    tale(story)


def test_a_thread_whose_first_turn_ends_in_nothing_never_was(tale: Tell) -> None:
    async def story(threads: Threads, database: Database) -> None:
        lease = await threads.lease(str(uuid4()), str(uuid4()), book_id="light", key_id=None)
        assert lease is not None
        assert await threads.list(ANY_KEY) == []
        with pytest.raises(NotFound):
            await threads.get(lease.thread_id, None)
        await threads.release(lease.thread_id, lease.token)
        assert await rows(database) == 0

    tale(story)


def test_a_clock_that_was_set_back_keeps_no_thread_closed(tale: Tell) -> None:
    """What lies further ahead than any lease was given before."""

    async def story(threads: Threads, database: Database) -> None:
        thread_id = await keep(threads, answer())
        assert await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None) is None
        ahead = update(table).values(turn_expires_at=datetime.now(UTC) + timedelta(hours=1))
        await database.run(lambda connection: connection.execute(ahead))
        assert await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)

    tale(story)


def test_a_dead_process_keeps_a_thread_closed_until_its_lease_ends(tale: Tell) -> None:
    async def story(threads: Threads, database: Database) -> None:
        thread_id = await keep(threads, answer())
        dead = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        never = await threads.lease(str(uuid4()), str(uuid4()), book_id="light", key_id=None)
        assert dead is not None
        assert never is not None
        await threads.renew(dead.thread_id, dead.token)
        await expire(database)
        taken = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert taken is not None
        with pytest.raises(Busy, match="this one was not kept"):
            await threads.append(dead, new_turn(refusal(), 2))
        await threads.renew(dead.thread_id, dead.token)  # which is not its any more
        assert await rows(database) == 2
        await threads.release(dead.thread_id, dead.token)  # nor is this, but it sweeps up the thread that never was
        assert await rows(database) == 1
        assert await threads.append(taken, new_turn(answer(at=later(1)), 2)) == 2
        assert [turn.asked for turn in await threads.turns(thread_id)] == [answer().query] * 2

    tale(story)


def test_a_turn_of_a_thread_deleted_meanwhile_is_not_kept(tale: Tell) -> None:
    async def story(threads: Threads, database: Database) -> None:
        thread_id = await keep(threads, answer())
        lease = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert lease is not None
        await threads.delete(thread_id, None)
        with pytest.raises(NotFound, match="was deleted while its turn ran"):
            await threads.append(lease, new_turn(answer(), 2))
        assert await rows(database) == 0

    tale(story)


def test_a_turn_that_cannot_be_written_leaves_nothing_behind(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        thread_id = await keep(threads, answer())
        before = (await threads.get(thread_id, None), await threads.turns(thread_id), await threads.messages(thread_id))
        lease = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
        assert lease is not None
        last_of_all = citation(None)  # type: ignore[arg-type]
        with pytest.raises(StorageFailure):
            await threads.append(lease, new_turn(answer(citations=(citation(), last_of_all)), 2))
        await threads.release(lease.thread_id, lease.token)
        after = (await threads.get(thread_id, None), await threads.turns(thread_id), await threads.messages(thread_id))
        assert after == before

    tale(story)


def test_many_writers_of_one_thread_keep_one_order(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        thread_id = str(uuid4())

        async def write(writer: int) -> None:
            number = 0
            while number < 3:
                lease = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None)
                if lease is not None:
                    await threads.append(lease, new_turn(refusal(f"{writer} asks {number}"), lease.turn_count + 1))
                    number += 1

        await asyncio.gather(*(write(writer) for writer in range(4)))
        kept = await threads.turns(thread_id)
        assert [turn.number for turn in kept] == list(range(1, 13))
        for writer in range(4):
            assert [turn.asked for turn in kept if turn.asked[0] == str(writer)] == [f"{writer} asks {n}" for n in range(3)]
        spoken = [message for message in await threads.messages(thread_id) if message.spoken]
        assert [message.content for message in spoken[::2]] == [turn.asked for turn in kept]

    tale(story)


def test_what_a_follow_up_leans_on(tale: Tell) -> None:
    async def story(threads: Threads, _: Database) -> None:
        told = answer("What is a wick?", citations=(citation(1), citation(2, "c2", section="")))
        thread_id = await keep(threads, answer(), told, refusal())
        lease = await threads.lease(thread_id, str(uuid4()), book_id="light", key_id=None, history=2)
        assert lease is not None
        assert lease.history == (
            Exchange(question=told.query, answer=told.answer, sources=("Wicks and oil › Trimming", "Wicks and oil")),
            Exchange(question=refusal().query, answer="Not in this book.", refused=True),
        )

    tale(story)


@pytest.mark.parametrize("thread_id", ["", "1", "550e8400-e29b-11d4-a716-446655440000", "５50e8400-e29b-41d4-a716-446655440000"])
def test_an_id_that_is_no_uuid_of_version_4(folder: Path, thread_id: str) -> None:
    async def story(database: Database) -> None:
        with pytest.raises(InvalidInput, match="UUID of version 4"):
            await Threads(database).get(thread_id, None)

    tell(None, folder, story)


def test_a_turn_of_another_version_is_named(folder: Path) -> None:
    async def story(database: Database) -> None:
        thread_id = await keep(Threads(database), answer())
        await database.run(lambda connection: connection.execute(update(turns).values(answer={"type": "answer"})))
        with pytest.raises(
            StorageFailure, match=f"Turn 1 of the thread {thread_id} was stored by another version .* has no answer"
        ):
            await Threads(database).turns(thread_id)

    tell(None, folder, story)


def test_any_turn_survives_the_store(database_address: str | None, folder: Path) -> None:
    """Whatever a book, a model or a reader puts into it. Only a text column of PostgreSQL takes no NUL."""
    with asyncio.Runner() as runner:
        threads = Threads(database := runner.run(Database.open(database_url(database_address, folder))))

        async def there_and_back(ended: Answer, trace: Trace | None, summary: str) -> None:
            lease = await threads.lease(str(uuid4()), str(uuid4()), book_id="light", key_id=None)
            assert lease is not None
            turn = replace(new_turn(ended), trace=trace, topic_summary=summary)
            await threads.append(lease, turn)
            (kept,) = await threads.turns(lease.thread_id)
            assert (kept.answer, kept.trace) == (ended, trace)
            said = [message.content for message in await threads.messages(lease.thread_id)]
            assert said == [message.content.replace("\0", "\ufffd") for message in turn.messages]

        @settings(max_examples=20, suppress_health_check=list(HealthCheck))
        @given(values_of(Answer, query=ASKED, book_id=st.just("light")), values_of(Trace | None), st.text(max_size=200))
        def survives(ended: Answer, trace: Trace | None, summary: str) -> None:
            runner.run(there_and_back(ended, trace, summary))

        try:
            survives()
        finally:
            runner.run(database.close())


async def rows(database: Database) -> int:
    counted = select(func.count()).select_from(table)
    return int(await database.run(lambda connection: connection.execute(counted).scalar_one()))


async def expire(database: Database) -> None:
    """As if the lease's time had passed."""
    passed = update(table).where(table.c.turn_token.is_not(None)).values(turn_expires_at=datetime.now(UTC) - LEASE)
    await database.run(lambda connection: connection.execute(passed))
