"""Finds code, tables and formulas of a draft in a chunk: line by line, character by character, or not at all."""

from __future__ import annotations

import re

from bythebook.books.markdown import readable

LINE = re.compile(r"[^\r\n]+")
FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
QUOTED = re.compile(r"[ \t]*>[ \t]?")
SEPARATOR = re.compile(r"[\s|:-]*-[\s|:-]*\Z")
CELL = re.compile(r"(?<!\\)\|")


def find_block(text: str, kind: str, source: str, preface: str = "") -> tuple[int, int] | None:
    """The stretch of `source` with the block; None where the source lacks any part of it."""
    if kind == "code":
        return _find_lines([line[0] for line in LINE.finditer(text) if not FENCE.match(line[0])], source)
    if kind == "maths":
        return _find_formula(text.strip().strip("$"), source)
    return _find_rows(text, source, preface) if kind == "table" else None


def _find_lines(lines: list[str], source: str) -> tuple[int, int] | None:
    """Finds every line in the source's order. Lines may be left out, but none changed or added."""
    wanted = [_folded(line) for line in lines if line.strip()]
    places: list[re.Match[str]] = []
    for line in LINE.finditer(source):
        forms = (_folded(line[0]), _folded(QUOTED.sub("", line[0])))
        if len(places) < len(wanted) and wanted[len(places)] in forms and not FENCE.match(line[0]):
            places.append(line)
    if not wanted or len(places) < len(wanted):
        return None
    first = places[0]
    return first.start() + len(first[0]) - len(first[0].lstrip()), places[-1].start() + len(places[-1][0].rstrip())


def _find_formula(formula: str, source: str) -> tuple[int, int] | None:
    letters = [(place, character) for place, character in enumerate(source) if not character.isspace()]
    tight = "".join(formula.split())
    at = "".join(character for _, character in letters).find(tight)
    if not tight or at < 0:
        return None
    return letters[at][0], letters[at + len(tight) - 1][0] + 1


def _find_rows(text: str, source: str, preface: str) -> tuple[int, int] | None:
    """Finds every row among the source's rows. The header may be in the preface of a table that was split."""
    rows = [(line.start(), line.end(), _cells(line[0])) for line in LINE.finditer(source) if "|" in line[0]]
    heads = [_cells(line) for line in preface.splitlines() if "|" in line]
    found = []
    for line in LINE.findall(text):
        if SEPARATOR.match(line):
            continue
        cells = _cells(line)
        match = next(((start, end) for start, end, held in rows if held == cells), None)
        if match:
            found.append(match)
        elif cells not in heads:
            return None
    return (min(start for start, _ in found), max(end for _, end in found)) if found else None


def _cells(line: str) -> tuple[str, ...]:
    return tuple(_folded(readable(cell)) for cell in CELL.split(line.strip().strip("|")))


def _folded(text: str) -> str:
    return " ".join(text.split())
