"""`bythebook context`: a chunk with the chunks before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, run_with_library, to_json

if TYPE_CHECKING:
    from bythebook.books.model import Chunk
    from bythebook.operations.runner import OperationRunner
    from bythebook.retrieval.context import Context
    from bythebook.wiring.reader import Library


def run(
    chunk_id: Annotated[str, typer.Argument(help="A chunk's id, as shown by 'search --json'.", show_default=False)],
    book: BookId = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show a chunk with its neighbours in the lesson."""

    async def read(library: OperationRunner[Library]) -> Context:
        from bythebook.operations.reader import OpenBook

        return await (await OpenBook.choose(library, book)).context(chunk_id)

    context = run_with_library(read, data_dir=data_dir)
    if json:
        typer.echo(to_json(context))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console
    from bythebook.cli.output.passage import course, where

    console = Console(highlight=False)
    console.print()
    console.print(where(context.chunk))
    console.print(course(context.chunk))
    console.print(f"[dim]{escape(context.chunk.source_file)}, {escape(_stretch(context.chunk))}[/]\n")
    for name, chunk in (("before", context.prev), ("this chunk", context.chunk), ("after", context.next)):
        console.rule(f"[dim]{name}[/]", align="left")
        style = "" if chunk is context.chunk else "dim"
        console.print(chunk.text if chunk else "(the lesson ends here)", style=style, markup=False)


def _stretch(chunk: Chunk) -> str:
    """The chunk's first and last line in the author's file."""
    from bythebook.books.model import where

    if not chunk.marks:
        return f"lines {chunk.span.first_line}-{chunk.span.last_line}"
    first, last = (where(chunk.marks[at].place, lesson=chunk.source_file) for at in (0, -1))
    return first if first == last else f"{first} to {last}"
