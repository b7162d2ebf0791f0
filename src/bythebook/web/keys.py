"""API keys: 256 random bits, shown once and kept only as a hash; each with its scopes, its book and its pace."""

from __future__ import annotations

import builtins
import hashlib
import hmac
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from bythebook.database.engine import Database
from bythebook.database.tables import keys
from bythebook.errors import InvalidInput, NotFound, StorageFailure

Scope = Literal["chat", "public", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "btb"
REQUESTS_PER_MINUTE = 100
MOST_REQUESTS_PER_MINUTE = 1_000_000
MAX_NAME = 100
TOUCH_SECONDS = 60.0
"""`last_used_at` is as coarse as this, so that a busy key does not write at every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Who may do what. `book_id` None: any book. `admin` is every scope. `public` is `chat` for a key that stands in a page for
    everyone to read: each browser that uses it is a reader of its own."""

    key_id: str
    name: str
    scopes: tuple[Scope, ...]
    book_id: str | None
    requests_per_minute: int
    created_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def public(self) -> bool:
        return "public" in self.scopes


class Keys:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._touched: dict[str, float] = {}

    async def create(
        self,
        name: str,
        scopes: Collection[str] = ("chat",),
        book_id: str | None = None,
        requests_per_minute: int = REQUESTS_PER_MINUTE,
    ) -> tuple[Key, str]:
        """The key and its secret, which nobody can be told a second time."""
        key = Key(
            key_id=secrets.token_hex(6),
            name=_checked_name(name),
            scopes=_checked_scopes(scopes),
            book_id=book_id,
            requests_per_minute=_checked_pace(requests_per_minute),
            created_at=datetime.now(UTC),
        )
        secret = f"{PREFIX}_{key.key_id}_{secrets.token_urlsafe(32)}"
        row = {
            "key_id": key.key_id,
            "secret_hash": _hash(secret),
            "name": key.name,
            "scopes": list(key.scopes),
            "book_id": key.book_id,
            "requests_per_minute": key.requests_per_minute,
            "created_at": key.created_at,
        }
        await self._database.run(lambda connection: connection.execute(insert(keys).values(row)))
        return key, secret

    async def adopt(self, secret: str) -> bool:
        """The first key, with a secret that whoever runs the service has chosen: an admin's. Nothing where there was ever a key.
        Several processes may start at once, so the same secret always makes the same key."""
        if await self.any():
            return False
        row = {
            "key_id": _hash(f"first key {secret}")[:12],
            "secret_hash": _hash(secret),
            "name": "the first key",
            "scopes": ["admin"],
            "requests_per_minute": REQUESTS_PER_MINUTE,
            "created_at": datetime.now(UTC),
        }
        try:
            await self._database.run(lambda connection: connection.execute(insert(keys).values(row)))
        except StorageFailure as failure:
            if isinstance(failure.__cause__, IntegrityError):  # another process was first
                return False
            raise
        return True

    async def list(self) -> builtins.list[Key]:
        """Oldest first, those that were revoked too."""
        oldest = select(keys).order_by(keys.c.created_at, keys.c.key_id)
        return [_key(row) for row in await self._database.run(lambda connection: connection.execute(oldest).all())]

    async def revoke(self, key_id: str) -> Key:
        """From the next request on. A key that was revoked before stays so."""
        unrevoked = (keys.c.key_id == key_id) & keys.c.revoked_at.is_(None)

        def take_back(connection: Connection) -> Row[Any] | None:
            connection.execute(update(keys).where(unrevoked).values(revoked_at=datetime.now(UTC)))
            return connection.execute(select(keys).where(keys.c.key_id == key_id)).first()

        row = await self._database.run(take_back)
        if row is None:
            raise NotFound(f"There is no key '{key_id}'. 'bythebook keys list' lists those there are.")
        return _key(row)

    async def find(self, secret: str) -> Key | None:
        """The key this is the secret of, unless it was revoked. What a look-up by hash takes tells nothing of any secret."""
        wanted = _hash(secret)
        row = await self._database.run(
            lambda connection: connection.execute(select(keys).where(keys.c.secret_hash == wanted)).first()
        )
        if row is None or not hmac.compare_digest(row.secret_hash, wanted) or row.revoked_at is not None:
            return None
        return _key(row)

    async def any(self) -> bool:
        """Whether a key was ever made. Revoking the last one does not open the door."""
        return await self._database.run(lambda connection: connection.execute(select(keys.c.key_id).limit(1)).first()) is not None

    async def touch(self, key_id: str) -> None:
        """The key was used just now."""
        now = time.monotonic()
        if now - self._touched.get(key_id, -TOUCH_SECONDS) < TOUCH_SECONDS:
            return
        self._touched[key_id] = now
        used = update(keys).where(keys.c.key_id == key_id).values(last_used_at=datetime.now(UTC))
        await self._database.run(lambda connection: connection.execute(used))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(row: Row[Any]) -> Key:
    return Key(
        key_id=row.key_id,
        name=row.name,
        scopes=tuple(row.scopes),
        book_id=row.book_id,
        requests_per_minute=row.requests_per_minute,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


def _checked_name(name: str) -> str:
    shown = " ".join(name.split())
    if not 1 <= len(shown) <= MAX_NAME or not shown.isprintable():
        raise InvalidInput(f"A key's name takes 1 to {MAX_NAME} printable characters; this one has {len(shown):,}.")
    return shown


def _checked_scopes(scopes: Collection[str]) -> tuple[Scope, ...]:
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        given = f"'{unknown[0]}' is none of them" if unknown else "name at least one"
        raise InvalidInput(f"The scopes of a key are {', '.join(SCOPES)}; {given}.")
    if "public" in scopes and len(set(scopes)) > 1:
        raise InvalidInput("A public key stands in a page for everyone to read, so it has no other scope: make two keys.")
    return tuple(scope for scope in SCOPES if scope in scopes)


def _checked_pace(requests_per_minute: int) -> int:
    if not 1 <= requests_per_minute <= MOST_REQUESTS_PER_MINUTE:
        raise InvalidInput(f"A key may make 1 to {MOST_REQUESTS_PER_MINUTE:,} requests a minute, not {requests_per_minute:,}.")
    return requests_per_minute
