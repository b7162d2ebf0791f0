"""`bythebook audit`: who did what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, to_line

if TYPE_CHECKING:
    from bythebook.database.audit import AuditEntry
    from bythebook.database.engine import Database


def run(
    limit: Annotated[
        int | None, typer.Option(min=1, help="How many. Default: 50, and all with --json.", show_default=False)
    ] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show who did what, newest first. It lists keys, jobs, books, deletions, backups and settings. With --json, an entry on
    each line."""

    async def work(database: Database) -> list[AuditEntry]:
        from bythebook.database.audit import LISTED, AuditLog

        return await AuditLog(database).list(limit=limit or (None if json else LISTED))

    entries = run_with_database(work, data_dir=data_dir)
    if json:
        for entry in entries:
            typer.echo(to_line(fields_of(entry)))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console, print_table, when

    console = Console(highlight=False)
    if not entries:
        console.print("The audit log is empty.")
        return
    rows = [
        (
            when(entry.at),
            escape(entry.actor),
            f"[bold]{entry.action}[/]",
            escape(entry.subject),
            escape(", ".join(f"{name}: {_told(value)}" for name, value in entry.details.items())),
        )
        for entry in entries
    ]
    print_table(console, ("when", "who", "what", "of", "details"), rows)


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
