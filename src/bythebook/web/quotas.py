"""What a key may use: requests and a model's tokens per day, counted in the database for all processes; and answers at once,
counted in each process. A day ends at midnight, UTC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, delete, select, update

from bythebook.database.engine import Database, insert_absent
from bythebook.database.tables import key_usage
from bythebook.web.problems import TooManyRequests

if TYPE_CHECKING:
    from bythebook.answering.answer import Answer
    from bythebook.web.keys import Key
    from bythebook.web.state import State

KEPT_DAYS = 90
RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyUsage:
    """What one key used on one day. Requests are counted for keys with a daily limit of them."""

    requests: int = 0
    tokens: int = 0


class Quotas:
    """Counts what each key uses, and raises where it is too much."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._at_once: Counter[str] = Counter()

    async def today(self, key_id: str) -> DailyUsage:
        return await self._database.run(lambda connection: _read(connection, key_id))

    async def count_request(self, key: Key) -> None:
        if key.requests_per_day is None:
            return
        used = await self._add(key.key_id, requests=1)
        if used.requests > key.requests_per_day:
            raise _used_up(f"This key may make {key.requests_per_day:,} requests a day and has made them.")

    async def check_tokens(self, key: Key) -> None:
        """Raises where the day's tokens are used up. How many a turn will take is not known before, so the last turn may exceed
        the limit."""
        if key.tokens_per_day is not None and (await self.today(key.key_id)).tokens >= key.tokens_per_day:
            raise _used_up(f"This key may use {key.tokens_per_day:,} tokens of the model a day and has used them.")

    def take_slot(self, key: Key) -> Callable[[], None]:
        """Takes a slot for one more answer at once. Call what it returns to free the slot."""
        if key.streams_at_once is not None and self._at_once[key.key_id] >= key.streams_at_once:
            raise TooManyRequests(
                f"This key may have {key.streams_at_once:,} answers under way at once and has them. Wait for one to end.",
                retry_after_seconds=RETRY_SECONDS,
            )
        self._at_once[key.key_id] += 1

        def give_back() -> None:
            self._at_once[key.key_id] -= 1
            if not self._at_once[key.key_id]:
                del self._at_once[key.key_id]

        return give_back

    async def spend(self, key_id: str | None, tokens: int | None) -> None:
        """Adds the tokens that a turn took. With a public key, `key_id` also names the reader."""
        if key_id and tokens:
            await self._add(key_id.partition(":")[0], tokens=tokens)

    async def _add(self, key_id: str, *, requests: int = 0, tokens: int = 0) -> DailyUsage:
        day = _today()

        def add(connection: Connection) -> DailyUsage:
            row = {"key_id": key_id, "day": day, "requests": 0, "tokens": 0}
            if insert_absent(connection, key_usage, row, keys=("key_id", "day")):
                oldest = (datetime.now(UTC) - timedelta(days=KEPT_DAYS)).date().isoformat()
                connection.execute(delete(key_usage).where(key_usage.c.key_id == key_id, key_usage.c.day < oldest))
            added = {"requests": key_usage.c.requests + requests, "tokens": key_usage.c.tokens + tokens}
            connection.execute(update(key_usage).where(_of(key_id, day)).values(added))
            return _read(connection, key_id, day)

        return await self._database.run(add)


async def turn_ended(current: State, key_id: str | None, answer: Answer) -> None:
    """Counts a turn: for Prometheus, and for its key."""
    current.metrics.turn(answer)
    await current.quotas.spend(key_id, answer.tokens_used)


def _read(connection: Connection, key_id: str, day: str | None = None) -> DailyUsage:
    wanted = select(key_usage.c.requests, key_usage.c.tokens).where(_of(key_id, day or _today()))
    row = connection.execute(wanted).first()
    return DailyUsage(requests=row.requests, tokens=row.tokens) if row else DailyUsage()


def _of(key_id: str, day: str) -> ColumnElement[bool]:
    return (key_usage.c.key_id == key_id) & (key_usage.c.day == day)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _used_up(sentence: str) -> TooManyRequests:
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return TooManyRequests(f"{sentence} It may go on at 00:00 UTC.", retry_after_seconds=(midnight - now).total_seconds())
