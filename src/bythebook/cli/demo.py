"""`bythebook demo`: the sample book, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import DataDir, run_with_resources, search_query

if TYPE_CHECKING:
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources

ANSWERED = "How many services and topics is an action built from?"
REFUSED = "Which wine goes with grilled fish?"


def sample_book() -> Path:
    from importlib.resources import files

    return Path(str(files("bythebook") / "sample_book"))


def run(
    data_dir: DataDir = None,
    serve: Annotated[bool, typer.Option("--serve", help="Then serve the page, until Ctrl-C.")] = False,
) -> None:
    """Ingest the sample book, ask it a question it answers and one it does not."""
    from rich.console import Console

    console = Console(highlight=False)

    async def show_all(resources: OperationRunner[Resources]) -> None:
        from bythebook.answering.question import Question
        from bythebook.cli.ask import show
        from bythebook.cli.ingest import IngestMode, ingest, print_report
        from bythebook.errors import Mismatch
        from bythebook.operations.turns import answer

        try:
            report = await ingest(resources, sample_book(), mode=IngestMode.incremental)
        except Mismatch:  # the book is the program's own, so nobody need be asked
            console.print("[dim]The sample book was indexed by another version of this program: indexing it anew.[/]")
            report = await ingest(resources, sample_book(), mode=IngestMode.recreate)
        print_report(report)
        query = search_query(report.book_id, limit=5)
        for text in (ANSWERED, REFUSED):
            console.print(f'\n[dim]$[/] [bold]bythebook ask[/] "{text}"')
            await show(resources.follow(answer, question=Question(text=text, query=query)), quiet=False)

    run_with_resources(show_all, data_dir=data_dir, embeds=True)
    console.print('\n[dim]Now yours:[/] bythebook ingest FOLDER   [dim]then[/]   bythebook ask "your question"')
    if serve:
        console.print()
        _serve(data_dir)


def _serve(data_dir: Path | None) -> None:
    """On the configured port, or on a free one where that is taken."""
    from bythebook.cli import serve
    from bythebook.errors import InvalidSettings
    from bythebook.settings import read_settings
    from bythebook.web.sockets import listen

    settings = read_settings(data_dir=data_dir)
    try:
        listen(settings.host, settings.port).close()
    except InvalidSettings:
        serve.run(data_dir=data_dir, port=0)
    else:
        serve.run(data_dir=data_dir)
