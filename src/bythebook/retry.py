"""How requests to a remote server are retried: how often, after which responses, with which pauses. Also what a key may look
like, and an address without the password in it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

from bythebook.errors import InvalidSettings

RETRY_AFTER_MAX_SECONDS = 60.0
MESSAGE_LENGTH = 200
TRIED_AGAIN = frozenset({429, 500, 502, 503, 504})
LOGIN = re.compile(r"(?<=://)(?:[^/]*@|[^/:@\[]*:(?!\d*/).*@)")
"""Name and password before a host. A password may hold a slash, though it should not; an @ in the path belongs to no login."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to retry. Delays double from `first_delay_seconds`, each a random part of the full one."""

    tries: int = 6
    total_seconds: float = 120.0
    first_delay_seconds: float = 0.5
    random: Random = field(default_factory=Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    def delay(self, tries_made: int, wanted_by_server: float | None) -> float:
        if wanted_by_server is not None:
            return min(wanted_by_server, RETRY_AFTER_MAX_SECONDS)
        return self.random.uniform(0, self.first_delay_seconds * 2 ** (tries_made - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTry:
    """A failed request that may succeed when it is repeated."""

    reason: str
    rate_limited: bool = False
    retry_after_seconds: float | None = None


def checked_key(key: str, key_variable: str) -> str:
    if not (key.isascii() and key.isprintable() and key == key.strip()):
        raise InvalidSettings(f"The key in {key_variable} has spaces or characters that no key has; set {key_variable} again")
    return key


def without_login(url: str) -> str:
    """The address without a name and password that may be in it, to be shown to people and stored."""
    return LOGIN.sub("", url, count=1)


def retry_after_seconds(header: str) -> float | None:
    """Seconds or an HTTP date, as RFC 9110 allows; anything else counts as not said."""
    if header.strip().replace(".", "", 1).isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
