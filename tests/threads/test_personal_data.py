"""What is kept of a reader: exported whole, erased whole, and gone when its time is over. On both databases."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from bythebook.answering.assessment import BookAssessment
from bythebook.database.audit import AuditLog
from bythebook.database.engine import Database
from bythebook.database.tables import cited, messages, threads, turns
from bythebook.errors import InvalidInput, NotFound
from bythebook.threads.personal_data import DataOwner, Erasure, PersonalData
from bythebook.threads.store import ANY_KEY, Threads
from bythebook.web.keys import Keys
from bythebook.web.quotas import Quotas
from tests.support.databases import tell
from tests.support.made_turns import answer, citation, keep

Tell = Callable[[Callable[[Database], Awaitable[None]]], None]


@pytest.fixture
def tale(database_address: str | None, folder: Path) -> Tell:
    return lambda story: tell(database_address, folder, story)


async def spoken(database: Database, said: str, key_id: str | None, user_id: str | None = None, book_id: str = "light") -> str:
    """A thread with one turn in it."""
    made = answer(query=said, book_id=book_id, citations=(citation(),))
    return await keep(Threads(database), made, book_id=book_id, key_id=key_id, user_id=user_id)


async def count(database: Database) -> list[int]:
    tables = (threads, turns, messages, cited)
    found = [select(func.count()).select_from(table) for table in tables]
    return await database.run(lambda connection: [int(connection.execute(one).scalar_one()) for one in found])


async def exported(database: Database, owner: DataOwner) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(one)) async for one in PersonalData(database).export(owner)]


def test_all_that_is_kept_of_a_key_is_exported_and_erased(tale: Tell) -> None:
    async def story(database: Database) -> None:
        keys, data = Keys(database), PersonalData(database)
        mine, secret = await keys.create("Ada Lovelace")
        other, _ = await keys.create("Other")
        await spoken(database, "Mine, with a reader's token?", f"{mine.key_id}:abc")
        await spoken(database, "Mine?", mine.key_id)
        kept = await spoken(database, "Another's?", other.key_id)
        await Quotas(database).spend(mine.key_id, 70)
        told = await exported(database, DataOwner(key_id=mine.key_id))
        assert [one["kind"] for one in told] == ["key", "usage", "audit_entry", "audit_entry", "thread", "thread"]
        assert (told[0]["name"], told[1]["tokens"]) == ("Ada Lovelace", 70)
        assert {one["turns"][0]["answer"]["query"] for one in told[4:]} == {"Mine, with a reader's token?", "Mine?"}
        assert all(one["messages"][1]["content"] == one["turns"][0]["answer"]["query"] for one in told[4:])
        assert "secret_hash" not in str(told)
        assert await data.erase(DataOwner(key_id=mine.key_id)) == Erasure(threads=2, key_erased=True)
        assert [thread.thread_id for thread in await Threads(database).list(ANY_KEY)] == [kept]
        assert (await count(database))[:2] == [1, 1]
        assert await keys.find(secret) is None
        assert (await keys.get(mine.key_id)).name == "erased"
        log = await AuditLog(database).list()
        assert log[0].action == "data erased"
        assert "Ada" not in str(log)
        assert (await Quotas(database).today(mine.key_id)).tokens == 0

    tale(story)


def test_a_user_is_erased_and_the_key_stays(tale: Tell) -> None:
    async def story(database: Database) -> None:
        data = PersonalData(database)
        key, secret = await Keys(database).create("A site")
        for said, key_id, user, book in (
            ("One?", key.key_id, "ada", "light"),
            ("Two?", key.key_id, "bob", "light"),
            ("Three?", "another", "ada", "light"),
            ("Four?", key.key_id, "ada", "dark"),
        ):
            await spoken(database, said, key_id, user, book)
        with pytest.raises(NotFound, match="Nothing is stored"):
            await data.erase(DataOwner(user_id="ad"))
        with pytest.raises(InvalidInput, match="Say whose data"):
            DataOwner(book_id="light")
        own = DataOwner(key_id=key.key_id, user_id="ada", book_id="light")
        (told,) = await exported(database, own)
        assert (told["user_id"], told["turns"][0]["answer"]["query"]) == ("ada", "One?")
        assert (await data.erase(own)).threads == 1
        assert (await data.erase(DataOwner(user_id="ada"))).threads == 2
        assert (await data.erase(DataOwner(key_id=key.key_id, threads_only=True))) == Erasure(threads=1, key_erased=False)
        assert await count(database) == [0, 0, 0, 0]
        assert (await Keys(database).find(secret)) is not None

    tale(story)


def test_threads_go_when_their_time_is_over(tale: Tell) -> None:
    async def story(database: Database) -> None:
        data = PersonalData(database)
        old, busy, new = [await spoken(database, f"{said}?", "a key") for said in ("Old", "Busy", "New")]

        def change(thread_id: str, **values: Any) -> Any:
            return lambda connection: connection.execute(update(threads).where(threads.c.thread_id == thread_id).values(values))

        long_ago, soon = datetime.now(UTC) - timedelta(days=31), datetime.now(UTC) + timedelta(minutes=1)
        await database.run(change(new, updated_at=datetime.now(UTC)))
        await database.run(change(old, updated_at=long_ago))
        await database.run(change(busy, updated_at=long_ago, turn_token="running", turn_expires_at=soon))
        assert await data.expire(30) == 1
        assert {thread.thread_id for thread in await Threads(database).list(ANY_KEY)} == {busy, new}
        (entry,) = await AuditLog(database).list()
        assert (entry.action, entry.subject) == ("threads expired", "after 30 days")
        assert await data.expire(30) == 0

    tale(story)


def test_what_was_erased_is_not_in_the_file(folder: Path) -> None:
    """SQLite overwrites it; the rest is in the log beside the file until that is written back."""
    said = "A sentence that nobody shall find any more?"

    async def story(database: Database) -> None:
        await spoken(database, said, "a key", "ada")
        assert (await PersonalData(database).erase(DataOwner(user_id="ada"))).threads == 1

    tell(None, folder, story)
    assert [path.name for path in folder.rglob("*") if path.is_file() and said.encode() in path.read_bytes()] == []


def test_whoever_has_one_book_is_told_nothing_of_others_that_were_asked_with_it(tale: Tell) -> None:
    async def story(database: Database) -> None:
        asked = tuple(
            BookAssessment(book_id=one, title=one, answers=True, confidence_level="high", relevance=0.9, score=0.8)
            for one in ("light", "heavy")
        )
        await keep(Threads(database), answer(citations=(citation(),), books=asked), key_id="ada")
        for book_id, told in (("light", ["light"]), (None, ["light", "heavy"])):
            (thread,) = await exported(database, DataOwner(key_id="ada", book_id=book_id, threads_only=True))
            assert [one["book_id"] for one in thread["turns"][0]["answer"]["books"]] == told

    tale(story)
