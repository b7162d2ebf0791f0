"""Calls a Qdrant server: retries where that may help, and raises one clear sentence where it does not.

Every request may be sent twice: writes name their ids and lessons, so that repeating them changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from bythebook.errors import BookError, NotFound, RateLimited, Rejected, StorageFailure, Unavailable
from bythebook.index.payload import UnreadableRecord, decoding
from bythebook.retry import without_login

TRIES = 4
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 30.0
PASSING = frozenset({408, 429, 500, 502, 503, 504})

Answer = TypeVar("Answer")
Sleep = Callable[[float], Awaitable[None]]


async def call(url: str, ask: Callable[[], Awaitable[Answer]], *, sleep: Sleep) -> Answer:
    """At most four tries, with a longer pause before each, or the pause that the server asks for."""
    for attempt in range(1, TRIES + 1):
        pause = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1)
        try:
            return await ask()
        except UnexpectedResponse as error:
            if error.status_code not in PASSING or attempt == TRIES:
                raise _refused(url, error) from error
        except ResourceExhaustedResponse as error:
            if attempt == TRIES:
                raise RateLimited(
                    f"The Qdrant server at {without_login(url)} takes no more requests for now. "
                    f"Try again in {error.retry_after_s} s.",
                    retry_after_seconds=error.retry_after_s,
                ) from error
            pause = max(pause, error.retry_after_s)
        except ResponseHandlingException as error:
            if attempt == TRIES:
                reason = " ".join(str(error.source).split())[:200] or type(error.source).__name__
                raise Unavailable(
                    f"The Qdrant server at {without_login(url)} does not answer ({reason}). "
                    "Check that it runs, and check QDRANT_URL."
                ) from error
        await sleep(min(pause, LONGEST_PAUSE_SECONDS))
    raise AssertionError("the last try returns or raises")


@contextmanager
def reading(url: str, what: str) -> Iterator[None]:
    """Turns a stored record that cannot be decoded into one sentence that names the server."""
    try:
        with decoding(what):
            yield
    except UnreadableRecord as error:
        raise StorageFailure(
            f"The index at {without_login(url)} cannot be used ({str(error)[:300]}). "
            "If it is damaged, run: bythebook ingest --mode recreate"
        ) from error


def _refused(url: str, error: UnexpectedResponse) -> BookError:
    reason, status = _reason(error), error.status_code or 0
    if status in (401, 403):
        return Rejected(
            f"The Qdrant server at {without_login(url)} does not accept the key. Set QDRANT_API_KEY to one that it knows."
        )
    if status == 404 and "doesn't exist" in reason:
        return NotFound(f"The Qdrant server at {without_login(url)} lacks what was asked for ({reason}). Run: bythebook ingest")
    if status in PASSING:
        return Unavailable(
            f"The Qdrant server at {without_login(url)} has a problem of its own ({status}: {reason}). Try again later."
        )
    return Rejected(
        f"The Qdrant server at {without_login(url)} refuses ({status}: {reason}). Check QDRANT_URL and the server's version."
    )


def _reason(error: UnexpectedResponse) -> str:
    try:
        text = str(json.loads(error.content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        text = error.reason_phrase
    return " ".join(text.split())[:300]
