"""`bythebook mcp`: the book for an editor or assistant on this machine that speaks MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bythebook.cli.options import BookId, DataDir, run_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bythebook.operations.runner import OperationRunner
    from bythebook.settings import Settings
    from bythebook.wiring.author import Resources


def run(book: BookId = None, data_dir: DataDir = None) -> None:
    """Serve the books to an editor or assistant by MCP. It speaks over standard input and output."""
    from bythebook.settings import read_settings

    run_async(_serve(read_settings(data_dir=data_dir), book))


async def _serve(settings: Settings, book: str | None) -> None:
    """The index is opened for each call and released again: another editor may have its own `bythebook mcp`, and the author may
    ingest meanwhile. The embedder stays open."""
    import asyncio
    from contextlib import asynccontextmanager

    from bythebook.errors import InvalidInput
    from bythebook.mcp.tools import ToolCaller
    from bythebook.operations.runner import open_runner
    from bythebook.wiring.author import open_resources
    from bythebook.wiring.reader import open_embedder

    try:
        from bythebook.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        raise InvalidInput("The mcp package is not installed. Run: pip install 'bythebook[mcp]'") from error
    embedder = open_embedder(settings)
    loading = asyncio.create_task(embedder.load())  # while the client greets
    one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def library() -> AsyncIterator[OperationRunner[Resources]]:
        opening = open_runner(settings, lambda settings: open_resources(settings, embeds=True, embedder=embedder))
        async with one_at_a_time, opening as runner:
            yield runner

    try:
        await serve_stdio(ToolCaller(library=library, book_id=book))
    finally:
        await asyncio.wait({loading})
        await embedder.close()
