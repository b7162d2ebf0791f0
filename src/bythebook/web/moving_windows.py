"""Counts requests in moving windows of a minute, by the `limits` package: in this process, or in Redis for all processes. The
limits themselves are set in `rate_limit`.
"""

from __future__ import annotations

import asyncio

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError

from bythebook.errors import Unavailable

REDIS_SECONDS = 5.0  # on a busy machine even a normal answer may take seconds


class MovingWindows:
    """Counts requests in one window for each key. Raises Unavailable if the count cannot be kept."""

    def __init__(self, redis_url: str | None) -> None:
        self._storage: MemoryStorage | RedisStorage = MemoryStorage()
        if redis_url is not None:
            self._storage = RedisStorage(
                f"async+{redis_url}",
                wrap_exceptions=True,
                implementation="redispy",
                key_prefix="bythebook",
                socket_timeout=REDIS_SECONDS,
                socket_connect_timeout=REDIS_SECONDS,
            )
        self._strategy = MovingWindowRateLimiter(self._storage)

    async def hit(self, key_id: str, per_minute: int) -> tuple[bool, int, float]:
        """Whether one more request fits, how many then remain, and when the oldest leaves the window, as a time of the clock."""
        allowed = RateLimitItemPerMinute(per_minute)
        try:
            async with asyncio.timeout(2 * REDIS_SECONDS):
                passes = await self._strategy.hit(allowed, key_id)
                window = await self._strategy.get_window_stats(allowed, key_id)
        except (StorageError, TimeoutError) as error:
            raise _gone() from error
        return passes, window.remaining, window.reset_time

    async def check(self) -> None:
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


def _gone() -> Unavailable:
    return Unavailable("Redis, which counts the requests of each key, does not answer. Start it again, or check REDIS_URL.")
