"""`bythebook doctor`: what is installed here, and whether it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bythebook.cli.options import AsJson, DataDir, run_async, to_json

if TYPE_CHECKING:
    from bythebook.operations.diagnosis import Diagnosis

SIGNS = {"works": "[green]✓[/]", "note": "[yellow]·[/]", "problem": "[red]✗[/]"}


def run(json: AsJson = False, data_dir: DataDir = None) -> None:
    """Check every part of this installation. For each part that does not work, it says what to do."""
    from bythebook.operations.diagnosis import diagnose
    from bythebook.settings import read_settings

    findings = run_async(diagnose(read_settings(data_dir=data_dir)))
    if json:
        typer.echo(to_json(findings))
    else:
        _print(findings)
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


def _print(findings: list[Diagnosis]) -> None:
    from rich.markup import escape

    from bythebook.cli.output.console import Console

    console = Console(highlight=False)
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        line = f"{SIGNS[finding.state]} [bold]{finding.part.ljust(width)}[/]  {escape(finding.told)}"
        console.print(line, soft_wrap=True)
        if finding.remedy:
            console.print(f"  {' ' * width}  [dim]{escape(finding.remedy)}[/]", soft_wrap=True)
