"""Lines with the file and number they come from, and the ways to select lines of a file: by numbers, by a pair of comments around
them, by words before and after them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

from bythebook.books.model import Reading, SourceMark, SourcePlace

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
ANCHOR = re.compile(
    r"\bANCHOR(?P<end>_END)?:[ \t]*(?P<name>[\w-]+)|8<-+[ \t]*\[[ \t]*(?P<which>start|end)[ \t]*:[ \t]*(?P<section>[\w-]+)"
)
REGION = re.compile(r"#(?P<end>end)?region\b[ \t]*(?P<name>[\w-]*)")
"""What begins or ends a named part: mdBook's and MkDocs' comments; VitePress has those of editors."""


WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludedLine:
    """A line with its end, or a part of one. `exact`: the line is in its file exactly so."""

    text: str
    file: str
    number: int
    exact: bool = True

    def part(self, text: str) -> IncludedLine:
        return replace(self, text=text)

    def written(self, text: str) -> IncludedLine:
        """A line that is in no file and belongs to the place of this one."""
        return replace(self, text=text, exact=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingInclude:
    """An include that could not be read, where it is, and why."""

    file: str
    line: int
    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A lesson with everything that it includes."""

    lines: tuple[IncludedLine, ...]
    missing: tuple[MissingInclude, ...]
    files: frozenset[str]
    """The files that something was included from."""

    @property
    def text(self) -> str:
        return "".join(line.text for line in self.lines)

    @property
    def identity(self) -> bytes:
        """Everything that its readings depend on: the text, and where its lines come from."""
        return "\n".join(f"{line.file}:{line.number}:{line.exact}:{line.text}" for line in self.lines).encode()

    def marks(self) -> tuple[SourceMark, ...]:
        """The place of each line that is not blank."""
        marks, at = [], 0
        for line in self.lines:
            end = at + len(line.text)
            if line.text.strip():
                place = SourcePlace(file=line.file, kind="line", number=line.number, last=line.number)
                marks.append(SourceMark(start=at, end=end, place=place, exact=line.exact))
            at = end
        return tuple(marks)


def put_back(readings: Sequence[Reading], expansion: Expansion) -> tuple[Reading, ...]:
    """Readings of the expanded text, with each mark moved to the file and lines it comes from."""
    origins = [line for line in expansion.lines for _ in line.text.splitlines() or [""]]

    def placed(text: str, mark: SourceMark) -> SourceMark:
        span = origins[mark.place.number - 1 : max(mark.place.number, mark.place.last)]
        span = list(dropwhile(lambda line: not line.exact, span))
        if not span:
            return replace(mark, exact=False)
        own = list(takewhile(lambda line: line.exact and line.file == span[0].file, span))
        place = replace(mark.place, file=own[0].file, number=own[0].number, last=own[-1].number)
        whole = len(own) == len(span) or _words(text[mark.start : mark.end]) in _words("".join(line.text for line in own))
        return replace(mark, place=place, exact=mark.exact and whole)

    return tuple(replace(one, marks=tuple(placed(one.text, mark) for mark in one.marks)) for one in readings)


def _words(text: str) -> str:
    return f" {' '.join(WORD.findall(text))} "


def lines_of(file: str, text: str) -> list[IncludedLine]:
    return [IncludedLine(text=line, file=file, number=number) for number, line in enumerate(LINE.findall(text), start=1)]


def without_anchors(lines: Sequence[IncludedLine]) -> list[IncludedLine]:
    return [line for line in lines if not ANCHOR.search(line.text)]


def anchored(lines: Sequence[IncludedLine], name: str) -> list[IncludedLine]:
    """The lines between the comments that name them; none where there are no such comments."""
    found, inside = [], False
    for line in lines:
        match = ANCHOR.search(line.text) or REGION.search(line.text)
        if match is None:
            found += [line] if inside else []
            continue
        named = match.groupdict()
        ends = bool(named.get("end")) or named.get("which") == "end"
        if (named.get("name") or named.get("section") or name) == name:
            inside = not ends
    return found


def by_ranges(lines: Sequence[IncludedLine], ranges: str, mark: str) -> list[IncludedLine]:
    """`3:9`, `:9`, `3:`, several with commas; where a comma separates the numbers, as in VitePress, one range only."""
    spans = [ranges] if mark == "," else ranges.split(",")
    found: list[IncludedLine] = []
    for span in spans:
        first, between, last = (part.strip() for part in span.partition(mark))
        start = int(first) if first.isdigit() else 1
        end = int(last) if last.isdigit() else len(lines) if between else start
        found += [line for line in lines[max(0, start - 1) : end] if not ANCHOR.search(line.text)]
    return found


def by_options(lines: Sequence[IncludedLine], options: Mapping[str, str]) -> list[IncludedLine]:
    """By the options of docutils' `include` and Sphinx' `literalinclude`."""
    found = list(lines)
    if options.get("lines"):
        found = by_ranges(found, options["lines"], "-")
    first, last = _number(options.get("start-line")), _number(options.get("end-line"))
    found = found[first or 0 : last if last is not None else len(found)]
    if name := options.get("pyobject"):
        found = _python_object(found, name)
    for option, after in (("start-at", 0), ("start-after", 1)):
        if words := options.get(option):
            at = next((number for number, line in enumerate(found) if words in line.text), len(found))
            found = found[at + after :]
    for option, after in (("end-at", 1), ("end-before", 0)):
        if words := options.get(option):
            at = next((number for number, line in enumerate(found) if words in line.text), len(found))
            found = found[: at + after]
    return _dedented(found, options["dedent"]) if "dedent" in options else found


def _number(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"-?\d{1,9}", value) else None


def _python_object(lines: Sequence[IncludedLine], name: str) -> list[IncludedLine]:
    """A class or function with everything indented below it."""
    opening = re.compile(rf"([ \t]*)(?:async[ \t]+def|def|class)[ \t]+{re.escape(name.rpartition('.')[2])}\b")
    for at, line in enumerate(lines):
        if match := opening.match(line.text):
            end = at + 1
            while end < len(lines) and (not lines[end].text.strip() or len(margin(lines[end].text)) > len(match[1])):
                end += 1
            return list(lines[at:end])
    return []


def _dedented(lines: Sequence[IncludedLine], given: str) -> list[IncludedLine]:
    margins = [len(margin(line.text)) for line in lines if line.text.strip()]
    cut = _number(given) or min(margins, default=0)
    return [line.part(line.text[min(cut, len(margin(line.text))) :]) for line in lines]


def margin(text: str) -> str:
    """The blanks that a line begins with."""
    return text[: len(text) - len(text.lstrip(" \t"))]
