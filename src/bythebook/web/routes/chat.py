"""Document E: a question to a thread, answered at once or as a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response

from bythebook.answering.answer import Answer, Answered, Found, FoundAgain, Refused, SearchBegun, Sentence
from bythebook.answering.assessment import ALL_BOOKS, rank_books
from bythebook.answering.retrieval_views import assembled_context, grounding_context, retrieval_context, retrieval_result
from bythebook.errors import NotFound
from bythebook.index.manifest import served_books
from bythebook.retrieval.context import check_selection, lesson_at
from bythebook.retrieval.query import SearchResult
from bythebook.threads.conversation import Asked, Opened
from bythebook.web.access import Asker, Principal, choose_book
from bythebook.web.logs import log
from bythebook.web.problems import ERRORS
from bythebook.web.quotas import turn_ended
from bythebook.web.requests import ChatRequest, Included
from bythebook.web.responses import ChatResponse, Done, SentenceView, StreamedValue, chat_response, json_response, rendered, write
from bythebook.web.state import Current, State
from bythebook.web.stream import Event, ReaderGone, WhileRead, begin, described_stream

router = APIRouter(tags=["chat"])

EVENT_NAMES = ("opened", "searching", "found", "sentence", "answered", "refused", "done", "error")
STREAM = described_stream(*EVENT_NAMES)
EVENTS = (
    "Events: `opened`, `searching`, `found`, then `sentence` by sentence, then `answered` or `refused` with the whole "
    "ChatResponse, then `done`. A failure on the way is `error` with a Problem, and the last event. Each `id` is "
    "`thread/turn/number`; a comment every 15 seconds keeps the connection alive."
)


@router.post(
    "/chat/run",
    response_model=ChatResponse,
    responses={200: {"description": "The answer or refusal.", "content": STREAM}, **ERRORS},
    summary="Ask, and get the whole answer or refusal",
)
async def run(body: ChatRequest, request: Request, who: Asker, current: Current) -> Response:
    turn = await _turn(body, who, current)
    try:
        if body.stream:
            return await begin(request.receive, turn.stream())
        with WhileRead(request.receive):
            return json_response(await turn.whole())
    except ReaderGone:
        return Response(status_code=499)


@router.post(
    "/chat/stream",
    response_class=Response,
    responses={200: {"description": EVENTS, "content": STREAM}, **ERRORS},
    summary="Ask, and get the answer sentence by sentence",
)
async def stream(body: ChatRequest, request: Request, who: Asker, current: Current) -> Response:
    try:
        return await begin(request.receive, (await _turn(body, who, current)).stream())
    except ReaderGone:
        return Response(status_code=499)


async def _turn(body: ChatRequest, who: Principal, current: State) -> ChatTurn:
    if body.books is not None:
        return await _turn_of_several(body, who, current)
    book_id = await choose_book(current, who, str(body.book_id) if body.book_id else None)
    if current.settings.log_questions:
        log.info("asked", book_id=book_id, message=body.message)
    if body.selection:
        state, index = await current.resources.search.book(book_id), current.resources.index
        file = body.selection.source_file or await lesson_at(index, state, body.selection.page_url or "")
        await check_selection(index, state, file, body.selection.text)
    asked = body.asked(book_id, who.key_id, current.settings)
    return ChatTurn(current, asked, whole=who.may("ingest"), render=body.render, include=frozenset(body.include))


async def _turn_of_several(body: ChatRequest, who: Principal, current: State) -> ChatTurn:
    """A turn with several books: the best grounded of those in the request that this key may use."""
    there = served_books(await current.resources.index.collections())
    named = [who.book(book_id) for book_id in body.books or () if book_id != ALL_BOOKS]
    if missing := [book_id for book_id in named if book_id not in there]:
        raise NotFound(f"There is no book '{missing[0]}' for this key.")
    wanted = [book_id for book_id in sorted(there) if who.opens(book_id)] if ALL_BOOKS in (body.books or ()) else named
    if current.settings.log_questions:
        log.info("asked", book_ids=wanted, message=body.message)
    asked = body.asked(wanted[0] if wanted else "", who.key_id, current.settings)
    assessed = await rank_books(current.resources.answerer, asked.question(), wanted)
    best = replace(asked, scope=replace(asked.scope, book_id=assessed[0].book_id), books=assessed)
    return ChatTurn(current, best, whole=who.may("ingest"), render=body.render, include=frozenset(body.include))


class ChatTurn:
    """One turn over HTTP."""

    def __init__(self, current: State, asked: Asked, *, whole: bool, render: bool, include: frozenset[Included]) -> None:
        self._current = current
        self._asked = asked
        self._whole = whole
        self._render = render
        self._include = include
        self._found: tuple[SearchResult, ...] = ()

    async def whole(self) -> ChatResponse:
        opened: Opened | None = None
        async with aclosing(self._current.conversation.turn(self._asked)) as events:
            async for event in events:
                match event:
                    case Opened():
                        opened = event
                    case Found() | FoundAgain():
                        self._found += event.results
                    case Answered() | Refused() if opened:
                        return await self._response(event.answer, opened)
        raise AssertionError("a turn ends with an answer or a refusal")

    async def stream(self) -> AsyncGenerator[Event]:
        """The event `opened` is held back until the search has begun, so that a missing book is an HTTP error."""
        opened: Opened | None = None
        number = 0
        async with aclosing(self._current.conversation.turn(self._asked)) as events:
            async for event in events:
                if isinstance(event, Opened):
                    opened = event
                    continue
                if isinstance(event, FoundAgain):
                    self._found += event.results
                    continue
                assert opened
                if number == 0:
                    yield event_of("opened", opened, opened, number, held=True)
                number += 1
                yield await self._event(event, opened, number)
        assert opened
        yield event_of("done", Done(thread_id=opened.thread_id, turn=opened.turn), opened, number + 1, held=True)

    async def _event(self, event: SearchBegun | Found | Sentence | Answered | Refused, opened: Opened, number: int) -> Event:
        match event:
            case SearchBegun():
                return event_of("searching", event, opened, number)
            case Found():
                self._found += event.results
                return event_of("found", event, opened, number)
            case Sentence():
                return event_of("sentence", sentence_view(event, render=self._render), opened, number)
            case Answered() | Refused():
                name = "refused" if event.answer.refused else "answered"
                return event_of(name, await self._response(event.answer, opened), opened, number, held=True)

    async def _response(self, answer: Answer, opened: Opened) -> ChatResponse:
        await turn_ended(self._current, self._asked.key_id, answer)
        texts = {result.id: result.preface + result.text for result in self._found}
        html = rendered(answer.sentences) if self._render else None
        response = chat_response(answer, opened, texts, whole=self._whole, html=html)
        return replace(response, **await self._made_from(answer)) if self._include else response

    async def _made_from(self, answer: Answer) -> dict[str, Any]:
        """What was asked for of the results of the program's own search."""
        first = self._found[: answer.tool_calls[0].results_count]
        made: dict[str, Any] = {}
        if self._include & {"retrieval", "query_embedding"}:
            wanted = "query_embedding" in self._include
            embedding = await self._current.resources.embedder.embed_question(answer.question) if wanted else None
            made["retrieval"] = retrieval_result(first, embedding)
        if "grounding_context" in self._include:
            made["grounding_context"] = grounding_context(answer, first)
        if "assembled_context" in self._include:
            made["assembled_context"] = assembled_context(first)
        if "retrieval_context" in self._include:
            made["retrieval_context"] = retrieval_context(answer, first)
        return made


def sentence_view(sentence: Sentence, *, render: bool) -> SentenceView:
    html = rendered((sentence,))[0] if render else None
    return SentenceView(text=sentence.text, kind=sentence.kind, citations=sentence.citations, html=html)


def event_of(name: str, value: StreamedValue, opened: Opened, number: int, *, held: bool = False) -> Event:
    return Event(name=name, id=f"{opened.thread_id}/{opened.turn}/{number}", body=write(value), held=held)
