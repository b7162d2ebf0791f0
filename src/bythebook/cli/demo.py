"""`bythebook demo`: the sample book, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import run_with_settings

if TYPE_CHECKING:
    from bythebook.operations.runner import OperationRunner
    from bythebook.settings import Settings
    from bythebook.wiring.author import Resources

ANSWERED = "How many services and topics is an action built from?"
REFUSED = "Which wine goes with grilled fish?"
FOLDER = "demo"
"""A folder in the data folder: the sample book has a library of its own and is never among the reader's books."""
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="The sample book goes into 'demo' of this folder. Default: the system's data folder.",
        show_default=False,
    ),
]


def sample_book() -> Path:
    from importlib.resources import files

    return Path(str(files("bythebook") / "sample_book"))


def run(
    data_dir: DataDir = None,
    serve: Annotated[bool, typer.Option("--serve", help="Then serve the page until Ctrl-C.")] = False,
) -> None:
    """Try the program with its sample book. The book is ingested, then asked a question it answers and one it does not."""
    from bythebook.cli.output.console import Console

    console = Console(highlight=False)

    async def show_all(resources: OperationRunner[Resources]) -> None:
        from bythebook.cli.ask import show
        from bythebook.cli.ingest import ingest, print_report
        from bythebook.errors import Mismatch
        from bythebook.ingestion.request import Consent, IngestionRequest
        from bythebook.operations.reader import OpenBook

        moved = Consent(replace=True, remove=True)  # the path changes with every new place that the program is installed at
        try:
            report = await ingest(resources, sample_book(), IngestionRequest(consent=moved))
        except Mismatch:  # the book is the program's own, so nobody need be asked
            console.print("[dim]Another version of this program indexed the sample book; indexing it again.[/]")
            report = await ingest(resources, sample_book(), IngestionRequest(mode="recreate", consent=moved))
        print_report(report)
        opened = OpenBook(book_id=report.book_id, runner=resources)
        for text in (ANSWERED, REFUSED):
            console.print(f'\n[dim]$[/] [bold]bythebook ask[/] "{text}"')
            await show(opened.follow(text, limit=5), quiet=False)

    settings = demo_settings(data_dir)
    run_with_settings(show_all, settings, embeds=True)
    console.print(f'\n[dim]Ask more:[/] bythebook ask "your question" --data-dir {settings.data_dir}', soft_wrap=True)
    console.print('[dim]Your own book:[/] bythebook ingest FOLDER   [dim]then[/]   bythebook ask "your question"')
    if serve:
        console.print()
        _serve(settings)


def demo_settings(data_dir: Path | None) -> Settings:
    """A library of its own, on this machine, whatever servers are configured for the reader's books."""
    from dataclasses import replace

    from bythebook.settings import read_settings

    settings = read_settings(data_dir=data_dir)
    return replace(settings, data_dir=settings.data_dir.expanduser() / FOLDER, qdrant_url=None, database_url=None, book=None)


def _serve(settings: Settings) -> None:
    """Serves on the configured port, or on a free one where that is in use."""
    from dataclasses import replace

    from bythebook.cli.serve import serve
    from bythebook.errors import InvalidSettings
    from bythebook.web.sockets import listen

    try:
        listen(settings.host, settings.port).close()
    except InvalidSettings:
        settings = replace(settings, port=0)
    serve(settings)
