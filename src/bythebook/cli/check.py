"""`bythebook check`: is the index what it should be?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bythebook.cli.options import AsJson, BookOrAll, DataDir, run_with_resources, to_json

if TYPE_CHECKING:
    from bythebook.cli.output.console import Console
    from bythebook.ingestion.integrity import Inspection
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources

PROBLEMS_SHOWN = 5


def run(book: BookOrAll = None, json: AsJson = False, data_dir: DataDir = None) -> None:
    """Check the index of one book, or of all. Every invariant is verified, and what is broken is named."""

    async def look(resources: OperationRunner[Resources]) -> list[Inspection]:
        from bythebook.operations.author import inspect

        return await resources.run(inspect, book_id=book)

    inspections = run_with_resources(look, data_dir=data_dir)
    if json:
        typer.echo(to_json(inspections))
    else:
        for inspection in inspections:
            _print(inspection)
    if any(inspection.problems for inspection in inspections):
        raise typer.Exit(1)


def _print(inspection: Inspection) -> None:
    from itertools import groupby

    from rich.markup import escape

    from bythebook.cli.output.console import Console, counted

    console = Console(highlight=False)
    size = f"{counted(inspection.lessons, 'lesson')}, {counted(inspection.chunks, 'chunk')}"
    if not inspection.problems:
        console.print(f"[green]✓[/] [bold]{inspection.book_id}[/]  {size}: every invariant holds")
        _print_places(console, inspection)
        return
    console.print(f"[red]✗[/] [bold]{inspection.book_id}[/]  {size}: {counted(len(inspection.problems), 'problem')}")
    for rule, group in groupby(inspection.problems, key=lambda problem: problem.rule):
        problems = list(group)
        console.print(f"\n  {len(problems):,} × violated: [bold]{rule}[/]")
        for problem in problems[:PROBLEMS_SHOWN]:
            console.print(f"    {escape(problem.source_file or 'the book')}: {escape(problem.detail)}", soft_wrap=True)
        if len(problems) > PROBLEMS_SHOWN:
            console.print(f"    [dim]and {len(problems) - PROBLEMS_SHOWN:,} more; --json lists them all[/]")
    _print_places(console, inspection)
    console.print("\n  Repair it with: bythebook ingest FOLDER --mode full")


def _print_places(console: Console, inspection: Inspection) -> None:
    from rich.markup import escape

    if inspection.words_read:
        share = 100 * inspection.words_exact / inspection.words_read
        console.print(f"  {share:.1f} % of {inspection.words_read:,} words are in the author's files, character for character")
    for file in inspection.changed_files:
        told = "is gone or has changed since it was ingested, or this version reads it differently"
        console.print(f"  {escape(file)} {told}; run: bythebook ingest FOLDER", soft_wrap=True)
