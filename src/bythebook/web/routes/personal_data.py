"""Exports or erases what is stored about a reader: the key that asks, a user it names, or for an administrator any."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from bythebook.errors import NeedsConsent
from bythebook.threads.personal_data import DataOwner, Erasure, PersonalData
from bythebook.web.access import Principal, Reader
from bythebook.web.problems import ERRORS
from bythebook.web.requests import Name
from bythebook.web.responses import json_response
from bythebook.web.state import Current, State

router = APIRouter(prefix="/personal-data", tags=["personal data"], responses=ERRORS)
LINES = "application/x-ndjson"
UserId = Annotated[Name | None, Query(description="Only of this user, as `user_id` of the questions named them.")]
KeyId = Annotated[Name | None, Query(description="For an administrator: of this key. Others have their own.")]


@router.get(
    "",
    response_class=Response,
    responses={200: {"description": "An object on each line.", "content": {LINES: {"schema": {"type": "string"}}}}},
    summary="Export all that is stored about a key or a user",
)
async def export_data(who: Reader, current: Current, user_id: UserId = None, key_id: KeyId = None) -> Response:
    owner = _owner(who, user_id, key_id)
    headers = {"Content-Disposition": 'attachment; filename="personal-data.jsonl"'}
    return StreamingResponse(_lines(current, owner), media_type=LINES, headers=headers)


@router.delete("", response_model=Erasure, summary="Erase all that is stored about a key or a user, for good")
async def erase_data(
    who: Reader,
    current: Current,
    user_id: UserId = None,
    key_id: KeyId = None,
    yes: Annotated[bool, Query(description="It is meant.")] = False,
) -> Response:
    owner = _owner(who, user_id, key_id)
    if not yes:
        raise NeedsConsent("This would erase every thread of this key or user for good. Send the request again with yes=true.")
    return json_response(await PersonalData(current.resources.database).erase(owner))


def _owner(who: Principal, user_id: str | None, key_id: str | None) -> DataOwner:
    """An administrator names a key or a user. Everyone else means their own data, and erasing it leaves the key unchanged."""
    if who.may("admin") and (key_id or user_id):
        return DataOwner(key_id=key_id, user_id=user_id, book_id=who.book_id)
    return DataOwner(key_id=who.key_id, user_id=user_id, book_id=who.book_id, threads_only=True)


async def _lines(current: State, owner: DataOwner) -> AsyncIterator[bytes]:
    async for one in PersonalData(current.resources.database).export(owner):
        yield json.dumps(one, ensure_ascii=False).encode() + b"\n"
