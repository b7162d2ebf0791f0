"""What a benchmark gives back, and how it is printed. A table is a value; measuring and printing know nothing of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MET, NOT_MET = "met", "**not met**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text. `note` says how it was measured, and what was left out and why. `pictures` are SVGs by the name of their
    file, which the note refers to under `images/`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    pictures: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of '{self.title}' does not have {len(self.columns)} cells")

    @property
    def missed(self) -> int:
        return sum(NOT_MET in row for row in self.rows)


def verdict(met: bool) -> str:
    return MET if met else NOT_MET


def markdown(table: Table) -> str:
    """Padded, so that it reads as well in a terminal as on a page."""
    widths = [max(len(cell) for cell in column) for column in zip(table.columns, *table.rows, strict=True)]
    lines = [f"## {table.title}", ""]
    if table.rows:
        lines += [_line(table.columns, widths), _line(["-" * width for width in widths], widths)]
        lines += [_line(row, widths) for row in table.rows]
        lines.append("")
    if table.note:
        lines += [table.note, ""]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
