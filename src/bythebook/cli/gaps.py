"""`bythebook gaps`: what readers asked and the book did not answer, by the section nearest to it; and what they found wrong."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, run_with_database, to_json

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.evaluation.gaps import Gap, WrongAnswer

QUESTIONS_SHOWN = 3


def run(
    book: BookId = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only what was asked since this day.", show_default=False)
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write every question to this CSV file.", show_default=False)] = None,
    issues: Annotated[
        Path | None, typer.Option("--issues", help="Write a Markdown issue per section into this folder.", show_default=False)
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions", help="Write what readers rated wrong to this file, as questions for 'evaluate'.", show_default=False
        ),
    ] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List what readers asked and the book did not answer. Answers at low confidence count too. The list is grouped by section,
    and also has what readers rated wrong."""

    async def read(database: Database) -> tuple[list[Gap], list[WrongAnswer]]:
        from bythebook.evaluation.gaps import read_gaps, read_wrong_answers
        from bythebook.threads.reactions import Reactions
        from bythebook.threads.review import Review

        day = since.astimezone() if since and since.year > 1 else None  # before the first day there is no other
        chosen = await _choose_book(database, book, data_dir)
        wrong = await read_wrong_answers(Reactions(database), chosen, since=day)
        return await read_gaps(Review(database), chosen, since=day), wrong

    gaps, wrong = run_with_database(read, data_dir=data_dir)
    _write_all(gaps, wrong, csv=csv, issues=issues, questions=questions)
    if json:
        listed = [{"times": gap.times, "title": gap.title, "gap": gap} for gap in gaps]
        typer.echo(to_json([*listed, *({"wrong": one} for one in wrong)]))
    else:
        _print(gaps, wrong, [path for path in (csv, issues, questions) if path])


async def _choose_book(database: Database, wanted: str | None, data_dir: Path | None) -> str:
    """Chooses the book as every command does, from the database: no index has to be opened for it."""
    from bythebook.ingestion.records import Records
    from bythebook.operations.reader import choose_among
    from bythebook.settings import read_settings

    configured = read_settings(data_dir=data_dir).book
    return choose_among(await Records(database).books(), wanted=wanted, configured=configured, named_by="--book")


def _write_all(
    gaps: list[Gap], wrong: list[WrongAnswer], *, csv: Path | None, issues: Path | None, questions: Path | None
) -> None:
    from bythebook.errors import InvalidInput
    from bythebook.evaluation.gap_texts import to_csv, to_issues, to_questions

    try:
        if csv:
            csv.write_text(to_csv(gaps), "utf-8")
        if questions:
            questions.write_text(to_questions(wrong), "utf-8")
        if issues:
            issues.mkdir(parents=True, exist_ok=True)
            for name, text in to_issues(gaps):
                (issues / name).write_text(text, "utf-8")
    except OSError as error:
        raise InvalidInput(f"{error.filename} cannot be written ({error.strerror}); name another place.") from error


def _print(gaps: list[Gap], wrong: list[WrongAnswer], written: list[Path]) -> None:
    from rich.markup import escape

    from bythebook.cli.output.console import Console
    from bythebook.evaluation.gap_texts import ENDINGS

    console = Console(highlight=False)
    if not gaps:
        console.print("No gaps: no reader's question was refused or answered with a disclaimer.")
    for gap in gaps:
        console.print(f"\n[bold]{gap.times:>4}[/]  [bold]{escape(gap.title)}[/]", soft_wrap=True)
        if gap.source_url:
            console.print(f"      [blue]{escape(gap.source_url)}[/]", soft_wrap=True)
        for one in gap.questions[:QUESTIONS_SHOWN]:
            often = f"{one.times} × " if one.times > 1 else ""
            ending = ENDINGS.get(one.ended, one.ended)
            console.print(f"      {often}{escape(one.question)} [dim]{ending}, {one.relevance:.2f}[/]", soft_wrap=True)
        if len(gap.questions) > QUESTIONS_SHOWN:
            console.print(f"      [dim]and {len(gap.questions) - QUESTIONS_SHOWN:,} more; --csv and --json list them all[/]")
    if wrong:
        console.print("\n[bold]Found wrong by readers[/]")
    for found in wrong:
        why = f" [dim]{escape(found.reason)}[/]" if found.reason else ""
        console.print(f"      {escape(found.question)}{why}", soft_wrap=True)
        console.print(
            f"      [dim]{'refused' if found.refused else escape(' '.join(found.answer.split())[:160])}[/]", soft_wrap=True
        )
    console.print()
    for path in written:
        console.print(f"  [dim]written[/] {path}", soft_wrap=True)
