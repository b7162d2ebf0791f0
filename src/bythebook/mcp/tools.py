"""The tools that an editor or assistant calls by MCP. Knows nothing of the protocol.

Each result has everything twice, as text and as JSON, because some clients give their model only one of them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from bythebook.answering.answer import Answer, Answered, Refused
from bythebook.answering.assessment import choose_several
from bythebook.answering.markdown import (
    link_to,
    page_address,
    place_of_quote,
    quotes_of,
    title_of_source,
    to_markdown,
    web_url,
)
from bythebook.books.model import Chunk
from bythebook.errors import InvalidInput, NotFound
from bythebook.index.state import IngestionState
from bythebook.operations.reader import OpenBook, WholeLesson, choose_among, list_lessons, list_states, read_lesson_text
from bythebook.operations.runner import OperationRunner
from bythebook.operations.threads import converse
from bythebook.retrieval.query import MAX_LIMIT, Scope, SearchResult
from bythebook.threads.conversation import Asked, Opened
from bythebook.wiring.author import Resources

TEXT = {"type": "string"}
BOOK = {"type": "string", "description": "The book's id, as books() lists them; not needed where there is one."}
ID = {"type": "string", "description": "The id of a search result."}


@dataclass(frozen=True, slots=True, kw_only=True)
class BookTool:
    """A tool as it is described to clients. `required`: the arguments that must be given."""

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        return {"type": "object", "properties": dict(self.arguments), "required": list(self.required)}


TOOLS = (
    BookTool(
        name="ask",
        description="Asks the book: an answer whose every sentence is checked against the book and quoted, or a refusal.",
        arguments={
            "question": {"type": "string", "description": "1 to 1,000 characters."},
            "book": BOOK,
            "session": {"type": "string", "description": "The session of an earlier answer, to ask about it."},
            "books": {
                "type": "array",
                "items": TEXT,
                "description": 'Instead of book: several ids, or ["*"] for all. The best grounded one answers, in a new session.',
            },
        },
        required=("question",),
    ),
    BookTool(
        name="search",
        description="Finds the passages of the book that say something, the best first.",
        arguments={
            "query": {"type": "string", "description": "3 to 1,000 characters."},
            "book": BOOK,
            "limit": {"type": "integer", "description": f"1 to {MAX_LIMIT}; 5 unless given."},
        },
        required=("query",),
    ),
    BookTool(name="fetch", description="Reads a whole passage that search found.", arguments={"id": ID}, required=("id",)),
    BookTool(
        name="lesson",
        description="Reads a whole lesson, as Markdown.",
        arguments={"path": {"type": "string", "description": "Its path in the book."}, "book": BOOK},
        required=("path",),
    ),
    BookTool(
        name="context",
        description="Reads what stands before and after a passage that search found.",
        arguments={"chunk_id": ID},
        required=("chunk_id",),
    ),
    BookTool(name="books", description="Lists the books that can be asked.", arguments={}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The result of a tool: as text, and as JSON."""

    text: str
    structured: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCaller:
    """Who calls: the library, the books that the caller may use, whose threads are the caller's, and the address of the page
    where the caller can open a lesson, if there is one."""

    library: Callable[[], AbstractAsyncContextManager[OperationRunner[Resources]]]
    opens: Callable[[str], bool] = lambda book_id: True
    key_id: str | None = None
    base_url: str = ""
    book_id: str | None = None
    """The book to use where none is named."""
    asking: Callable[[], Awaitable[object]] | None = None
    """Raises where the caller may not be answered now, because of a rate limit for example."""
    answered: Callable[[Answer], Awaitable[None]] | None = None
    """Counts the answer."""

    async def call(self, name: str, arguments: Mapping[str, Any] | None) -> ToolOutput:
        """Runs a tool. Raises BookError with a sentence that tells the model what to change."""
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            raise InvalidInput(f"There is no tool '{name}'. The tools are: {', '.join(tool.name for tool in TOOLS)}.")
        given = _checked(tool, arguments)
        async with self.library() as runner:
            match name:
                case "ask":
                    return await self._ask(runner, given)
                case "search":
                    return await self._search(runner, given)
                case "lesson":
                    return await self._lesson(runner, given)
                case "fetch" | "context":
                    return await self._passage(runner, given.get("id") or given["chunk_id"], around=name == "context")
            return await self._books(runner)

    async def lessons(self) -> list[tuple[str, str]]:
        """The book and the path of every lesson the caller may read."""
        async with self.library() as runner:
            states = await self._states(runner)
            return [(state.book_id, path) for state in states for path in await runner.run(list_lessons, book_id=state.book_id)]

    async def read_lesson(self, book_id: str, path: str) -> WholeLesson:
        async with self.library() as runner:
            book = await self._book(runner, book_id)
            return await runner.run(read_lesson_text, book_id=book.book_id, name=path)

    async def _ask(self, runner: OperationRunner[Resources], given: Mapping[str, Any]) -> ToolOutput:
        among = await self._several(runner, given) if "books" in given else ()
        book, settings = await self._book(runner, among[0] if among else given.get("book")), runner.settings
        asked = Asked(
            text=given["question"],
            scope=Scope(book_id=book.book_id, limit=settings.agent_top_k),
            key_id=self.key_id,
            thread_id=given.get("session"),
            score_threshold=settings.agent_score_threshold,
            score_scale=settings.score_scale,
        )
        if self.asking:
            await self.asking()
        session, ended = "", None
        async for event in runner.follow(converse, asked=asked, among=among):
            match event:
                case Opened():
                    session = event.thread_id
                case Answered() | Refused():
                    ended = event.answer
        assert ended is not None, "a turn ends with an answer or a refusal"
        if self.answered:
            await self.answered(ended)
        return self._told(ended, session)

    async def _several(self, runner: OperationRunner[Resources], given: Mapping[str, Any]) -> tuple[str, ...]:
        """Several books, of those that the caller may use."""
        if both := [name for name in ("book", "session") if name in given]:
            raise InvalidInput(f"The argument 'books' cannot be sent with '{both[0]}': leave out one of the two.")
        return choose_several({state.book_id for state in await self._states(runner)}, given["books"])

    def _told(self, answer: Answer, session: str) -> ToolOutput:
        link = link_to(answer.book_id, self.base_url)
        text = to_markdown(answer, link)
        sources = [
            {
                "number": one.label,
                "title": title_of_source(one),
                "url": link(one),
                "quotes": [
                    {"quote": said.quote, "where": place_of_quote(said)} for said in quotes_of(answer, one.label) or [one]
                ],
            }
            for one in answer.citations
        ]
        nearest = [{"title": " › ".join((one.page_title, *one.heading_path)), "url": link(one)} for one in answer.nearest]
        structured = {
            "answer": text,
            "refused": answer.refused,
            "reason": answer.reason,
            "confidence": answer.confidence.confidence_level,
            "sources": sources,
            "nearest": nearest if answer.refused else [],
            "book": answer.book_id,
            "books": [{"book": one.book_id, "title": one.title, "answers": one.answers} for one in answer.books],
            "session": session,
        }
        return ToolOutput(text=f"{text}\n\nsession: {session}", structured=structured)

    async def _search(self, runner: OperationRunner[Resources], given: Mapping[str, Any]) -> ToolOutput:
        book = await self._book(runner, given.get("book"))
        found = await book.search(given["query"], limit=_limit(given.get("limit")))
        return _json({"results": [self._result(book.book_id, one) for one in found.results]})

    async def _passage(self, runner: OperationRunner[Resources], id: str, *, around: bool) -> ToolOutput:
        """`id` is BOOK/CHUNK, as search gives it; where there is one book, CHUNK will do."""
        book_id, _, chunk_id = id.rpartition("/")
        book = await self._book(runner, book_id or None)
        context = await book.context(chunk_id)
        if not around:
            return _json(self._fetched(book.book_id, context.chunk))
        parts = {"before": context.prev, "passage": context.chunk, "after": context.next}
        return _json({name: self._fetched(book.book_id, chunk) if chunk else None for name, chunk in parts.items()})

    async def _lesson(self, runner: OperationRunner[Resources], given: Mapping[str, Any]) -> ToolOutput:
        book = await self._book(runner, given.get("book"))
        lesson = await runner.run(read_lesson_text, book_id=book.book_id, name=given["path"])
        url = self._url(book.book_id, lesson.source_url, None)
        told = {"book": book.book_id, "path": lesson.path, "title": lesson.title, "url": url, "text": lesson.text}
        return ToolOutput(text="\n\n".join(filter(None, (f"{lesson.title} ({lesson.path})", url, lesson.text))), structured=told)

    async def _books(self, runner: OperationRunner[Resources]) -> ToolOutput:
        states = await self._states(runner)
        listed = [{"book": state.book_id, "title": state.title, "language": state.language} for state in states]
        return _json({"books": listed})

    async def _states(self, runner: OperationRunner[Resources]) -> list[IngestionState]:
        return [state for state in await runner.run(list_states) if self.opens(state.book_id)]

    async def _book(self, runner: OperationRunner[Resources], wanted: str | None) -> OpenBook:
        states = await self._states(runner)
        configured = self.book_id or runner.settings.book
        there = {state.book_id for state in states}
        chosen = choose_among(
            states, wanted=wanted, configured=configured if configured in there else None, named_by="the argument 'book'"
        )
        return OpenBook(book_id=chosen, runner=runner)

    def _result(self, book_id: str, one: SearchResult) -> dict[str, Any]:
        return {
            "id": f"{book_id}/{one.id}",
            "title": " › ".join(filter(None, (one.page_title, one.section_title))),
            "url": self._url(book_id, one.source_url, one.section_title),
            "text": one.preface + one.text,
            "path": one.source_file,
            "relevance": None if one.relevance is None else round(one.relevance, 3),
        }

    def _fetched(self, book_id: str, chunk: Chunk) -> dict[str, Any]:
        metadata = {
            "book": book_id,
            "path": chunk.source_file,
            "first_line": chunk.span.first_line,
            "last_line": chunk.span.last_line,
            "before": chunk.prev_chunk_id and f"{book_id}/{chunk.prev_chunk_id}",
            "after": chunk.next_chunk_id and f"{book_id}/{chunk.next_chunk_id}",
        }
        return {
            "id": f"{book_id}/{chunk.id}",
            "title": " › ".join(filter(None, (chunk.page_title, chunk.section_title))),
            "text": chunk.preface + chunk.text,
            "url": self._url(book_id, chunk.source_url, chunk.section_title),
            "metadata": metadata,
        }

    def _url(self, book_id: str, source_url: str, heading: str | None) -> str:
        return web_url(source_url) or page_address(book_id, self.base_url, source_url, heading)


def _checked(tool: BookTool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that were given; null counts as not given."""
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    takes = f"{tool.name} takes {', '.join(tool.arguments) or 'no arguments'}"
    if unknown := sorted(given.keys() - tool.arguments.keys()):
        raise InvalidInput(f"There is no argument '{unknown[0]}': {takes}.")
    if missing := [name for name in tool.required if name not in given]:
        raise InvalidInput(f"The argument '{missing[0]}' is missing: {takes}.")
    for name, value in given.items():
        if tool.arguments[name]["type"] == "string" and not isinstance(value, str):
            raise InvalidInput(f"The argument '{name}' must be a text.")
        if tool.arguments[name]["type"] == "array" and not (
            isinstance(value, list) and value and all(isinstance(one, str) for one in value)
        ):
            raise InvalidInput(f"The argument '{name}' must be a list of texts, and not an empty one.")
    return given


def _limit(given: Any) -> int:
    """Clamps a model's number to the range; anything that is not a number is an error."""
    try:
        return min(MAX_LIMIT, max(1, int(given))) if given is not None else 5
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"The argument 'limit' must be a whole number from 1 to {MAX_LIMIT}.") from error


def _json(told: dict[str, Any]) -> ToolOutput:
    return ToolOutput(text=json.dumps(told, ensure_ascii=False), structured=told)


def read_address(uri: str) -> tuple[str, str]:
    """The book and the path that `book://BOOK/lesson/PATH` names."""
    scheme, _, rest = uri.partition("://")
    book_id, _, path = rest.partition("/lesson/")
    if scheme != "book" or not book_id or not path:
        raise NotFound(f"There is no resource '{uri}'. Lessons are at book://BOOK/lesson/PATH.")
    return book_id, unquote(path)


def lesson_address(book_id: str, path: str) -> str:
    return f"book://{book_id}/lesson/{quote(path)}"
