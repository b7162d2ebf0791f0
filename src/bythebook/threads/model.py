"""What a thread is made of: document E's ConversationThread and Message, documents B's and C's rules for them. Values only."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from bythebook.answering.answer import Answer
from bythebook.answering.trace import Trace
from bythebook.drafting.draft import Exchange
from bythebook.errors import InvalidInput
from bythebook.grounding.citations import Citation

Role = Literal["system", "user", "assistant", "tool"]

IDLE = timedelta(hours=1)
"""How long without a turn until a thread is archived. The next turn restores it."""
SHOWN_MESSAGES = 50
"""How many user and assistant messages are shown; older ones are archived."""
MAX_TITLE = 120
MAX_SUMMARY = 200
MAX_METADATA = 4096
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation with one book, and the key it belongs to. A thread is archived by the passing of time alone, without any
    job: `archived_at` says since when, None while it is not."""

    thread_id: str
    book_id: str
    key_id: str | None
    title: str | None
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    topic_summary: str | None
    metadata: Mapping[str, Any]
    turn_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the transcript. `confidence` is set on answers, `tool_calls` on messages that ask for a search, `tool_name`
    and `tool_call_id` on search results."""

    role: Role
    content: str
    timestamp: datetime
    turn: int = 0
    confidence: float | None = None
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    archived: bool = False

    def __post_init__(self) -> None:
        if self.role == "user" and not self.content.strip():
            raise InvalidInput("A question must not be empty.")
        if self.tool_calls is not None and self.role != "assistant":
            raise InvalidInput(f"Only an assistant's message calls a tool, not one of the role '{self.role}'.")
        if self.tool_call_id is not None and self.role != "tool":
            raise InvalidInput(f"Only a tool's message answers a call, not one of the role '{self.role}'.")

    @property
    def spoken(self) -> bool:
        """Whether it is a question or an answer: document E's view."""
        return self.role == "user" or (self.role == "assistant" and self.tool_calls is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """One turn of a thread as it is stored. `stale_since`: when the book changed under one of its citations; `stale_labels`: the
    citations that the book no longer supports."""

    thread_id: str
    number: int
    answer: Answer
    trace: Trace | None
    created_at: datetime
    stale_since: datetime | None = None
    stale_labels: tuple[int, ...] = ()

    @property
    def asked(self) -> str:
        return self.answer.query


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn that has ended and is not stored yet."""

    answer: Answer
    messages: tuple[Message, ...]
    trace: Trace | None = None
    topic_summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    said: str | None = None
    """The digest of everything said in the thread including this turn, where the client keeps the conversation itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedChunk:
    """A chunk that a stored answer cites."""

    thread_id: str
    turn: int
    label: int
    chunk_id: str
    stale_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuote:
    """What a stored answer quotes from a chunk, and the question it answers."""

    cited: CitedChunk
    question: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to run the next turn of a thread, with the history that turn may refer to. `turn_count` is how many turns it
    has had; `said` the digest of them, where there is one."""

    thread_id: str
    book_id: str
    token: str
    turn_count: int = 0
    history: tuple[Exchange, ...] = ()
    said: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def read_thread_id(text: str) -> str:
    """Checks a thread's id and returns it as it is stored. Document E requires a UUID of version 4."""
    if not _UUID4.fullmatch(text):
        raise InvalidInput("A thread's id is a UUID of version 4, such as 550e8400-e29b-41d4-a716-446655440000.")
    return text.lower()


def digest_of(exchanges: Iterable[Exchange]) -> str:
    """Identifies a conversation by its words alone: clients change spaces and line ends."""
    said = [(" ".join(one.question.split()), " ".join(one.answer.split())) for one in exchanges]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raises InvalidInput for metadata that a thread cannot store."""
    try:
        written = json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:  # NaN, and half a surrogate pair
        raise InvalidInput("A thread's metadata must be JSON that every program can read.") from error
    if b"\\u0000" in written:
        raise InvalidInput("A thread's metadata must not hold the character NUL.")
    if len(written) > MAX_METADATA:
        raise InvalidInput(f"A thread's metadata must take {MAX_METADATA:,} bytes of JSON or less, not {len(written):,}.")


def archived_at(updated_at: datetime, now: datetime) -> datetime | None:
    return updated_at + IDLE if now >= updated_at + IDLE else None


def title_of(question: str) -> str:
    """Returns a thread's first title: its first question, until its reader renames it."""
    line = " ".join(question.split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def checked_title(title: str) -> str:
    shown = " ".join(title.split())
    if not 1 <= len(shown) <= MAX_TITLE or not shown.isprintable():
        raise InvalidInput(f"A thread's title takes 1 to {MAX_TITLE} printable characters; this one has {len(shown):,}.")
    return shown
