"""Readers rate an answer, share it by a link, and take either back; authors list the ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import UUID4, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from bythebook.answering.answer import Answer
from bythebook.errors import NotFound
from bythebook.evaluation.gap_texts import to_questions
from bythebook.evaluation.gaps import WrongAnswer, read_wrong_answers
from bythebook.threads.model import StoredTurn
from bythebook.threads.reactions import OPENS_NOTHING
from bythebook.web.access import Author, Principal, Reader
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId, Readable
from bythebook.web.responses import json_response, rendered
from bythebook.web.state import Current, State

router = APIRouter(tags=["threads"], responses=ERRORS)
ThreadId = Annotated[UUID4, Path(description="The thread's id: a chat's `session_id`.")]
Number = Annotated[int, Path(ge=1, le=1000, description="The turn's number in its thread.")]
Wanted = Annotated[BookId, Path(description="The book's id.")]
Since = Annotated[AwareDatetime | None, Query(description="Only what was said from then on.")]
MAX_REASON = 500


class RatingRequest(BaseModel):
    """A reader's rating of an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    right: bool = Field(description="Whether the answer, or the refusal, was right.")
    reason: Annotated[Readable, StringConstraints(max_length=MAX_REASON)] = Field("", description="What is wrong with it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLink:
    """A link to a turn. `token` is returned once: the server stores only its hash."""

    token: str
    path: str
    """The address of the page that shows it, on this server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTurn:
    """One turn, without the thread around it."""

    book_id: str
    created_at: datetime
    stale: bool
    answer: Answer
    html: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswers:
    """Answers rated wrong, the latest first."""

    answers: tuple[WrongAnswer, ...]


@router.put(
    "/threads/{thread_id}/turns/{number}/rating", status_code=204, response_class=Response, summary="Say whether it was right"
)
async def rate_turn(thread_id: ThreadId, number: Number, body: RatingRequest, who: Reader, current: Current) -> None:
    turn = await _own(thread_id, number, who, current)
    await current.resources.reactions.rate(turn, right=body.right, reason=body.reason.strip())


@router.delete("/threads/{thread_id}/turns/{number}/rating", status_code=204, response_class=Response, summary="Take that back")
async def withdraw_rating(thread_id: ThreadId, number: Number, who: Reader, current: Current) -> None:
    await current.resources.reactions.withdraw(await _own(thread_id, number, who, current))


@router.post(
    "/threads/{thread_id}/turns/{number}/share",
    status_code=201,
    response_model=SharedLink,
    summary="Make a link to one turn; one made before opens nothing any more",
)
async def share_turn(thread_id: ThreadId, number: Number, who: Reader, current: Current) -> Response:
    token = await current.resources.reactions.share(await _own(thread_id, number, who, current))
    return json_response(SharedLink(token=token, path=f"/#/shared/{token}"), 201)


@router.delete("/threads/{thread_id}/turns/{number}/share", status_code=204, response_class=Response, summary="Revoke the link")
async def revoke_share(thread_id: ThreadId, number: Number, who: Reader, current: Current) -> None:
    await current.resources.reactions.revoke(await _own(thread_id, number, who, current))


@router.get("/shared/{token}", response_model=SharedTurn, summary="Read a turn that was shared, with a key that opens its book")
async def read_shared(
    token: Annotated[str, Path(min_length=16, max_length=100, pattern=r"^[\w-]+$")], who: Reader, current: Current
) -> Response:
    turn = await current.resources.reactions.shared(token)
    if not who.opens(book_id := turn.answer.book_id):
        raise NotFound(OPENS_NOTHING)  # the same as for any link: another book's id is not told
    asked = tuple(one for one in turn.answer.books if who.opens(one.book_id))  # other books do not exist for this key
    shown = replace(turn.answer, dropped=(), tool_calls=(), books=asked)
    html = rendered(shown.sentences)
    stale = turn.stale_since is not None
    return json_response(SharedTurn(book_id=book_id, created_at=turn.created_at, stale=stale, answer=shown, html=html))


@router.get("/books/{book_id}/wrong", response_model=WrongAnswers, tags=["books"], summary="What readers found wrong")
async def list_wrong(book_id: Wanted, who: Author, current: Current, since: Since = None) -> Response:
    found = await read_wrong_answers(current.resources.reactions, who.book(book_id), since=since)
    return json_response(WrongAnswers(answers=tuple(found)))


@router.get(
    "/books/{book_id}/wrong.jsonl",
    response_class=Response,
    tags=["books"],
    responses={200: {"description": "A line for each.", "content": {"application/jsonl": {"schema": {"type": "string"}}}}},
    summary="The same as questions for an evaluation, for the author to complete",
)
async def download_wrong(book_id: Wanted, who: Author, current: Current, since: Since = None) -> Response:
    found = await read_wrong_answers(current.resources.reactions, who.book(book_id), since=since)
    headers = {"Content-Disposition": f'attachment; filename="{book_id}-wrong.jsonl"'}
    return Response(to_questions(found), media_type="application/jsonl", headers=headers)


async def _own(thread_id: UUID4, number: int, who: Principal, current: State) -> StoredTurn:
    thread = await current.threads.get(str(thread_id), who.key_id)
    return await current.threads.turn(thread.thread_id, number)
