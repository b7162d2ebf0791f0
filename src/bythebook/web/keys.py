"""API keys: 256 random bits, shown once and stored only as a hash; each with its scopes, its book, its rate limit and its
quotas."""

from __future__ import annotations

import builtins
import hashlib
import hmac
import secrets
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from bythebook.database.audit import act
from bythebook.database.engine import Database
from bythebook.database.tables import keys
from bythebook.errors import InvalidInput, NotFound, StorageFailure
from bythebook.web.rate_limit import MOST_REQUESTS_PER_MINUTE, REQUESTS_PER_MINUTE

Scope = Literal["chat", "public", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "btb"
MAX_NAME = 100
MOST_DAYS = 3650
MOST_A_DAY = 1_000_000_000
OVERLAP_HOURS = 24
MOST_OVERLAP_HOURS = 24 * 90
TOUCH_SECONDS = 60.0
"""How coarse `last_used_at` is, so that a busy key is not written at every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Who may do what. `book_id` None: any book. `admin` includes every scope. `public` is `chat` for a key that is part of a web
    page and so known to all: each browser that uses it is a reader of its own."""

    key_id: str
    name: str
    scopes: tuple[Scope, ...]
    book_id: str | None
    requests_per_minute: int
    created_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    previous_until: datetime | None = None
    """Until when the secret before the last rotation is still accepted."""
    requests_per_day: int | None = None
    tokens_per_day: int | None = None
    streams_at_once: int | None = None

    @property
    def public(self) -> bool:
        return "public" in self.scopes

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """Until when a key is valid and how much it may use, where that is limited."""

    days: int | None = None
    requests_per_day: int | None = None
    tokens_per_day: int | None = None
    streams_at_once: int | None = None

    def __post_init__(self) -> None:
        told = {"days": "A key lasts", "requests_per_day": "A key's requests a day are"}
        told |= {"tokens_per_day": "A key's tokens a day are", "streams_at_once": "A key's answers at once are"}
        for name, sentence in told.items():
            value, most = getattr(self, name), MOST_DAYS if name == "days" else MOST_A_DAY
            if value is not None and not 1 <= value <= most:
                unit = " days" if name == "days" else ""
                raise InvalidInput(f"{sentence} 1 to {most:,}{unit}, not {value:,}.")


NO_LIMITS = KeyLimits()


class Keys:
    """Creates, finds, rotates and revokes API keys."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._touched: dict[str, float] = {}

    async def create(
        self,
        name: str,
        scopes: Collection[str] = ("chat",),
        book_id: str | None = None,
        requests_per_minute: int = REQUESTS_PER_MINUTE,
        limits: KeyLimits = NO_LIMITS,
    ) -> tuple[Key, str]:
        """Creates a key. Its secret is returned once and cannot be recovered."""
        now = datetime.now(UTC)
        key = Key(
            key_id=secrets.token_hex(6),
            name=_checked_name(name),
            scopes=_checked_scopes(scopes),
            book_id=book_id,
            requests_per_minute=_checked_pace(requests_per_minute),
            created_at=now,
            expires_at=now + timedelta(days=limits.days) if limits.days else None,
            requests_per_day=limits.requests_per_day,
            tokens_per_day=limits.tokens_per_day,
            streams_at_once=limits.streams_at_once,
        )
        secret = _new_secret(key.key_id)
        row = {**asdict(key), "scopes": list(key.scopes), "secret_hash": _hash(secret)}
        told = act("key created", key.key_id, name=key.name, scopes=list(key.scopes), book_id=key.book_id)

        def create(connection: Connection) -> None:
            connection.execute(insert(keys).values(row))
            told.write(connection)

        await self._database.run(create)
        return key, secret

    async def rotate(self, key_id: str, *, overlap_hours: int = OVERLAP_HOURS) -> tuple[Key, str]:
        """Gives the key a new secret; its threads stay its own. The present secret stays valid for some time; one from before an
        earlier rotation does not."""
        if not 0 <= overlap_hours <= MOST_OVERLAP_HOURS:
            raise InvalidInput(f"The old secret can keep working for 0 to {MOST_OVERLAP_HOURS:,} hours, not {overlap_hours:,}.")
        secret, until = _new_secret(key_id), datetime.now(UTC) + timedelta(hours=overlap_hours)
        unrevoked = (keys.c.key_id == key_id) & keys.c.revoked_at.is_(None)
        told = act("key rotated", key_id, previous_until=until.isoformat(timespec="seconds"))

        def rotate(connection: Connection) -> Row[Any] | None:
            change = update(keys).where(unrevoked).values(previous_hash=keys.c.secret_hash, previous_until=until)
            if not connection.execute(change.values(secret_hash=_hash(secret))).rowcount:
                return None
            told.write(connection)
            return connection.execute(select(keys).where(keys.c.key_id == key_id)).first()

        row = await self._database.run(rotate)
        if row is None:
            raise NotFound(f"There is no key '{key_id}' that is not revoked. 'bythebook keys list' lists those there are.")
        return _key(row), secret

    async def get(self, key_id: str) -> Key:
        row = await self._database.run(lambda connection: connection.execute(select(keys).where(keys.c.key_id == key_id)).first())
        if row is None:
            raise _no_key(key_id)
        return _key(row)

    async def adopt(self, secret: str) -> bool:
        """Creates the first key, an admin's, with a secret that the operator chose. Does nothing where there ever was a key.
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
        told = act("key created", row["key_id"], name=row["name"], scopes=row["scopes"])

        def create(connection: Connection) -> None:
            connection.execute(insert(keys).values(row))
            told.write(connection)

        try:
            await self._database.run(create)
        except StorageFailure as failure:
            if isinstance(failure.__cause__, IntegrityError):  # another process was first
                return False
            raise
        return True

    async def list(self) -> builtins.list[Key]:
        """All keys, the oldest first, including revoked ones."""
        oldest = select(keys).order_by(keys.c.created_at, keys.c.key_id)
        return [_key(row) for row in await self._database.run(lambda connection: connection.execute(oldest).all())]

    async def revoke(self, key_id: str) -> Key:
        """Revokes a key from the next request on. A key that is already revoked stays so."""
        unrevoked = (keys.c.key_id == key_id) & keys.c.revoked_at.is_(None)

        told = act("key revoked", key_id)

        def take_back(connection: Connection) -> Row[Any] | None:
            if connection.execute(update(keys).where(unrevoked).values(revoked_at=datetime.now(UTC))).rowcount:
                told.write(connection)
            return connection.execute(select(keys).where(keys.c.key_id == key_id)).first()

        row = await self._database.run(take_back)
        if row is None:
            raise _no_key(key_id)
        return _key(row)

    async def find(self, secret: str) -> Key | None:
        """The key with this secret, unless it was revoked. The time of a look-up by hash reveals nothing about any secret."""
        wanted = _hash(secret)
        either = select(keys).where((keys.c.secret_hash == wanted) | (keys.c.previous_hash == wanted))
        row = await self._database.run(lambda connection: connection.execute(either).first())
        if row is None or row.revoked_at is not None:
            return None
        if hmac.compare_digest(row.secret_hash, wanted):
            return _key(row)
        return _key(row) if row.previous_until > datetime.now(UTC) else None

    async def any(self) -> bool:
        """Whether a key was ever created. Revoking the last one does not open the service."""
        return await self._database.run(lambda connection: connection.execute(select(keys.c.key_id).limit(1)).first()) is not None

    async def touch(self, key_id: str) -> None:
        """Records that the key was used now."""
        now = time.monotonic()
        if now - self._touched.get(key_id, -TOUCH_SECONDS) < TOUCH_SECONDS:
            return
        self._touched[key_id] = now
        used = update(keys).where(keys.c.key_id == key_id).values(last_used_at=datetime.now(UTC))
        await self._database.run(lambda connection: connection.execute(used))


def _new_secret(key_id: str) -> str:
    return f"{PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"


def _no_key(key_id: str) -> NotFound:
    return NotFound(f"There is no key '{key_id}'. 'bythebook keys list' lists those there are.")


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
        expires_at=row.expires_at,
        previous_until=row.previous_until,
        requests_per_day=row.requests_per_day,
        tokens_per_day=row.tokens_per_day,
        streams_at_once=row.streams_at_once,
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
        raise InvalidInput("Everyone who opens the page can read a public key, so it has no other scope: make two keys.")
    return tuple(scope for scope in SCOPES if scope in scopes)


def _checked_pace(requests_per_minute: int) -> int:
    if not 1 <= requests_per_minute <= MOST_REQUESTS_PER_MINUTE:
        raise InvalidInput(f"A key may make 1 to {MOST_REQUESTS_PER_MINUTE:,} requests a minute, not {requests_per_minute:,}.")
    return requests_per_minute
