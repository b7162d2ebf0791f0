"""`bythebook books`: what is on the shelf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, to_json

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.index.state import IngestionState


def run(json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the books, how much of each is in the index, and when it was last brought up to date."""

    async def read(database: Database) -> list[tuple[IngestionState, int]]:
        from bythebook.ingestion.records import Records

        records = Records(database)
        return [(book, len(await records.records(book.book_id, book.collection_name))) for book in await records.books()]

    shelf = run_with_database(read, data_dir=data_dir)
    if json:
        typer.echo(to_json([{**fields_of(state), "lessons": lessons} for state, lessons in shelf]))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if not shelf:
        console.print("There is no book yet. Bring one in with 'bythebook ingest FOLDER', or try 'bythebook demo'.")
        return
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("book", "title"):
        table.add_column(heading)
    for heading in ("lessons", "chunks"):
        table.add_column(heading, justify="right")
    table.add_column("last ingested")
    table.add_column("from", overflow="fold")
    for state, lessons in shelf:
        times = [time for time in (state.last_full_ingest, state.last_incremental_update) if time]
        table.add_row(
            f"[bold]{state.book_id}[/]",
            escape(state.title),
            f"{lessons:,}",
            f"{state.total_chunks:,}",
            max(times).astimezone().strftime("%Y-%m-%d %H:%M") if times else "never",
            escape(state.source_root),
        )
    console.print()
    console.print(table)
