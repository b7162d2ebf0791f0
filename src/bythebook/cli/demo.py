"""`bythebook demo`: the sample book, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.cli.options import DataDir, run_with_resources

if TYPE_CHECKING:
    from bythebook.index.progress import Report
    from bythebook.retrieval.query import SearchQuery, SearchResponse
    from bythebook.wiring import Resources

QUESTION = "How does a node tell others that a message arrived too late?"


def sample_book() -> Path:
    from importlib.resources import files

    return Path(str(files("bythebook") / "sample_book"))


def run(data_dir: DataDir = None) -> None:
    """Ingest the sample book and search it."""
    from rich.console import Console

    from bythebook.cli.ingest import IngestMode, ingest, print_report
    from bythebook.cli.search import print_response

    async def show(resources: Resources) -> tuple[Report, SearchQuery, SearchResponse, str]:
        from bythebook.retrieval.query import SearchQuery

        report = await ingest(resources, sample_book(), mode=IngestMode.incremental)
        query = SearchQuery(text=QUESTION, book_id=report.book_id, hardware_tier_filter=4, limit=3)
        state = await resources.search.book(report.book_id)
        return report, query, await resources.search.search(query), state.language

    report, query, response, language = run_with_resources(show, data_dir=data_dir)
    print_report(report)
    console = Console(highlight=False)
    console.print(f'\n[dim]$[/] bythebook search "{QUESTION}" --tier 4 --limit 3')
    print_response(query, response, language, response.total_found)
    console.print('[dim]Now yours:[/] bythebook ingest FOLDER   [dim]then[/]   bythebook search "your question"')
