"""The audit log: who did what, and when. An entry is written in the transaction of the act itself, so neither exists without the
other.

It names keys, books, threads and jobs by their ids, and never contains a reader's question or a secret.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, insert, select

from bythebook.database.engine import Database
from bythebook.database.tables import audit_log

ACTOR: ContextVar[str] = ContextVar("actor", default="command line")
"""Who acts: `key ID`, `webhook`, `this machine` (HTTP without keys), or the command line."""
Action = Literal[
    "key created",
    "key rotated",
    "key revoked",
    "job ordered",
    "job cancelled",
    "book removed",
    "book renamed",
    "thread deleted",
    "threads expired",
    "data exported",
    "data erased",
    "backup made",
    "settings changed",
]
LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry of the audit log as it is read back."""

    entry_id: int
    at: datetime
    actor: str
    action: str
    subject: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An entry of the audit log. Made where the actor is known, written where the transaction is."""

    actor: str
    action: Action
    subject: str
    details: dict[str, Any]

    def write(self, connection: Connection) -> None:
        row = {"actor": self.actor, "action": self.action, "subject": self.subject, "details": self.details}
        connection.execute(insert(audit_log).values(at=datetime.now(UTC), **row))


def act(action: Action, subject: object, **details: Any) -> Act:
    """An entry for what the current actor is doing. Details that are None are left out."""
    given = {name: value for name, value in details.items() if value is not None}
    return Act(actor=ACTOR.get(), action=action, subject=str(subject), details=given)


class AuditLog:
    """Reads and writes the audit log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, entry: Act) -> None:
        """Writes an entry for an act outside the database."""
        await self._database.run(entry.write)

    async def list(
        self, *, action: str | None = None, subject: str | None = None, before: int | None = None, limit: int | None = LISTED
    ) -> list[AuditEntry]:
        """Newest first; `before` is the last entry_id of the page before."""
        wanted = select(audit_log).order_by(audit_log.c.entry_id.desc()).limit(limit)
        for column, value in ((audit_log.c.action, action), (audit_log.c.subject, subject)):
            wanted = wanted if value is None else wanted.where(column == value)
        wanted = wanted if before is None else wanted.where(audit_log.c.entry_id < before)
        rows = await self._database.run(lambda connection: connection.execute(wanted).all())
        return [AuditEntry(**row._mapping) for row in rows]
