"""`bythebook evaluate`: scores the tutor on the author's questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, choose_book, fields_of, run_with_library, to_json

if TYPE_CHECKING:
    from bythebook.evaluation.compare import Comparison
    from bythebook.evaluation.files import CaseSet
    from bythebook.evaluation.gates import Miss
    from bythebook.evaluation.report import Report
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.reader import Library


def run(
    questions: Annotated[Path, typer.Argument(help="The questions: JSON lines, SQuAD 2.0 (.json) or CSV.", show_default=False)],
    book: BookId = None,
    html: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report as JSON to this file.", show_default=False)
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="An earlier report (JSON): show what is better or worse.", show_default=False)
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=VALUE", help="Exit 1 when a figure is lower; repeat for several.", show_default=False),
    ] = None,
    fail_on_worse: Annotated[
        bool, typer.Option("--fail-on-worse", help="With --compare: exit 1 when a question that was right is wrong.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.", show_default=False)] = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=64, help="How many questions to ask at once. 1 measures the latency of a single reader.")
    ] = 4,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Score the tutor on the author's questions. Answers, refusals and passages are compared with what the author expects."""
    from bythebook.errors import InvalidInput
    from bythebook.evaluation.compare import compare as compare_reports
    from bythebook.evaluation.files import read_cases
    from bythebook.evaluation.gates import missed, read_gates
    from bythebook.evaluation.report import read_report

    gates = read_gates(fail_under or ())
    if fail_on_worse and not compare:
        raise InvalidInput("--fail-on-worse needs an earlier report; name it with --compare.")
    for path in (html, output):
        if path and not path.absolute().parent.is_dir():  # reported now, not after all questions have been asked
            raise InvalidInput(f"There is no folder {path.parent} to write the report to; name another file.")
    before = read_report(compare) if compare else None
    given = read_cases(questions, limit=limit)
    report = run_with_library(
        lambda library: evaluate_book(library, given, book=book, at_once=at_once, name=questions.name, quiet=json),
        data_dir=data_dir,
        embeds=True,
    )
    comparison = compare_reports(before, report) if before else None
    misses = missed(gates, report.held_out)
    _write_all(report, comparison, html=html, output=output)
    if json:
        typer.echo(to_json({**report.to_plain(), "comparison": comparison and fields_of(comparison)}))
    else:
        _print(report, comparison, misses, written=[path for path in (html, output) if path])
    if misses or (fail_on_worse and comparison and comparison.worse):
        raise typer.Exit(1)


async def evaluate_book(
    library: OperationRunner[Library], given: CaseSet, *, book: str | None, at_once: int, name: str, quiet: bool
) -> Report:
    """Asks all questions, with a progress bar on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from bythebook.cli.output.console import Console
    from bythebook.evaluation.report import CaseDone, Report
    from bythebook.evaluation.run import Manner
    from bythebook.operations.evaluation import evaluate

    settings = library.settings
    book_id = await choose_book(library, book)
    manner = Manner(
        top_k=settings.agent_top_k,
        score_threshold=settings.agent_score_threshold,
        score_scale=settings.score_scale,
        at_once=at_once,
    )
    errors = Console(stderr=True)
    columns = (TextColumn("Asking"), BarColumn(bar_width=32), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=errors, transient=True, disable=quiet or not errors.is_terminal) as bar:
        task, report = bar.add_task("Asking", total=len(given.cases)), None
        async for event in library.follow(evaluate, book_id=book_id, given=given, manner=manner, name=name):
            match event:
                case CaseDone():
                    bar.update(task, completed=event.done)
                case Report():
                    report = event
    assert report is not None, "an evaluation ends with its report"
    return report


def _write_all(report: Report, comparison: Comparison | None, *, html: Path | None, output: Path | None) -> None:
    from bythebook.evaluation.html.page import page

    if output:
        _write(output, to_json(report.to_plain()) + "\n")
    if html:
        _write(html, page(report, comparison))


def _write(path: Path, text: str) -> None:
    from bythebook.errors import InvalidInput

    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InvalidInput(f"The report cannot be written to {path} ({error.strerror}); name another file.") from error


def _print(report: Report, comparison: Comparison | None, misses: list[Miss], *, written: list[Path]) -> None:
    from bythebook.cli.output.console import Console
    from bythebook.cli.output.scorecard import print_comparison, print_report

    console = Console(highlight=False)
    print_report(console, report)
    if comparison:
        print_comparison(console, comparison)
    for path in written:
        console.print(f"  [dim]written[/] {path}", soft_wrap=True)
    for miss in misses:
        console.print(f"  [bold red]✗[/] {miss.message}", soft_wrap=True)
