"""The console that commands print on, and its plainest forms: tables without lines, times, counts. Text of a book or a reader
brings no control characters to the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from bythebook.cli import CONTROL, printable

if TYPE_CHECKING:
    from rich.table import Table


WIDEST = 10_000


class Console(RichConsole):
    """Rich's console, with control characters in texts replaced; its own styles and cursor movements are not texts. When the
    program that reads the output ends (`| head`), the command ends silently."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            harmless = segment.control or not CONTROL.search(segment.text)
            yield segment if harmless else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Rich would exit in the middle of whatever runs, which asyncio reports as an error of its own."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def plain_table(*headings: str, whole: str | None = None) -> Table:
    """A table whose columns fold rather than cut their text; the column `whole` does neither, because an id is there to be
    copied."""
    from rich.table import Table  # most commands print none

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == whole)
    return table


def print_table(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints rows of markup as a table where the terminal has room for it; else each row by itself, its first cell above the
    others, so that no id, name or time is broken."""
    from rich.measure import Measurement
    from rich.padding import Padding

    table = plain_table(*headings)
    for row in rows:
        table.add_row(*row)
    console.print()
    if Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum <= console.width:
        console.print(table)
        return
    for first, *others in rows:
        console.print(f"[dim]{headings[0]}[/] {first}")
        named = zip(headings[1:], others, strict=True)
        said = (f"[dim]{heading}[/] {cell}" if heading else cell for heading, cell in named if cell)
        console.print(Padding(" · ".join(said), (0, 0, 0, 2)))


def when(moment: datetime | None) -> str:
    """The time in the time zone of this machine."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else "never"


def counted(number: int, one: str) -> str:
    """A number and what it counts, in the singular or the plural."""
    return f"{number:,} {plural(number, one)}"


def plural(number: int, one: str) -> str:
    """The noun alone, for a column beside its number."""
    return one if number == 1 else f"{one}s"
