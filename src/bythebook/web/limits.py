"""How many requests a key has left: a moving window of a minute, counted in this process or in Redis for all of them.

Without Redis at hand nobody is let in uncounted: the answer is 503, until it is back.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError

from bythebook.errors import Unavailable
from bythebook.web.problems import TooManyRequests

REDIS_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a key stands after a request."""

    limit: int
    remaining: int
    reset_seconds: int

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
        }


class Limiter:
    def __init__(self, redis_url: str | None = None) -> None:
        self._storage: MemoryStorage | RedisStorage = MemoryStorage()
        self.shared = redis_url is not None
        if redis_url is not None:
            self._storage = RedisStorage(
                f"async+{redis_url}",
                wrap_exceptions=True,
                implementation="redispy",
                key_prefix="bythebook",
                socket_timeout=REDIS_SECONDS,
                socket_connect_timeout=REDIS_SECONDS,
            )
        self._window = MovingWindowRateLimiter(self._storage)

    async def count(self, key_id: str, per_minute: int) -> tuple[Standing, bool]:
        """One request more. Whether it may pass, and where the key stands then."""
        allowed = RateLimitItemPerMinute(per_minute)
        try:
            async with asyncio.timeout(2 * REDIS_SECONDS):
                passes = await self._window.hit(allowed, key_id)
                window = await self._window.get_window_stats(allowed, key_id)
        except (StorageError, TimeoutError) as error:
            raise _gone() from error
        reset = max(1, round(window.reset_time - time.time() + 0.5))
        return Standing(limit=per_minute, remaining=max(0, window.remaining), reset_seconds=reset), passes

    async def check(self) -> None:
        """Raises Unavailable where the count cannot be kept."""
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                there = await self._storage.check()
        except (StorageError, TimeoutError) as error:
            raise _gone() from error
        if not there:
            raise _gone()

    async def close(self) -> None:
        if isinstance(self._storage, RedisStorage):
            await self._storage.bridge.get_connection().aclose()  # type: ignore[attr-defined]


def exceeded(standing: Standing) -> TooManyRequests:
    return TooManyRequests(
        f"This key may make {standing.limit} requests a minute and has made them. Wait {standing.reset_seconds} s.",
        retry_after_seconds=standing.reset_seconds,
    )


def _gone() -> Unavailable:
    return Unavailable("Redis, which counts the requests of each key, does not answer. Start it again, or check REDIS_URL.")
