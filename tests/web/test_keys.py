"""API keys on both databases."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from bythebook.database.engine import Database
from bythebook.database.tables import keys as table
from bythebook.errors import InvalidInput, NotFound
from bythebook.web.keys import Keys
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
