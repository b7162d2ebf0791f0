"""The audit log, for administrators of all books."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Response

from bythebook.database.audit import LISTED, AuditEntry, AuditLog
from bythebook.web.access import Administrator
from bythebook.web.problems import ERRORS, NotAllowed
from bythebook.web.responses import json_response
from bythebook.web.state import Current

router = APIRouter(tags=["operations"], responses=ERRORS)
LARGEST_ID = 2_147_483_647


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of the audit log, newest first."""

    entries: tuple[AuditEntry, ...]
    next: int | None
    """`before` of the next page."""


@router.get("/audit", response_model=AuditPage, summary="Who did what: keys, jobs, books, deletions, settings; the newest first")
async def read_audit_log(
    who: Administrator,
    current: Current,
    limit: Annotated[int, Query(ge=1, le=1000)] = LISTED,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="`next` of the page before.")] = None,
) -> Response:
    if who.book_id is not None:
        raise NotAllowed("The audit log covers all books, and this key is for one. Make one for all: bythebook keys create")
    found = await AuditLog(current.resources.database).list(limit=limit + 1, before=before)
    more = found[limit - 1].entry_id if len(found) > limit else None
    return json_response(AuditPage(entries=tuple(found[:limit]), next=more))
