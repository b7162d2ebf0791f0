"""`bythebook lessons`: the lessons of a book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, run_with_database, to_json

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.index.state import IngestionRecord


GAP = 6
"""Columns of the terminal that a table needs besides its texts."""


def run(book: BookId = None, json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the lessons of a book. Each has the name by which 'bythebook lesson' prints it."""
    records = run_with_database(lambda database: _read(database, book, data_dir), data_dir=data_dir)
    if json:
        from bythebook.index.state import record_to_plain

        typer.echo(to_json([record_to_plain(record) for record in records]))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console, plain_table

    console = Console(highlight=False)
    names = max((len(record.source_file) for record in records), default=0)
    titles = max((len(record.title or "") for record in records), default=0)
    if names + titles + GAP > console.width:
        for record in records:
            console.print(f"{escape(record.title or '')}\n  [dim]{escape(record.source_file)}[/]", soft_wrap=True)
        return
    table = plain_table("lesson", "title", whole="lesson")
    for record in records:
        table.add_row(escape(record.source_file), escape(record.title or ""))
    console.print(table)


async def _read(database: Database, book: str | None, data_dir: Path | None) -> list[IngestionRecord]:
    from bythebook.ingestion.records import Records
    from bythebook.operations.reader import choose_among
    from bythebook.settings import read_settings

    states = {state.book_id: state for state in await Records(database).books()}
    chosen = choose_among(states.values(), wanted=book, configured=read_settings(data_dir=data_dir).book, named_by="--book")
    found = await Records(database).records(chosen, states[chosen].collection_name)
    return sorted(found.values(), key=lambda one: one.reading_order)
