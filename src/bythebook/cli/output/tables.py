"""Tables as the commands print them: columns without lines."""

from __future__ import annotations

from datetime import datetime

from rich.table import Table


def plain_table(*headings: str, whole: str | None = None) -> Table:
    """What stands in a column is folded rather than cut; in the column `whole`, neither: an id is there to be copied."""
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 3, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == whole)
    return table


def when(moment: datetime | None) -> str:
    """In the time of this machine."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else "never"


def counted(number: int, one: str) -> str:
    """A number and what it counts, in the singular or the plural."""
    return f"{number:,} {plural(number, one)}"


def plural(number: int, one: str) -> str:
    """What is counted alone, for a column beside its number."""
    return one if number == 1 else f"{one}s"
