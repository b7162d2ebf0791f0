"""`bythebook calibration`: how relevance was fitted to a book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, BookId, DataDir, choose_book, run_with_library, to_json

if TYPE_CHECKING:
    from bythebook.errands.fitting import Fitted
    from bythebook.errands.runner import Runner
    from bythebook.grounding.calibration import Calibration
    from bythebook.wiring import Library

WIDTH, HEIGHT = 640, 360


def run(
    book: BookId = None,
    svg: Annotated[Path | None, typer.Option(help="Write the curve to this SVG file.", show_default=False)] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show how relevance was fitted to a book: the method, the questions it was fitted by, and the curve."""

    async def read(library: Runner[Library]) -> Fitted:
        from bythebook.errands.fitting import read_calibration

        return await library.run(read_calibration, book_id=await choose_book(library, book))

    fitted = run_with_library(read, data_dir=data_dir)
    if svg:
        _write(svg, plot(fitted.calibration, fitted.title))
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
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"\n{title}", style="bold", markup=False)
    console.print(f"{calibration.method}\n", style="dim", markup=False)
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    sources = ", ".join(f"{count} {source}" for source, count in calibration.sources.items())
    facts.add_row("fitted by", f"{calibration.answerable} answerable and {calibration.unanswerable} unanswerable questions")
    facts.add_row("", f"[dim]{sources}[/]")
    facts.add_row(
        "tells them apart", f"area under the curve {calibration.auc:.3f}, balanced accuracy {calibration.balanced_accuracy:.1%}"
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


def plot(calibration: Calibration, title: str) -> str:
    """The curve as an SVG of its own, readable on light and dark."""
    from html import escape

    low, high = calibration.anchors[0][0], calibration.anchors[-1][0]
    points = [
        (60 + (logit - low) / (high - low) * (WIDTH - 90), HEIGHT - 50 - level * (HEIGHT - 100))
        for logit, level in calibration.anchors
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0b7285"/>'
        f'<text x="{x:.1f}" y="{y - 10:.1f}" text-anchor="middle">{level:.2f}</text>'
        for (x, y), (_, level) in zip(points, calibration.anchors, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" '
        f'role="img" aria-label="Calibration of {escape(title, quote=True)}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
        f'<text x="20" y="28" font-size="16" font-weight="bold">{escape(title)}</text>'
        f'<polyline points="{line}" fill="none" stroke="#0b7285" stroke-width="2"/>{marks}'
        f'<line x1="60" y1="{HEIGHT - 50}" x2="{WIDTH - 30}" y2="{HEIGHT - 50}" stroke="#868e96"/>'
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 16}" text-anchor="middle">score of the signals ({low:.1f} to {high:.1f})</text>'
        f'<text x="18" y="{HEIGHT / 2}" transform="rotate(-90 18 {HEIGHT / 2})" text-anchor="middle">relevance</text></svg>\n'
    )
