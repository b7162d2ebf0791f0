"""`bythebook lesson`: a whole lesson, as the index holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, run_with_library, to_json

if TYPE_CHECKING:
    from bythebook.books.model import Chunk
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.reader import Library


def run(
    name: Annotated[str, typer.Argument(help="The lesson's path in the book, or its parent_doc_id.", show_default=False)],
    book: BookId = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Print a whole lesson. In a terminal it is laid out; in a file or a pipe it is the lesson's Markdown."""

    async def read(library: OperationRunner[Library]) -> list[Chunk]:
        from bythebook.operations.reader import OpenBook

        return await (await OpenBook.choose(library, book)).lesson(name)

    chunks = run_with_library(read, data_dir=data_dir)
    if json:
        typer.echo(to_json(chunks))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console, counted
    from bythebook.cli.output.passage import course, print_markdown

    console = Console(highlight=False)
    first = chunks[0]
    console.print(f"\n[bold]{escape(first.page_title)}[/]")
    console.print(course(first))
    console.print(
        f"[dim]{escape(first.source_file)} · {counted(len(chunks), 'chunk')} · {first.source_url.partition('#')[0]}[/]\n"
    )
    if console.is_terminal:
        print_markdown(console, "\n".join(chunk.text for chunk in chunks))
        return
    for chunk in chunks:
        console.print(chunk.text + "\n", markup=False, soft_wrap=True)
