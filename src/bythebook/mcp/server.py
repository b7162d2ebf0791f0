"""The tools as an MCP server, for the protocols of 2025 (sessions) and 2026 (stateless), over stdio or streamable HTTP.

Uses the low-level server of the mcp package, because the other one configures logging by itself. Importing it takes a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from bythebook import __version__
from bythebook.errors import BookError
from bythebook.mcp.tools import TOOLS, ToolCaller, lesson_address, read_address

INSTRUCTIONS = (
    "Answers from textbooks. Use ask for questions: its answer is checked against the book sentence by sentence, and quoted; "
    "show its [1] marks and sources to the reader, and say so when it refuses. Use search, fetch, context and lesson to read "
    "the book yourself."
)
PAGE = 200
"""How many resources one response lists."""
LONGEST_CURSOR = 9
"""Digits."""
HINTS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False, idempotent_hint=True, destructive_hint=False)

HttpManager = StreamableHTTPSessionManager
CallerOf = Callable[[Any], ToolCaller]
"""Identifies the caller from the request of the transport; None over stdio."""
Told = Callable[[Any, BookError], str]
"""Words the error that is sent to the client."""


def make_server(caller_of: CallerOf, told: Told = lambda request, error: str(error)) -> Server[Any]:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=HINTS)
                for tool in TOOLS
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            output = await caller_of(context.request).call(params.name, params.arguments)
        except BookError as error:
            failed = types.TextContent(type="text", text=told(context.request, error))
            return types.CallToolResult(content=[failed], is_error=True)
        content = types.TextContent(type="text", text=output.text)
        return types.CallToolResult(content=[content], structured_content=output.structured)

    async def list_resources(context: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        lessons = await _failing(lambda: caller_of(context.request).lessons(), context.request)
        cursor = params.cursor if params and params.cursor else "0"
        start = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) <= LONGEST_CURSOR else 0
        listed = [
            types.Resource(uri=lesson_address(book_id, path), name=path, mime_type="text/markdown")
            for book_id, path in lessons[start : start + PAGE]
        ]
        more = str(start + PAGE) if start + PAGE < len(lessons) else None
        return types.ListResourcesResult(resources=listed, next_cursor=more)

    async def list_templates(context: Any, params: Any) -> types.ListResourceTemplatesResult:
        lesson = types.ResourceTemplate(
            name="lesson", uri_template="book://{book}/lesson/{+path}", description="A whole lesson.", mime_type="text/markdown"
        )
        return types.ListResourceTemplatesResult(resource_templates=[lesson])

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        async def read() -> types.TextResourceContents:
            lesson = await caller_of(context.request).read_lesson(*read_address(str(params.uri)))
            return types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=lesson.text)

        return types.ReadResourceResult(contents=[await _failing(read, context.request)])

    async def _failing(work: Callable[[], Any], request: Any) -> Any:
        try:
            return await work()
        except BookError as error:
            raise MCPError(types.INVALID_PARAMS, told(request, error)) from error

    return Server(
        "bythebook",
        version=__version__,
        title="By the Book",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def serve_stdio(caller: ToolCaller) -> None:
    """Serves until the client closes the connection."""
    server = make_server(lambda request: caller)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def make_manager(caller_of: CallerOf, told: Told) -> HttpManager:
    """The HTTP transport: without sessions, one response to each request. The Host header is checked before."""
    return HttpManager(make_server(caller_of, told), json_response=True, stateless=True)
