"""API keys on both databases."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from bythebook.database.audit import ACTOR, AuditLog
from bythebook.database.engine import Database
from bythebook.database.tables import keys as table
from bythebook.errors import InvalidInput, NotFound
from bythebook.web.keys import KeyLimits, Keys
from bythebook.web.problems import TooManyRequests
from bythebook.web.quotas import DailyUsage, Quotas
from tests.support.databases import tell

Tell = Callable[[Callable[[Keys, Database], Awaitable[None]]], None]


@pytest.fixture
def tale(database_address: str | None, folder: Path) -> Tell:
    def run(story: Callable[[Keys, Database], Awaitable[None]]) -> None:
        tell(database_address, folder, lambda database: story(Keys(database), database))

    return run


def test_a_key_is_found_by_its_secret_and_by_nothing_else(tale: Tell) -> None:
    async def story(keys: Keys, _: Database) -> None:
        made, secret = await keys.create("Ada's  course", ["ingest", "chat"], "light", 7)
        assert (made.name, made.scopes, made.book_id, made.requests_per_minute) == (
            "Ada's course",
            ("chat", "ingest"),
            "light",
            7,
        )
        assert re.fullmatch(rf"btb_{made.key_id}_[A-Za-z0-9_-]{{43}}", secret)
        assert await keys.find(secret) == made
        other = (await keys.create("Other"))[0]
        for wrong in (
            "",
            secret[:-1],
            secret + "A",
            secret.upper(),
            secret.replace(made.key_id, other.key_id),
            "\0",
            "\ud800",
            "é",
        ):
            assert await keys.find(wrong) is None

    tale(story)


def test_secrets_are_256_random_bits_and_never_stored(tale: Tell) -> None:
    async def story(keys: Keys, database: Database) -> None:
        secrets = [(await keys.create("Same name"))[1] for _ in range(20)]
        assert len({secret.split("_", 2)[2] for secret in secrets}) == 20
        stored = str(await database.run(lambda connection: connection.execute(select(table)).all()))
        assert not any(secret in stored or secret.split("_", 2)[2] in stored for secret in secrets)

    tale(story)


def test_what_a_key_is_by_default(tale: Tell) -> None:
    async def story(keys: Keys, _: Database) -> None:
        assert not await keys.any()
        key = (await keys.create("Reader"))[0]
        assert await keys.any()
        assert (key.scopes, key.book_id, key.requests_per_minute) == (("chat",), None, 100)
        assert (key.last_used_at, key.revoked_at) == (None, None)

    tale(story)


def test_a_revoked_key_opens_nothing_and_leaves_the_door_shut(tale: Tell) -> None:
    async def story(keys: Keys, _: Database) -> None:
        first, secret = await keys.create("First")
        second, other_secret = await keys.create("Second")
        revoked = await keys.revoke(first.key_id)
        assert revoked.revoked_at is not None
        assert await keys.find(secret) is None
        assert await keys.find(other_secret) == second
        assert (await keys.revoke(first.key_id)).revoked_at == revoked.revoked_at
        await keys.revoke(second.key_id)
        assert await keys.any()
        assert [key.key_id for key in await keys.list()] == [first.key_id, second.key_id]
        with pytest.raises(NotFound, match="There is no key 'never'"):
            await keys.revoke("never")

    tale(story)


def test_when_it_was_last_used(tale: Tell) -> None:
    async def story(keys: Keys, database: Database) -> None:
        (key, _), began = await keys.create("Reader"), datetime.now(UTC)
        await keys.touch(key.key_id)
        (used,) = await keys.list()
        assert used.last_used_at is not None
        assert began <= used.last_used_at <= datetime.now(UTC)
        long_ago = began - timedelta(days=1)
        await database.run(lambda connection: connection.execute(update(table).values(last_used_at=long_ago)))
        await keys.touch(key.key_id)  # within the minute: not written again
        assert [one.last_used_at for one in await keys.list()] == [long_ago]
        await Keys(database).touch(key.key_id)  # another process has not written it yet
        assert [one.last_used_at for one in await keys.list()] != [long_ago]

    tale(story)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": " "}, "name takes 1 to 100"),
        ({"name": "x" * 101}, "this one has 101"),
        ({"name": "a\x1b[31m"}, "printable"),
        ({"scopes": []}, "chat, public, ingest, admin; name at least one"),
        ({"scopes": ["chat", "root"]}, "'root' is none of them"),
        ({"requests_per_minute": 0}, "1 to 1,000,000 requests a minute, not 0"),
    ],
)
def test_what_cannot_be_made(folder: Path, given: dict[str, object], said: str) -> None:
    async def story(database: Database) -> None:
        with pytest.raises(InvalidInput, match=re.escape(said)):
            await Keys(database).create(**{"name": "Reader", **given})  # type: ignore[arg-type]
        assert not await Keys(database).any()

    tell(None, folder, story)


def test_a_public_key_has_no_other_scope(folder: Path) -> None:
    async def story(database: Database) -> None:
        with pytest.raises(InvalidInput, match="make two keys"):
            await Keys(database).create("The site", ("public", "ingest"))

    tell(None, folder, story)


def test_the_first_key_is_adopted_once_and_only_where_there_is_none(folder: Path) -> None:
    secret, other = "a" * 64, "b" * 64

    async def story(database: Database) -> None:
        keys = Keys(database)
        assert await keys.adopt(secret)
        found = await keys.find(secret)
        assert found is not None
        assert (found.scopes, found.book_id) == (("admin",), None)
        await keys.revoke(found.key_id)
        assert not await keys.adopt(secret)
        assert not await keys.adopt(other)
        assert await keys.find(other) is None
        assert await keys.find(secret) is None

    tell(None, folder, story)


def test_a_key_that_has_expired_is_known_and_opens_nothing(tale: Tell) -> None:
    async def story(keys: Keys, database: Database) -> None:
        key, secret = await keys.create("For a term", limits=KeyLimits(days=90))
        assert key.expires_at is not None
        assert timedelta(days=89) < key.expires_at - datetime.now(UTC) <= timedelta(days=90)
        assert (await keys.find(secret), key.expired) == (key, False)
        past = datetime.now(UTC) - timedelta(seconds=1)
        await database.run(lambda connection: connection.execute(update(table).values(expires_at=past)))
        found = await keys.find(secret)
        assert found is not None
        assert found.expired

    tale(story)


def test_a_rotated_key_has_two_secrets_for_a_while(tale: Tell) -> None:
    async def story(keys: Keys, database: Database) -> None:
        key, first = await keys.create("Course", ["chat", "ingest"], "light", 7)
        rotated, second = await keys.rotate(key.key_id, overlap_hours=2)
        assert (rotated.key_id, rotated.scopes, rotated.book_id) == (key.key_id, key.scopes, key.book_id)
        assert [one and one.key_id for one in (await keys.find(first), await keys.find(second))] == [key.key_id, key.key_id]
        _, third = await keys.rotate(key.key_id, overlap_hours=0)
        assert [one is not None for one in [await keys.find(secret) for secret in (first, second, third)]] == [False, False, True]
        assert third not in str(await database.run(lambda connection: connection.execute(select(table)).all()))
        await keys.revoke(key.key_id)
        assert await keys.find(third) is None
        with pytest.raises(NotFound, match="that is not revoked"):
            await keys.rotate(key.key_id)
        with pytest.raises(InvalidInput, match="0 to 2,160 hours, not -1"):
            await keys.rotate(key.key_id, overlap_hours=-1)

    tale(story)


def test_daily_limits_are_counted_for_all_processes(tale: Tell) -> None:
    async def story(keys: Keys, database: Database) -> None:
        limits = KeyLimits(requests_per_day=3, tokens_per_day=100, streams_at_once=1)
        key, _ = await keys.create("Course", limits=limits)
        one, other = Quotas(database), Quotas(database)
        for quotas in (one, other, one):
            await quotas.count_request(key)
        with pytest.raises(TooManyRequests, match=r"3 requests a day and has made them\. It may go on at 00:00 UTC") as told:
            await other.count_request(key)
        assert 0 < told.value.retry_after_seconds <= 86_400
        await one.check_tokens(key)
        await one.spend(f"{key.key_id}:a-reader", 99)
        await other.check_tokens(key)
        await other.spend(key.key_id, 30)
        with pytest.raises(TooManyRequests, match="100 tokens of the model a day"):
            await one.check_tokens(key)
        assert await other.today(key.key_id) == DailyUsage(requests=4, tokens=129)
        give_back = one.take_slot(key)
        with pytest.raises(TooManyRequests, match="1 answers under way"):
            one.take_slot(key)
        give_back()
        one.take_slot(key)()
        free, _ = await keys.create("Without limits")
        await one.count_request(free)
        assert await one.today(free.key_id) == DailyUsage()

    tale(story)


@pytest.mark.parametrize(
    "given", [{"days": 0}, {"days": 3651}, {"requests_per_day": 0}, {"tokens_per_day": -1}, {"streams_at_once": 0}]
)
def test_limits_that_make_no_sense(given: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="1 to"):
        KeyLimits(**given)


def test_what_is_done_with_keys_is_in_the_audit_log_without_a_secret(tale: Tell) -> None:
    async def story(keys: Keys, database: Database) -> None:
        key, first = await keys.create("Course", ["chat"], "light")
        _, second = await keys.rotate(key.key_id)
        ACTOR.set("key 0123")
        await keys.revoke(key.key_id)
        await keys.revoke(key.key_id)
        entries = await AuditLog(database).list()
        assert [(one.actor, one.action, one.subject) for one in entries] == [
            ("key 0123", "key revoked", key.key_id),
            ("command line", "key rotated", key.key_id),
            ("command line", "key created", key.key_id),
        ]
        assert entries[2].details == {"name": "Course", "scopes": ["chat"], "book_id": "light"}
        assert not any(secret[-40:] in str(entries) for secret in (first, second))  # the random part may itself hold a "_"
        assert await AuditLog(database).list(before=entries[1].entry_id) == entries[2:]

    tale(story)
