"""`bythebook calibration`: how relevance was fitted to a book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, choose_book, run_with_library, to_json

if TYPE_CHECKING:
    from bythebook.grounding.calibration import Calibration
    from bythebook.operations.author import Fitted
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.reader import Library

WIDTH, HEIGHT = 680, 360
LEFT, RIGHT, TOP, BOTTOM = 72, 590, 52, 310
LEVELS = {0.0: "", 0.3: "may answer", 0.6: "low", 0.75: "medium", 0.85: "high", 1.0: ""}
"""Documents A's and E's thresholds, each with the level that begins there."""


def run(
    book: BookId = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve into this SVG file.", show_default=False)] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show how relevance was fitted to a book. You see the method, the questions that were used, and the curve."""
    from bythebook.errors import InvalidInput

    if plot and plot.suffix.lower() != ".svg":
        raise InvalidInput(f"The curve is drawn as SVG, not as '{plot.suffix or plot.name}': name a file that ends with .svg.")

    async def read(library: OperationRunner[Library]) -> Fitted:
        from bythebook.operations.author import read_calibration

        return await library.run(read_calibration, book_id=await choose_book(library, book))

    fitted = run_with_library(read, data_dir=data_dir)
    if plot:
        _write(plot, drawing(fitted.calibration, fitted.title))
    if json:
        typer.echo(to_json(fitted.calibration.to_dict()))
    else:
        _print(fitted.title, fitted.calibration)


def _write(path: Path, picture: str) -> None:
    from bythebook.errors import InvalidInput

    try:
        path.write_text(picture, "utf-8")
    except OSError as error:
        raise InvalidInput(f"The curve cannot be written to {path} ({error.strerror}); name another file.") from error


def _print(title: str, calibration: Calibration) -> None:
    from rich.table import Table

    from bythebook.cli.output.console import Console

    console = Console(highlight=False)
    console.print(f"\n{title}", style="bold", markup=False)
    console.print(f"{calibration.method}\n", style="dim", markup=False)
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    sources = ", ".join(f"{count} {source}" for source, count in calibration.sources.items())
    facts.add_row("fitted on", f"{calibration.answerable} answerable and {calibration.unanswerable} unanswerable questions")
    facts.add_row("", f"[dim]{sources}[/]")
    facts.add_row(
        "separation", f"area under the curve {calibration.auc:.3f}, balanced accuracy {calibration.balanced_accuracy:.1%}"
    )
    console.print(facts)
    signals = Table(box=None, header_style="dim", padding=(0, 2, 0, 2))
    signals.add_column("signal")
    signals.add_column("weight", justify="right")
    signals.add_column("")
    largest = max(abs(weight) for weight in calibration.coefficients) or 1.0
    for name, weight in zip(calibration.names, calibration.coefficients, strict=True):
        signals.add_row(
            name.replace("_", " "),
            f"{weight:+.2f}",
            ("[cyan]" if weight > 0 else "[red]") + "█" * round(24 * abs(weight) / largest),
        )
    console.print(signals)
    console.print("\n  [dim]score → relevance[/]")
    low, high = calibration.anchors[0][0], calibration.anchors[-1][0]
    for logit, level in calibration.anchors:
        bar = "─" * round(48 * (logit - low) / (high - low))
        console.print(f"  {logit:+7.2f} [dim]{bar}[/]● {level:.2f}")


def drawing(calibration: Calibration, title: str) -> str:
    """Returns the curve as an SVG document, with the confidence levels."""
    from html import escape

    low, high = calibration.anchors[0][0], calibration.anchors[-1][0]

    def place(logit: float, level: float) -> tuple[float, float]:
        return LEFT + (logit - low) / (high - low) * (RIGHT - LEFT), BOTTOM - level * (BOTTOM - TOP)

    levels = "".join(
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#ced4da" stroke-dasharray="3 4"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{level:.2f}</text>'
        f'<text x="{RIGHT + 8}" y="{y + 4:.1f}">{name}</text>'
        for (_, y), level, name in ((place(low, level), level, name) for level, name in LEVELS.items())
    )
    points = [place(logit, level) for logit, level in calibration.anchors]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0b7285"/>' for x, y in points)
    ends = "".join(
        f'<text x="{x}" y="{BOTTOM + 20}" text-anchor="middle">{logit:+.1f}</text>' for x, logit in ((LEFT, low), (RIGHT, high))
    )
    name = escape(title, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" '
        f'fill="#212529" role="img" aria-label="Calibration of {name}"><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
        f'<text x="20" y="28" font-size="16" font-weight="bold">{name}</text>{levels}'
        f'<line x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}" stroke="#868e96"/>{ends}'
        f'<polyline points="{line}" fill="none" stroke="#0b7285" stroke-width="2"/>{marks}'
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 36}" text-anchor="middle">score of the signals</text>'
        f'<text transform="translate(16 {(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">relevance</text></svg>\n'
    )
