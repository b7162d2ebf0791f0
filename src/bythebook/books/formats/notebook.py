"""Jupyter notebooks: Markdown cells as they are, code cells as code. Outputs are not read; pictures that are kept in a cell are
found by their names.

A place is a cell, counted from 1 as Jupyter shows them, its id, and the line in it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bythebook.books.markdown import FENCE
from bythebook.books.model import Reading, SourceMark, SourcePlace
from bythebook.errors import InvalidBook

LF = b"\n"
CONFLICT = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
TICKS = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
NO_TEXT = re.compile("[\x00\ud800-\udfff]")
"""JSON can name characters that cannot be in a text. No database stores them, and a single one would fail the ingestion of the
whole book."""
AGAIN = "open it in Jupyter and save it again"
NOT_OPENED = "restore a copy that opens in Jupyter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell. `kind`: markdown, code, raw, or heading, which only notebooks of version 3 have."""

    kind: str
    text: str
    id: str = ""
    level: int = 1


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    notebook = _load(raw)
    language = _language(notebook)
    text, marks = "", list[SourceMark]()
    for number, cell in enumerate(_cells(notebook), start=1):
        before, after = _around(cell, language, first=number == 1)
        if not cell.text.strip():
            continue
        start = len(text) + len(before)
        text += f"{before}{cell.text}{after}\n\n"
        for line, found in enumerate(LINE.finditer(cell.text), start=1):
            if words := found[0].strip():
                begin = start + found.start() + found[0].index(words)
                place = SourcePlace(file=path, kind="cell", number=number, label=cell.id, line=line)
                marks.append(SourceMark(start=begin, end=begin + len(words), place=place))
    if not text:
        raise InvalidBook("it has no cell with text; write one, or take the notebook out of the book")
    return (Reading(source_file=path, file=path, text=text, marks=tuple(marks)),)


def source_texts(raw: bytes) -> Any:
    lines = [[line[0] for line in LINE.finditer(cell.text)] for cell in _cells(_load(raw))]
    return lambda place: lines[place.number - 1][place.line - 1]


def attachment(raw: bytes, name: str, media_type: str) -> bytes | None:
    """The picture that a cell keeps under this name; None where cells keep different ones under it, because the name does not
    say which."""
    kept = set()
    for cell in _cell_values(_load(raw)):
        attachments = cell.get("attachments")
        held = attachments.get(name) if isinstance(attachments, dict) else None
        data = held.get(media_type) if isinstance(held, dict) else None
        if data is not None:
            kept.add("".join(map(str, data)) if isinstance(data, list) else str(data))
    if len(kept) != 1:
        return None
    with suppress(ValueError):
        return b64decode(kept.pop())
    return None


def _load(raw: bytes) -> Mapping[str, Any]:
    if not raw.strip():
        raise InvalidBook("it is empty; write in it, or take it out of the book")
    try:
        notebook = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidBook(f"it is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise InvalidBook(f"{_broken(raw, error)}, or {NOT_OPENED}") from error
    except RecursionError as error:
        raise InvalidBook(f"it is nested deeper than any notebook; {NOT_OPENED}") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise InvalidBook(f"it is JSON, but not a notebook with cells; {AGAIN}, or rename it")
    return notebook


def _broken(raw: bytes, error: json.JSONDecodeError) -> str:
    """What is wrong and how to repair it: Jupyter cannot open such a file."""
    if found := CONFLICT.search(raw):
        return f"git left a conflict in line {raw.count(LF, 0, found.start()) + 1}; resolve it"
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return "it ends too early, as half of a file does; save or download it again"
    return f"it is not valid JSON (line {error.lineno}: {error.msg}); repair that line"


def _cells(notebook: Mapping[str, Any]) -> Iterator[Cell]:
    for cell in _cell_values(notebook):
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        level = cell.get("level", 1)
        yield Cell(
            kind=str(cell.get("cell_type", "raw")),
            text=NO_TEXT.sub("\ufffd", text),
            id=NO_TEXT.sub("\ufffd", str(cell.get("id", ""))),
            level=level if isinstance(level, int) and 1 <= level <= 6 else 1,
        )


def _cell_values(notebook: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The cells, also of version 3, which has worksheets and headings as cells."""
    sheets = [notebook] if "cells" in notebook else notebook["worksheets"]
    for sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        yield from (cell for cell in cells if isinstance(cell, dict)) if isinstance(cells, list) else ()


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        held = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(held, dict) and re.fullmatch(r"[\w+#-]{1,30}", str(held.get(name, ""))):
            return str(held[name])
    return "python"


def _around(cell: Cell, language: str, *, first: bool) -> tuple[str, str]:
    """What must be added before and after a cell's text to make it Markdown."""
    if cell.kind == "markdown":
        return "", _closing(cell.text)
    if cell.kind == "heading":
        return f"{'#' * cell.level} ", ""
    if cell.kind == "raw" and first and cell.text.startswith("---"):
        return "", ""
    ticks = max((len(found[1]) for found in TICKS.finditer(cell.text)), default=2)
    fence = "`" * (ticks + 1)
    end = "" if cell.text.endswith("\n") else "\n"
    return f"{fence}{language if cell.kind == 'code' else ''}\n", f"{end}{fence}"


def _closing(text: str) -> str:
    """A fence that a Markdown cell leaves open ends with the cell, not with the notebook."""
    mark = ""
    for line in LINE.finditer(text):
        fence = FENCE.match(line[0].rstrip("\r\n"))
        if fence and not mark:
            mark = fence[1]
        elif fence and set(line[0].strip()) == {mark[0]} and len(line[0].strip()) >= len(mark):
            mark = ""
    return f"\n{mark}" if mark else ""
