"""What a reader makes of an author's file: Markdown text, and marks that say where each piece of it stands in that file.

Everything behind works on the text as on a lesson that was written in Markdown. For one that was, the text is the file itself
and there are no marks: places are lines.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

IGNORED = re.compile("[\\s|^\N{SOFT HYPHEN}\ufffe\u200b]+")
PlaceKind = Literal["line", "cell", "page", "element", "paragraph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlace:
    """A place in an author's file, in the terms of its format. `number` counts from 1 what `kind` names."""

    file: str
    kind: PlaceKind
    number: int
    label: str = ""
    """What the file itself calls it: the label of a page, the id of an element or of a cell."""
    line: int = 0
    """The line within a cell."""
    part: str = ""
    """The file within an archive."""
    first: int = 0
    last: int = 0
    """Characters [first, last) of a page, as PDFium counts them."""

    @property
    def fragment(self) -> str:
        """What follows the # in a link to it, where programs that show such a file know one."""
        if self.kind == "page":
            return f"page={self.number}"
        return self.label if self.kind == "element" and not self.part else ""


def where(place: SourcePlace, *, exact: bool = True, lesson: str = "") -> str:
    """A place in words. Where only its surroundings are known, it says so. What a lesson includes from another file is said to
    stand in that."""
    file = (place.part or place.file).rpartition("/")[2]
    match place.kind:
        case "line":
            words = f"line {place.number}"
            if lesson and place.file != lesson:
                words = f"{place.file.lstrip('./')}, {words}"
        case "cell":
            words = f"cell {place.number}" + (f", line {place.line}" if place.line else "")
        case "page":
            words = f"p. {place.label or place.number}"
        case "element":
            words = f"{file}#{place.label}" if place.label else f"{file}, paragraph {place.number}"
        case "paragraph":
            words = f"paragraph {place.number}"
    return words if exact else f"near {words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMark:
    """Characters [start, end) of a text stand at `place`. `exact`: they are the same there, markup aside, which was verified."""

    start: int
    end: int
    place: SourcePlace
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One lesson as a reader gives it. `marks` are in order and do not overlap; `anchors` has one for each heading, where the
    file has ids of its own."""

    source_file: str
    """What the lesson is called. A file of many lessons gives them names below its own: `book.pdf/04-sorting`."""
    file: str
    """The author's file."""
    text: str
    marks: tuple[SourceMark, ...] = ()
    title: str | None = None
    anchors: tuple[str, ...] | None = None
    warnings: tuple[str, ...] = ()
    url: str | None = None
    """The lesson's own address, where the file says it."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def fold(text: str) -> str:
    """Two texts that fold to the same say the same: spaces, the bars between cells and forms of a letter aside."""
    return IGNORED.sub("", unicodedata.normalize("NFKC", text))


def marks_within(marks: Sequence[SourceMark], start: int, end: int) -> tuple[SourceMark, ...]:
    """The marks of text[start:end], counted from its beginning."""
    first = max(0, bisect_right(marks, start, key=lambda mark: mark.start) - 1)
    last = bisect_left(marks, end, key=lambda mark: mark.start)
    return tuple(
        replace(mark, start=max(mark.start, start) - start, end=min(mark.end, end) - start)
        for mark in marks[first:last]
        if mark.end > start
    )


def mark_at(marks: Sequence[SourceMark], start: int) -> SourceMark:
    """The mark that holds a character, or the last one before it."""
    return marks[max(0, bisect_right(marks, start, key=lambda mark: mark.start) - 1)]


def pack_marks(marks: Sequence[SourceMark]) -> list[list[Any]]:
    """As short as they can be stored: some thirty bytes each. Empty values at the end are left out."""
    packed = []
    for mark in marks:
        place = mark.place
        row = [mark.start, mark.end, int(mark.exact), place.file, place.kind, place.number]
        rest: list[Any] = [place.label, place.line, place.part, place.first, place.last]
        while rest and not rest[-1]:
            rest.pop()
        packed.append(row + rest)
    return packed


def unpack_marks(packed: Iterable[Sequence[Any]]) -> tuple[SourceMark, ...]:
    names = [field.name for field in fields(SourcePlace)]
    return tuple(
        SourceMark(start=start, end=end, exact=bool(exact), place=SourcePlace(**dict(zip(names, place, strict=False))))
        for start, end, exact, *place in packed
    )


def pack_readings(readings: Sequence[Reading]) -> bytes:
    rows = [{**{name.name: getattr(one, name.name) for name in fields(one)}, "marks": pack_marks(one.marks)} for one in readings]
    return zlib.compress(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def unpack_readings(packed: bytes) -> tuple[Reading, ...]:
    """Raises ValueError for what is not a packed reading of this version."""
    try:
        rows = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
        return tuple(
            Reading(
                **{
                    **row,
                    "marks": unpack_marks(row["marks"]),
                    "anchors": None if row["anchors"] is None else tuple(row["anchors"]),
                    "warnings": tuple(row["warnings"]),
                }
            )
            for row in rows
        )
    except (zlib.error, TypeError, KeyError) as error:
        raise ValueError(str(error)) from error
