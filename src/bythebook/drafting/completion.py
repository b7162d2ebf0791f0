"""One line written by a model: a question made standalone, what a thread is about. Small work beside a draft, never worth
waiting long for; whoever asks for it checks it and knows what to do without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bythebook.drafting.draft import Usage

LONGEST_LINE = 500
"""Characters after which a model is no longer listened to: it is writing something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What came, as it came. `usage` is None where the server does not count, or was not heard to the end."""

    text: str
    usage: Usage | None = None


WriteLine = Callable[[str, str], Awaitable[Line]]
"""instructions, material -> the line. Raises Rejected, RateLimited or Unavailable."""
