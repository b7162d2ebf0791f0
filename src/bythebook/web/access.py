"""Who sends a request, and what it may use: a key's scopes and its book. What belongs to another key or book does not exist for
it (404)."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Annotated, Any, Literal

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from bythebook.database.audit import ACTOR
from bythebook.errors import NotFound
from bythebook.index.manifest import served_books
from bythebook.operations.reader import choose_among
from bythebook.web.keys import Key, Keys
from bythebook.web.problems import KeyRequired, NotAllowed, TooManyRequests
from bythebook.web.rate_limit import PUBLIC_REQUESTS_PER_MINUTE, READERS_AT_ONCE
from bythebook.web.state import Current, State

Scope = Literal["chat", "ingest", "admin"]
LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
"""A Host header that names this machine. What cannot be parsed does not: the framework would put the server's own address in its
place."""
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
ASKED_EVERY_SECONDS = 2.0
READER_HEADER = "X-Reader"
READER_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
PUBLIC = "public"
"""Stands for a key's id: the threads of readers who use public books without one."""

bearer = HTTPBearer(auto_error=False, description="A key made with `bythebook keys create`.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who sends a request. Without a key (`key_id` None) it is the operator, on the same machine. With a public key, `key_id` is
    made of the key and the reader, so that one reader cannot see another's threads."""

    key_id: str | None
    scopes: frozenset[str]
    book_id: str | None = None
    key: Key | None = None
    public_books: frozenset[str] | None = None
    """The books that exist for a reader without a key, where keys are required."""

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes or (scope == "chat" and "public" in self.scopes)

    def opens(self, book_id: str) -> bool:
        return self.book_id in (None, book_id) and (self.public_books is None or book_id in self.public_books)

    def book(self, wanted: str) -> str:
        """The book's id, if this key may use the book."""
        if self.book_id not in (None, wanted):
            raise NotFound(f"There is no book '{wanted}' for this key.")
        return wanted


class Doorkeeper:
    """Whether a key is required. Once one has been created that stays so, even after the last is revoked."""

    def __init__(self, keys: Keys, *, loopback: bool) -> None:
        self._keys = keys
        self._needed = not loopback
        self._asked_at = 0.0

    @property
    def was_open(self) -> bool:
        """Whether it was open when last checked."""
        return not self._needed

    async def needs_key(self) -> bool:
        if not self._needed and time.monotonic() - self._asked_at >= ASKED_EVERY_SECONDS:
            self._needed = await self._keys.any()
            self._asked_at = time.monotonic()
        return self._needed


async def principal(request: Request, current: Current, credentials: Credentials) -> Principal:
    """Identifies who sends a request, and counts the request for the rate limit."""
    notes = request.scope["state"]
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    notes["trusted"] = doorkeeper.was_open
    key = await current.keys.find(credentials.credentials) if credentials else None
    if key is None and not await doorkeeper.needs_key():  # some clients send a key although there is none
        _check_nearness(request, current)
        ACTOR.set("this machine")
        return Principal(key_id=None, scopes=frozenset({"admin"}))
    notes["trusted"] = False
    if key is not None and key.expired:
        raise KeyRequired(f"The key {key.key_id} expired on {key.expires_at:%Y-%m-%d}. Make another: bythebook keys create")
    if key is None:
        raise KeyRequired("A valid key is needed: send it as 'Authorization: Bearer KEY'. Make one: bythebook keys create")
    notes["key_id"], notes["trusted"] = key.key_id, "admin" in key.scopes
    owner, told = _reader(key, request) if key.public else (key.key_id, {})
    if key.public:
        await _count(key.key_id, READERS_AT_ONCE * key.requests_per_minute, current)
    notes["headers"] = {**told, **await _count(owner, key.requests_per_minute, current, notes)}
    await current.quotas.count_request(key)
    await current.keys.touch(key.key_id)
    ACTOR.set(f"key {key.key_id}")
    return Principal(key_id=owner, scopes=frozenset(key.scopes), book_id=key.book_id, key=key)


async def guest(request: Request, current: Current, credentials: Credentials) -> Principal:
    """A reader with a key or, where there are public books, without one. Threads without a key are found only by their ids, and
    each address has its own count."""
    public = current.settings.public_books
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    if not public or credentials is not None or not await doorkeeper.needs_key():
        return _allowed(await principal(request, current, credentials), "chat")
    notes = request.scope["state"]
    notes["key_id"] = PUBLIC
    await _count(PUBLIC, READERS_AT_ONCE * PUBLIC_REQUESTS_PER_MINUTE, current)
    address = hashlib.sha256(network_of(request.client.host if request.client else "").encode()).hexdigest()
    notes["headers"] = await _count(f"{PUBLIC}:{address[:19]}", PUBLIC_REQUESTS_PER_MINUTE, current, notes)
    return Principal(key_id=PUBLIC, scopes=frozenset({"public"}), public_books=frozenset(public))


async def _count(owner: str, per_minute: int, current: State, notes: dict[str, Any] | None = None) -> dict[str, str]:
    """Counts a request. Returns the headers with what is left."""
    standing, passes = await current.limiter.count(owner, per_minute)
    if notes is not None:
        notes["headers"] = standing.headers
    if not passes:
        raise TooManyRequests(
            f"This key may make {standing.limit} requests a minute and has made them. Wait {standing.reset_seconds} s.",
            retry_after_seconds=standing.reset_seconds,
        )
    return standing.headers


def network_of(host: str) -> str:
    """The network that counts as one reader: the owner of one IPv6 address has all those with the same first 64 bits."""
    with suppress(ValueError):
        address = ip_address(host.partition("%")[0])
        if isinstance(address, IPv6Address):
            return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
    return host


def _reader(key: Key, request: Request) -> tuple[str, dict[str, str]]:
    """Identifies a reader of a public key by a token that this server made and the browser keeps, and returns the header for a
    new one. Only a part of the token's hash is stored, with the threads."""
    given = request.headers.get(READER_HEADER, "")
    token = given if READER_TOKEN.fullmatch(given) else secrets.token_urlsafe(32)
    told = {} if token == given else {READER_HEADER: token}
    return f"{key.key_id}:{hashlib.sha256(token.encode()).hexdigest()[:19]}", told


def needs(scope: Scope) -> Callable[[Principal], Awaitable[Principal]]:
    async def allowed(who: Annotated[Principal, Depends(principal)]) -> Principal:
        return _allowed(who, scope)

    return allowed


def _allowed(who: Principal, scope: Scope) -> Principal:
    if not who.may(scope):
        raise NotAllowed(f"This key lacks the scope '{scope}'. Make one that has it: bythebook keys create --scope {scope}")
    return who


reader, author, administrator = needs("chat"), needs("ingest"), needs("admin")
Reader = Annotated[Principal, Depends(reader)]
Guest = Annotated[Principal, Depends(guest)]


async def take_turn(who: Principal, request: Request, current: State) -> Principal:
    """Raises unless the key has tokens left for today and may have one more answer at once."""
    if who.key:
        await current.quotas.check_tokens(who.key)
        request.scope["state"]["at_end"] = current.quotas.take_slot(who.key)
    return who


async def asker(who: Reader, request: Request, current: Current) -> Principal:
    return await take_turn(who, request, current)


async def asking_guest(who: Guest, request: Request, current: Current) -> Principal:
    return await take_turn(who, request, current)


Asker = Annotated[Principal, Depends(asker)]
AskingGuest = Annotated[Principal, Depends(asking_guest)]
Author = Annotated[Principal, Depends(author)]
Administrator = Annotated[Principal, Depends(administrator)]


async def choose_book(current: State, who: Principal, wanted: str | None) -> str:
    """The book that was named; else the key's own; else the configured one; else the only one."""
    if wanted is not None and who.book_id is None:
        return wanted
    there = served_books(await current.resources.index.collections())
    if who.book_id is None:
        return choose_among(there.values(), wanted=None, configured=current.settings.book, named_by="book_id")
    chosen = who.book_id if wanted is None else who.book(wanted)
    if chosen not in there:  # says nothing of other books
        raise NotFound(f"The book '{chosen}' has not been ingested yet.")
    return chosen


def _check_nearness(request: Request, current: State) -> None:
    """Without keys only this machine is trusted. A page elsewhere may point its own name to this machine, which shows in the Host
    header; it may send a browser here, which sends an Origin header; and a proxy says for whom it asks."""
    if "host" in request.headers and not LOOPBACK.fullmatch(request.headers["host"]):
        raise NotAllowed("Without keys this server is for this machine alone: ask it as 127.0.0.1 or localhost.")
    if any(name in request.headers for name in FORWARDED):
        raise NotAllowed("Without keys this server answers no proxy. Make a key first: bythebook keys create NAME")
    origin = request.headers.get("origin")
    if origin not in (None, f"http://{request.headers.get('host', '')}", *current.settings.cors_origins):
        raise NotAllowed("Without keys this server answers no other site's page. Name it in BYTHEBOOK_CORS_ORIGINS.")
