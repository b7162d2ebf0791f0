"""The book's Markdown in a terminal: sentences without marks, tables in columns, code as it is typed."""

from __future__ import annotations

import re
import textwrap

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bythebook.books.markdown import readable
from bythebook.cli.output.console import Console

FENCES = ("```", "~~~", "$$")
CELL_ENDS = re.compile(r"(?<!\\)\|")
RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
INDENT = 4
BLOCKS = {"code": "the code above", "table": "the table above", "maths": "the formula above"}
"""What is printed as a block of its own, and how its quote is called: to print it twice helps nobody."""


def plain(markdown: str) -> str:
    """On one line."""
    return " ".join(readable(markdown).split())


def print_block(console: Console, markdown: str) -> None:
    table = _table(markdown)
    if table:
        console.print(Padding(table, (0, 0, 0, INDENT)))
        return
    lines = textwrap.dedent(markdown.strip("\n")).rstrip().split("\n")
    if len(lines) > 1 and lines[0].startswith(FENCES):
        lines = lines[1:-1] if lines[-1].startswith(FENCES) else lines[1:]
    shown = textwrap.indent("\n".join(lines).strip().removeprefix("$$").removesuffix("$$").strip("\n"), " " * INDENT)
    console.print(Text(shown), soft_wrap=True)  # what is broken in two can be neither typed nor copied


def _table(markdown: str) -> Table | None:
    """None for what is no table of pipes."""
    rows = [line for line in markdown.strip().split("\n") if line.strip()]
    if len(rows) < 3 or not RULE.fullmatch(rows[1]) or "|" not in rows[0]:
        return None
    heading, *body = [_cells(row) for row in (rows[0], *rows[2:])]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for cell in heading:
        table.add_column(Text(cell), overflow="fold")
    for cells in body:
        table.add_row(*(Text(cell) for cell in cells[: len(heading)]))
    return table


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [plain(cell.strip().replace("\\|", "|")) for cell in CELL_ENDS.split(inner)]
