"""The rate limiter: how many requests a key may make in a minute, and how many it has left. `moving_windows` counts them.

Where Redis is configured and not available, no request passes uncounted: the response is 503 until it is back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bythebook.web.moving_windows import MovingWindows

REQUESTS_PER_MINUTE = 100
"""The limit of a key that was made without another one."""
MOST_REQUESTS_PER_MINUTE = 1_000_000
PUBLIC_REQUESTS_PER_MINUTE = 30
"""The limit of one address that uses public books without a key."""
READERS_AT_ONCE = 50
"""All readers of a public key together may send as many requests as this many readers, so that pretending to be more gains
nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaState:
    """What a key has left after a request."""

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


class RateLimiter:
    """Counts requests once there is a key: importing the counter is slow, and a server without keys has nothing to count."""

    def __init__(self, redis_url: str | None = None) -> None:
        self._redis_url = redis_url
        self._made: MovingWindows | None = None
        self.shared = redis_url is not None

    def prepare(self) -> MovingWindows:
        """Imports the counter ahead, so that the first request need not wait for it."""
        if self._made is None:
            from bythebook.web.moving_windows import MovingWindows

            self._made = MovingWindows(self._redis_url)
        return self._made

    async def count(self, key_id: str, per_minute: int) -> tuple[QuotaState, bool]:
        """Counts one more request. Returns whether it may pass, and what the key has left."""
        passes, remaining, reset_time = await self.prepare().hit(key_id, per_minute)
        reset = max(1, round(reset_time - time.time() + 0.5))
        return QuotaState(limit=per_minute, remaining=max(0, remaining), reset_seconds=reset), passes

    async def check(self) -> None:
        """Raises Unavailable where the count cannot be kept."""
        await self.prepare().check()

    async def close(self) -> None:
        if self._made:
            await self._made.close()
