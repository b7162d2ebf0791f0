"""`bythebook demo`: the sample book, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.cli.options import DataDir, run_with_resources

if TYPE_CHECKING:
    from bythebook.wiring import Resources

ANSWERED = "How many services and topics is an action built from?"
REFUSED = "How long should sourdough rise in the fridge?"


def sample_book() -> Path:
    from importlib.resources import files

    return Path(str(files("bythebook") / "sample_book"))


def run(data_dir: DataDir = None) -> None:
    """Ingest the sample book, ask it a question it answers and one it does not."""
    from rich.console import Console

    console = Console(highlight=False)

    async def show_all(resources: Resources) -> None:
        from bythebook.cli.ask import show
        from bythebook.cli.ingest import IngestMode, ingest, print_report
        from bythebook.retrieval.query import SearchQuery
        from bythebook.turn import Question

        report = await ingest(resources, sample_book(), mode=IngestMode.incremental)
        print_report(report)
        query = SearchQuery(text="standing in for the question", book_id=report.book_id, hardware_tier_filter=None)
        for text in (ANSWERED, REFUSED):
            console.print(f'\n[dim]$[/] [bold]bythebook ask[/] "{text}"')
            await show(resources, Question(text=text, query=query), quiet=False)

    run_with_resources(show_all, data_dir=data_dir, embeds=True)
    console.print('\n[dim]Now yours:[/] bythebook ingest FOLDER   [dim]then[/]   bythebook ask "your question"')
