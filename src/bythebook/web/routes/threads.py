"""Stored threads: list, read, rename, export and delete them. For any other key a thread does not exist."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import UUID4, AwareDatetime

from bythebook.answering.answer import Answered, Refused, SearchBegun, Sentence
from bythebook.threads.conversation import Opened
from bythebook.threads.export import to_markdown
from bythebook.threads.model import StoredTurn
from bythebook.threads.transcript import Transcript, View, found_texts, read_transcript
from bythebook.web.access import Principal, Reader
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId, ThreadChange
from bythebook.web.responses import (
    Done,
    MessageView,
    ThreadList,
    ThreadSummary,
    ThreadView,
    TurnView,
    chat_response,
    json_response,
    past_events,
    rendered,
    summary,
)
from bythebook.web.routes.chat import EVENTS, STREAM, event_of, sentence_view
from bythebook.web.state import Current
from bythebook.web.stream import Event, begin

router = APIRouter(prefix="/threads", tags=["threads"], responses=ERRORS)
ThreadId = Annotated[UUID4, Path(description="The thread's id: a chat's `session_id`.")]
TURNS_SHOWN = 25
"""How many turns the shown messages belong to."""


@router.get("", response_model=ThreadList, summary="List your threads, the latest first")
async def list_threads(
    who: Reader,
    current: Current,
    book_id: BookId | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[AwareDatetime | None, Query(description="`next` of the page before.")] = None,
) -> Response:
    book = who.book_id if book_id is None else who.book(book_id)
    found = await current.threads.list(who.key_id, book_id=book, limit=limit + 1, before=before)
    shown = found[:limit]
    more = shown[-1].updated_at if len(found) > limit else None
    listed = ThreadList(threads=tuple(ThreadSummary(**summary(thread)) for thread in shown), next=more)
    return json_response(listed)


@router.get("/{thread_id}", response_model=ThreadView, summary="Read a thread")
async def read_thread(
    thread_id: ThreadId,
    who: Reader,
    current: Current,
    render: Annotated[bool, Query(description="Add safe HTML beside the answers.")] = False,
    before: Annotated[int | None, Query(ge=1, le=1000, description="Show the turns before this number: to read back.")] = None,
) -> Response:
    thread = await current.threads.get(str(thread_id), who.key_id)
    messages = [message for message in await current.threads.messages(thread.thread_id) if message.spoken]
    turns = await current.threads.turns(thread.thread_id, last=TURNS_SHOWN, before=before)
    rated, shared = await current.resources.reactions.of_thread(thread.thread_id)
    view = ThreadView(
        **summary(thread),
        model=turns[-1].answer.model if turns else None,
        messages=tuple(
            MessageView(
                role=cast(Literal["user", "assistant"], message.role),
                content=message.content,
                timestamp=message.timestamp,
                confidence=message.confidence,
            )
            for message in messages
        ),
        turns=tuple(
            replace(_turn_view(turn, who, render=render), rating=rated.get(turn.number), shared=turn.number in shared)
            for turn in turns
        ),
    )
    return json_response(view)


@router.get("/{thread_id}/messages", response_model=Transcript, summary="Read a thread's messages")
async def read_messages(
    thread_id: ThreadId,
    who: Reader,
    current: Current,
    view: Annotated[
        View,
        Query(
            description="`spoken`: questions and answers; `all`: the whole transcript with the system prompt, every search and "
            "its results; `openai`: the same as chat completions take messages."
        ),
    ] = "spoken",
) -> Response:
    thread = await current.threads.get(str(thread_id), who.key_id)
    return json_response(await read_transcript(current.threads, thread, view=view))


@router.patch("/{thread_id}", status_code=204, response_class=Response, summary="Name a thread")
async def rename_thread(thread_id: ThreadId, change: ThreadChange, who: Reader, current: Current) -> None:
    await current.threads.rename(str(thread_id), who.key_id, change.title)


@router.delete("/{thread_id}", status_code=204, response_class=Response, summary="Delete a thread for good")
async def delete_thread(thread_id: ThreadId, who: Reader, current: Current) -> None:
    await current.threads.delete(str(thread_id), who.key_id)


@router.get(
    "/{thread_id}/export",
    response_class=Response,
    responses={
        200: {"description": "The thread with its sources.", "content": {"text/markdown": {"schema": {"type": "string"}}}}
    },
    summary="Take a thread along as Markdown",
)
async def export_thread(thread_id: ThreadId, who: Reader, current: Current) -> Response:
    thread = await current.threads.get(str(thread_id), who.key_id)
    text = to_markdown(thread, await current.threads.turns(thread.thread_id))
    headers = {"Content-Disposition": f'attachment; filename="thread-{thread.thread_id}.md"'}
    return Response(text, media_type="text/markdown; charset=utf-8", headers=headers)


@router.get(
    "/{thread_id}/turns/{number}/events",
    response_class=Response,
    responses={200: {"description": f"A turn that has ended, told again. {EVENTS}", "content": STREAM}},
    summary="Read a finished answer again, or on from where the connection broke",
)
async def replay(
    thread_id: ThreadId,
    number: Annotated[int, Path(ge=1, le=1000)],
    request: Request,
    who: Reader,
    current: Current,
    last_event_id: Annotated[str | None, Header(max_length=100, description="The `id` of the last event that arrived.")] = None,
    render: bool = False,
) -> Response:
    thread = await current.threads.get(str(thread_id), who.key_id)
    stored = await current.threads.turn(thread.thread_id, number)
    texts = found_texts(await current.threads.messages(thread.thread_id, archived=True, turn=number))
    opened = Opened(thread_id=thread.thread_id, book_id=thread.book_id, turn=number)
    events = _replayed(stored, opened, texts, whole=who.may("ingest"), render=render, seen=_seen(last_event_id, opened))
    return await begin(request.receive, events)


async def _replayed(
    stored: StoredTurn, opened: Opened, texts: Mapping[str, str], *, whole: bool, render: bool, seen: int
) -> AsyncGenerator[Event]:
    """The same events under the same ids; what was found (number 2) is not stored."""
    told = [event_of("opened", opened, opened, 0)]
    for event in past_events(stored):
        number = len(told) + (len(told) > 1)
        match event:
            case SearchBegun():
                told.append(event_of("searching", event, opened, number))
            case Sentence():
                told.append(event_of("sentence", sentence_view(event, render=render), opened, number))
            case Answered() | Refused():
                html = rendered(event.answer.sentences) if render else None
                response = chat_response(event.answer, opened, texts, whole=whole, html=html)
                told.append(event_of("refused" if event.answer.refused else "answered", response, opened, number))
    told.append(event_of("done", Done(thread_id=opened.thread_id, turn=opened.turn), opened, len(told) + 1))
    unseen = [one for one in told if int(one.id.rpartition("/")[2]) > seen]
    for one in unseen or told[-1:]:
        yield one


def _seen(last_event_id: str | None, opened: Opened) -> int:
    thread, _, number = (last_event_id or "").rpartition("/")
    mine = thread == f"{opened.thread_id}/{opened.turn}"
    return int(number) if mine and number.isascii() and number.isdigit() and len(number) < 6 else -1


def _turn_view(turn: StoredTurn, who: Principal, *, render: bool) -> TurnView:
    author = who.may("ingest")
    return TurnView(
        number=turn.number,
        created_at=turn.created_at,
        stale=turn.stale_since is not None,
        stale_since=turn.stale_since,
        stale_labels=turn.stale_labels,
        answer=turn.answer if author else replace(turn.answer, dropped=()),
        trace=turn.trace if author else None,
        html=rendered(turn.answer.sentences) if render else None,
    )
