"""Writes the Markdown of a reading, block by block, with a mark for each piece. Only characters that Markdown would take for
markup are escaped: a quote should look as it does in the author's file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from bythebook.books.inline import raised
from bythebook.books.markdown import HEADING_ID
from bythebook.books.model import Reading, SourceMark, SourcePlace

PAIRED = re.compile(r"(?<=\S)[*_]+|[*_]+(?=\S)")
WITHIN_WORD = re.compile(r"(?<=[^\W_])_+(?=[^\W_])")
SIGNS = re.compile(r"\\(?=[^\w\s])|`|<(?=[A-Za-z/!?]|$)|\[(?=\^|[^\[\]]*\][(\[])|~~+|\{(?=\{|/\*|[\"'`])|&(?=#?\w+;)|\$")
ANY_SIGN = re.compile(r"[\\`<\[~{&$*_]")
"""Everything that is escaped contains one of these. Searching for them is quick, and most words have none."""
LINE_START = re.compile(r"(?:#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|\||:{3,}|/{3,}|!{3}|\?{3}|={3}|(?:[-*_]\s*){3,}$|~{3}|\+{3})")
NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
SPACE = re.compile(r"[ \t\r\n\f\v]+")
TICKS = re.compile(r"`+")
Piece = tuple[str, SourcePlace | None, bool]
"""A text, its place, and whether it is there exactly. Text without a place is ours."""
Run = tuple[str, str]
"""A stretch of a paragraph, with its kind: words, code, superscript, subscript, or finished Markdown."""
LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")


def escaped(text: str, *, whole: bool = False) -> str:
    """Words as Markdown that is read as these words, within a line. `whole`: nothing else is in their paragraph, so a character
    that only works in pairs is plain."""
    if not ANY_SIGN.search(text):
        return text
    alone = _signs_alone(text) if whole else set[int]()
    text = SIGNS.sub(lambda match: match[0] if match.start() in alone else f"\\{match[0]}", text)
    if text.count("*") + text.count("_") > 1:
        text = PAIRED.sub(lambda match: _unless_within(text, match), text)
    if end := HEADING_ID.search(text):
        text = f"{text[: end.start()]}\\{end[0]}"
    return text


def _signs_alone(text: str) -> set[int]:
    """Positions of characters that open nothing: a single backtick, and a dollar sign without another after it or just before
    it."""
    tick, dollar = text.find("`"), text.rfind("$")
    found = {tick} if text.count("`") == 1 else set()
    return found if dollar < 0 or "$" in text[max(0, dollar - 2) : dollar] else found | {dollar}


def _unless_within(text: str, match: re.Match[str]) -> str:
    within = WITHIN_WORD.match(text, match.start())
    return match[0] if within else "".join(f"\\{sign}" for sign in match[0])


def code_span(text: str) -> str:
    text = single_spaced(text)
    if "`" not in text:
        return f"`{text}`" if text else ""
    longest = max((len(found[0]) for found in TICKS.finditer(text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def superscript(text: str) -> str:
    """Writes an exponent so that it cannot be read as more digits of its base."""
    plain = raised(text)
    return f"<sup>{escaped(text)}</sup>" if plain.startswith("^") else plain


def subscript(text: str) -> str:
    return text.translate(LOWERED) if re.fullmatch(r"[0-9+-]{1,6}", text) else escaped(text)


def inline_text(runs: Iterable[Run], *, whole: bool = True) -> str:
    """The runs of a paragraph in Markdown. Programs split words into runs arbitrarily, so runs of one kind are joined first.
    `whole`: these are all runs of the paragraph."""
    made = []
    stretches = [(kind, "".join(one for _, one in group)) for kind, group in groupby(runs, key=itemgetter(0))]
    for kind, text in stretches:
        match kind:
            case "words":
                made.append(escaped(text, whole=whole and len(stretches) == 1))
            case "code" if text.strip():
                around = (text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :])
                made.append(f"{around[0]}{code_span(text)}{around[1]}")
            case "superscript":
                made.append(superscript(text))
            case "subscript":
                made.append(subscript(text))
            case _:
                made.append(text)
    return "".join(made)


@dataclass(slots=True)
class MarkdownWriter:
    """Writes Markdown. `marks` and `anchors` are those written so far. Lists and quotations nest by `indented`."""

    parts: list[str] = field(default_factory=list)
    marks: list[SourceMark] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    length: int = 0
    _first: str = ""
    _rest: str = ""

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def readings(self, path: str) -> tuple[Reading, ...]:
        """The file as one lesson; none where nothing was written."""
        if not self.marks:
            return ()
        return (Reading(source_file=path, file=path, text=self.text, marks=tuple(self.marks), anchors=tuple(self.anchors)),)

    @contextmanager
    def indented(self, first: str, rest: str) -> Iterator[None]:
        """What is written inside begins with `first`, and on further lines with `rest`: "- " and "  " for a list item."""
        before, length = (self._first, self._rest), self.length
        self._first, self._rest = self._first + first, self._rest + rest
        yield
        self._first, self._rest = before if self.length == length else (before[1], before[1])

    def heading(self, level: int, text: str, place: SourcePlace, anchor: str = "", *, exact: bool = True) -> None:
        words = single_spaced(text)
        if words:
            self.anchors.append(anchor)
            self._write(f"{'#' * min(level, 6)} ", words.rstrip("#").rstrip() or words, "", place, exact)

    def paragraph(self, text: str, place: SourcePlace, *, exact: bool = True) -> None:
        words = single_spaced(text)
        if words:
            self._write("", _guarded(words), "", place, exact)

    def pieces(self, pieces: Sequence[Piece]) -> None:
        """A paragraph of pieces from several places, such as the lines of a page. The pieces bring their own spaces."""
        written = [(text, place, exact) for text, place, exact in pieces if text]
        while written and not written[0][0].strip():
            written = written[1:]
        if not written:
            return
        written[0] = (_guarded(written[0][0].lstrip()), *written[0][1:])
        self._begin()
        for text, place, exact in written:
            start = self.length + len(text) - len(text.lstrip())
            self._add(text)
            end = self.length - (len(text) - len(text.rstrip()))
            if place and start < end:
                self.marks.append(SourceMark(start=start, end=end, place=place, exact=exact))
        self._end()

    def title(self, text: str, place: SourcePlace, *, exact: bool = True) -> None:
        """Writes the title of a box or a table, which names what follows and says nothing itself."""
        words = single_spaced(text)
        if words.endswith((".", "!", "?", "…")):
            self.paragraph(words, place, exact=exact)
        elif words:
            self._write("**", words, "**", place, exact)

    def code(self, text: str, language: str, place: SourcePlace, *, exact: bool = True) -> None:
        text = text.strip("\n").rstrip()
        if not text.strip():
            return
        fence = _fence(text)
        self._write(f"{fence}{language}\n", text, f"\n{fence}", place, exact)

    def code_lines(self, lines: Sequence[tuple[str, SourcePlace]]) -> None:
        """Code whose lines have places of their own."""
        fence = _fence("\n".join(text for text, _ in lines))
        self._begin()
        self._add(f"{fence}\n")
        for text, place in lines:
            self._add(self._rest + text[: len(text) - len(text.lstrip())])
            start = self.length
            self._add(text.strip())
            if start < self.length:
                self.marks.append(SourceMark(start=start, end=self.length, place=place))
            self._add("\n")
        self._add(f"{self._rest}{fence}")
        self._end()

    def maths(self, formula: str, place: SourcePlace, *, exact: bool = True) -> None:
        words = "\n".join(line.strip() for line in formula.strip().splitlines() if line.strip())
        if words:
            self._write("$$\n", words, "\n$$", place, exact)

    def table(self, rows: Sequence[tuple[Sequence[str], SourcePlace]], *, exact: bool = True) -> None:
        """The first row is the header."""
        width = max((len(cells) for cells, _ in rows), default=0)
        if not width:
            return
        self._begin()
        for number, (cells, place) in enumerate(rows):
            self._add(self._rest if number else "")
            start = self.length
            padded = [*cells, *[""] * (width - len(cells))]
            self._add(f"| {' | '.join(single_spaced(cell).replace('|', chr(92) + '|') for cell in padded)} |")
            self.marks.append(SourceMark(start=start, end=self.length, place=place, exact=exact))
            self._add("\n")
            if number == 0:
                self._add(f"{self._rest}|{' --- |' * width}\n")
        self._add("\n")

    def unmarked(self, line: str) -> None:
        """Writes a line of our own, such as a picture."""
        self._begin()
        self._add(line)
        self._end()

    def _write(self, before: str, text: str, after: str, place: SourcePlace, exact: bool) -> None:
        self._begin()
        self._add(before.replace("\n", f"\n{self._rest}"))
        start = self.length
        self._add(text.replace("\n", f"\n{self._rest}"))
        self.marks.append(SourceMark(start=start, end=self.length, place=place, exact=exact))
        self._add(after.replace("\n", f"\n{self._rest}"))
        self._end()

    def _begin(self) -> None:
        self._add(self._first)
        self._first = self._rest

    def _end(self) -> None:
        self._add(f"\n{self._rest.rstrip()}\n")

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)


def _fence(code: str) -> str:
    """More backticks than stand together in the code."""
    longest = max((len(found[0]) for found in TICKS.finditer(code)), default=0) if "```" in code else 0
    return "`" * max(3, longest + 1)


def single_spaced(text: str) -> str:
    """The text with single spaces, and none around it. Spaces that do not break a line stay what they are."""
    return " ".join(text.split()) if text.isascii() else SPACE.sub(" ", text).strip()


def _guarded(line: str) -> str:
    """Escapes a line that would begin as something else than words."""
    if NUMBERED.match(line):
        return NUMBERED.sub(r"\1\\\2", line, count=1)
    return f"\\{line}" if LINE_START.match(line) else line
