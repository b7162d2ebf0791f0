"""OpenAI's chat completions, for programs that talk to models: each book is a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from uuid import uuid4

from fastapi import APIRouter, Request, Response

from bythebook.answering.answer import Answered, Refused, SearchBegun, Sentence
from bythebook.answering.markdown import LinkOf, link_to
from bythebook.index.manifest import served_books
from bythebook.index.state import IngestionState
from bythebook.retrieval.query import Scope
from bythebook.threads.conversation import Asked, Opened
from bythebook.web.access import PUBLIC, AskingGuest, Guest, Principal
from bythebook.web.completions.request import CompletionRequest
from bythebook.web.completions.response import (
    Completion,
    CompletionUsage,
    Deltas,
    ModelEntry,
    ModelList,
    completion,
    failed,
    plain_completion,
)
from bythebook.web.logs import log
from bythebook.web.problems import COMPLETION_ERRORS, NoSuchModel
from bythebook.web.quotas import turn_ended
from bythebook.web.responses import json_response
from bythebook.web.state import Current, State
from bythebook.web.stream import Event, ReaderGone, WhileRead, begin, described_stream

router = APIRouter(prefix="/v1", tags=["chat completions"], responses=COMPLETION_ERRORS)
STREAM = described_stream()


@router.get("/models", response_model=ModelList, summary="The books that this key opens, as models")
async def list_models(who: Guest, current: Current) -> Response:
    return json_response(ModelList(data=tuple(_entry(state) for state in await _books(who, current))))


@router.get("/models/{model}", response_model=ModelEntry, summary="A book, as a model")
async def read_model(model: str, who: Guest, current: Current) -> Response:
    return json_response(_entry(await _book(model, who, current)))


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={200: {"description": "The answer or refusal.", "content": STREAM}},
    summary="Ask as one asks a model of OpenAI",
)
async def complete(body: CompletionRequest, request: Request, who: AskingGuest, current: Current) -> Response:
    state = await _book(body.model, who, current)
    body.check()
    counts = bool(body.stream_options and body.stream_options.include_usage)
    link = link_to(state.book_id, str(request.base_url))
    if (told := body.chore()) is not None:
        id = f"chatcmpl-{uuid4().hex}"
        if not body.stream:
            return json_response(plain_completion(told, id=id, model=state.book_id))
        return await begin(request.receive, _stream_chore(Deltas(id=id, model=state.book_id, link=link), told, counts), failed)
    text, history = body.conversation()
    if current.settings.log_questions:
        log.info("asked", book_id=state.book_id, message=text)
    asked = Asked(
        text=text,
        scope=Scope(book_id=state.book_id),
        key_id=who.key_id,
        score_threshold=current.settings.agent_score_threshold,
        score_scale=current.settings.score_scale,
        history=history,
        metadata={"user_id": body.user} if body.user else {},
    )
    try:
        if body.stream:
            return await begin(request.receive, _stream(current, asked, link, counts), failed)
        with WhileRead(request.receive):
            return json_response(await _whole(current, asked, link))
    except ReaderGone:
        return Response(status_code=499)


async def _whole(current: State, asked: Asked, link: LinkOf) -> Completion:
    opened: Opened | None = None
    async with aclosing(current.conversation.turn(asked)) as events:
        async for event in events:
            match event:
                case Opened():
                    opened = event
                case Answered() | Refused() if opened:
                    await turn_ended(current, asked.key_id, event.answer)
                    return completion(event.answer, id=_id(opened), thread_id=_shown(opened, asked), link=link)
    raise AssertionError("a turn ends with an answer or a refusal")


async def _stream(current: State, asked: Asked, link: LinkOf, include_usage: bool) -> AsyncGenerator[Event]:
    opened: Opened | None = None
    deltas: Deltas | None = None
    async with aclosing(current.conversation.turn(asked)) as events:
        async for event in events:
            match event:
                case Opened():
                    opened = event
                    deltas = Deltas(id=_id(opened), model=asked.scope.book_id, link=link)
                case SearchBegun() if deltas:
                    yield deltas.begin()
                case Sentence() if deltas:
                    yield deltas.sentence(event)
                case Answered() | Refused() if deltas and opened:
                    await turn_ended(current, asked.key_id, event.answer)
                    for last in deltas.end(event.answer, include_usage=include_usage, thread_id=_shown(opened, asked)):
                        yield last


async def _stream_chore(deltas: Deltas, told: str, include_usage: bool) -> AsyncGenerator[Event]:
    yield deltas.begin()
    for event in deltas.text(told, usage=asdict(CompletionUsage()) if include_usage else None):
        yield event


def _id(opened: Opened) -> str:
    return f"chatcmpl-{uuid4().hex}-{opened.turn}"


def _shown(opened: Opened, asked: Asked) -> str | None:
    """The thread's id. A reader without a key does not get it: another reader who said the same may have continued that
    thread."""
    return None if asked.key_id == PUBLIC else opened.thread_id


async def _books(who: Principal, current: State) -> list[IngestionState]:
    there = served_books(await current.resources.index.collections())
    return [there[id] for id in sorted(there) if who.opens(id)]


async def _book(model: str, who: Principal, current: State) -> IngestionState:
    for state in await _books(who, current):
        if state.book_id == model:
            return state
    raise NoSuchModel(f"There is no book '{model[:100]}' for this key. GET /v1/models lists those there are.")


def _entry(state: IngestionState) -> ModelEntry:
    return ModelEntry(id=state.book_id, created=int(state.last_ingested.timestamp()), name=state.title)
