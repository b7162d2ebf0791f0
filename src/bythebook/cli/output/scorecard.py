"""An evaluation in a terminal: figures with their intervals, remarks, and changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from bythebook.cli.output.console import Console

if TYPE_CHECKING:
    from bythebook.evaluation.compare import Change, Comparison, Shift
    from bythebook.evaluation.figures import Figure
    from bythebook.evaluation.report import Report

BAR = 20
ROOM_FOR_BARS = 100
"""Columns of a terminal that leave room for them."""
REMARKS_SHOWN = 8
WORST_SHOWN = 5


def print_report(console: Console, report: Report) -> None:
    held_out, fitted = len(report.scored), len(report.marks) - len(report.scored)
    console.print(f"\n[bold]{escape(report.title)}[/]  [dim]{report.book_id} · {report.model} · {report.embedder}[/]")
    apart = f"; {fitted:,} more were used to fit relevance and are scored separately" if fitted else ""
    console.print(f"[dim]{held_out:,} questions of {escape(report.questions_file)}{apart}[/]\n", soft_wrap=True)
    known = {figure.name: figure for figure in (*report.fitted, *report.times.fitted)}
    with_bars = console.width >= ROOM_FOR_BARS
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 2))
    table.add_column("", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    if with_bars:
        table.add_column("", no_wrap=True)
    table.add_column("95% interval", no_wrap=True, style="dim")
    for heading in ("n", "fitted") if fitted else ("n",):
        table.add_column(heading, justify="right", no_wrap=True, style="dim")
    for group, figures in groupby((*report.held_out, *report.times.held_out), key=lambda figure: figure.group):
        table.add_row(f"[bold]{group}[/]")
        for figure in figures:
            other = known.get(figure.name)
            table.add_row(*_cells(figure, with_bars), *([other.shown if other else ""] if fitted else []))
    console.print(table)
    if report.times.at_once > 1:
        console.print(f"  [dim]latency with {report.times.at_once} questions at once; --at-once 1 measures a single reader[/]")
    _print_wrong(console, report)
    _print_remarks(console, report)


def _cells(figure: Figure, with_bars: bool) -> list[str]:
    bar = [_bar(figure)] if with_bars else []
    return [figure.label, f"[bold]{figure.shown}[/]", *bar, figure.interval, f"{figure.count:,}"]


def _bar(figure: Figure) -> str:
    """A bar of the rate and its interval."""
    if figure.low is None or figure.high is None:
        return ""
    low, high = (round(BAR * share) for share in (figure.low, figure.high))
    return f"[cyan]{'█' * low}[/][dim cyan]{'▒' * (high - low)}[/][dim]{'·' * (BAR - high)}[/]"


def _print_wrong(console: Console, report: Report) -> None:
    wrong = [mark for mark in report.scored if mark.right is False]
    if not wrong:
        return
    console.print(f"\n  [bold]{len(wrong):,} not right[/]")
    for mark in wrong[:WORST_SHOWN]:
        console.print(f"    {escape(mark.id)}  {escape(mark.question)}", soft_wrap=True)
        console.print(f"    [dim]{escape('; '.join(mark.faults))}[/]", soft_wrap=True)
    if len(wrong) > WORST_SHOWN:
        console.print(f"    [dim]and {len(wrong) - WORST_SHOWN:,} more; --html shows them with what was retrieved[/]")


def _print_remarks(console: Console, report: Report) -> None:
    if not report.remarks:
        console.print()
        return
    console.print(f"\n  [yellow]{len(report.remarks):,} remark{'s' if len(report.remarks) != 1 else ''}[/] about the questions")
    for remark in report.remarks[:REMARKS_SHOWN]:
        place = f"line {remark.line}  " if remark.line else ""
        console.print(f"    {place}[dim]{escape(remark.message)}[/]", soft_wrap=True)
    if len(report.remarks) > REMARKS_SHOWN:
        console.print(f"    [dim]and {len(report.remarks) - REMARKS_SHOWN:,} more; --json lists them all[/]")
    console.print()


def print_comparison(console: Console, comparison: Comparison) -> None:
    console.print(f"  [bold]Compared with[/] {escape(comparison.before)}\n", soft_wrap=True)
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 2))
    for heading in ("", "before", "now", "", "may be chance"):
        table.add_column(heading, justify="left" if heading in ("", "may be chance") else "right")
    for shift in comparison.shifts:
        table.add_row(shift.label, f"{shift.before:.3f}", f"{shift.now:.3f}", _arrow(shift), _certainty(shift))
    console.print(table)
    changes = (
        ("better", "green", comparison.better),
        ("worse", "red", comparison.worse),
        ("different", "", comparison.otherwise),
    )
    for name, colour, changed in changes:
        _print_changes(console, name, colour, changed)
    counts = [f"{comparison.same:,} the same"]
    counts += [
        f"{len(ids):,} only {when}" for when, ids in (("before", comparison.only_before), ("now", comparison.only_now)) if ids
    ]
    console.print(f"\n  [dim]{', '.join(counts)}[/]\n")


def _arrow(shift: Shift) -> str:
    moved = shift.now - shift.before
    return "[dim]·[/]" if not moved else f"[{'green' if moved > 0 else 'red'}]{moved:+.3f}[/]"


def _certainty(shift: Shift) -> str:
    if shift.now == shift.before:
        return ""
    how = f"p = {shift.chance:.3f}" if shift.chance is not None else f"95% interval {shift.low:+.3f} to {shift.high:+.3f}"
    return f"{'[bold]no[/]' if shift.certain else 'yes'} [dim]({how})[/]"


def _print_changes(console: Console, name: str, colour: str, changed: Sequence[Change]) -> None:
    if not changed:
        return
    console.print(f"\n  [bold {colour}]{len(changed):,} {name}[/]")
    for change in changed:
        console.print(f"    {escape(change.id)}  {escape(change.question)}", soft_wrap=True)
        console.print(f"    [dim]{escape(change.before)} → {escape(change.now)}[/]", soft_wrap=True)
