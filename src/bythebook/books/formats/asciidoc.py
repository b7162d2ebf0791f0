"""AsciiDoc, read line by line: headings, paragraphs, lists, listings, boxes and simple tables. Its includes are not read.

A place is a line of the file. Anchors are Asciidoctor's: the id that a heading is given, or one made from its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from bythebook.books.formats.writer import MarkdownWriter, code_span, escaped, subscript, superscript
from bythebook.books.lesson import decode
from bythebook.books.model import Reading, SourcePlace

HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
ATTRIBUTE = re.compile(r":!?\w[^:]*:(\s.*)?$")
BLOCK_ATTRIBUTES = re.compile(r"\[([^\[\]]*+(?:\[[^\[\]]*+\][^\[\]]*+)?)\]$")
ANCHOR = re.compile(r"\[\[([^\],]++)[^\]]*\]\]$|\[#([\w.-]++)[^\]]*\]$")
TITLE = re.compile(r"\.([^\s.].*)")
ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|<\d+>|<\.>)\s+(\S.*)")
TERM = re.compile(r"(\S.*?)(?:::|;;)(?:\s+(\S.*))?$")
ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(\S.*)")
SKIPPED = re.compile(r"//(?!//)|include::|image::|video::|audio::|toc::|ifdef::|ifndef::|endif::|ifeval::|<<<$|'''$|\+$")
FENCES = {"----": "listing", "....": "listing", "```": "listing", "++++": "passed", "////": "comment", "|===": "table"}
UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
BOXES = ("====", "****", "____", "--")
# What is searched for has a length, so that a line of ten thousand beginnings is not read to its end from each of them.
MARKS = (
    (re.compile(r"\b(?:https?|link|mailto|xref)::?[^\s\[]{0,1000}\[([^\]]{0,1000})\]"), r"\1"),
    (re.compile(r"<<[^,<>]*,([^<>]+)>>"), r"\1"),
    (re.compile(r"<<([^<>]+)>>"), r"\1"),
    (re.compile(r"\(\(\(.{0,500}?\)\)\)"), ""),
    (re.compile(r"\(\((.{1,500}?)\)\)"), r"\1"),
    (re.compile(r"(?:footnote|indexterm|image|icon|anchor):[^\s\[]{0,500}\[[^\]]{0,2000}\]|\[\[[^\[\]]*\]\]"), ""),
    (re.compile(r"\b(?:kbd|btn|menu|pass|indexterm2|stem|latexmath):\w*\[([^\]]{0,2000})\]"), r"\1"),
    (re.compile(r"\[[.#][\w.#-]+\](?=[#*_`])"), ""),
    (re.compile(r"\b[a-z]\w*:([\w./+-]+)\[(\d)\]"), r"\1(\2)"),  # a page of a manual: git-log(1)
)
INLINE = re.compile(
    r"(?P<code>``(?P<code2>.+?)``|(?<![\w`])`(?P<code1>[^`\n]+?)`(?![\w`]))|\^(?P<sup>[^\s^]{1,20})\^|~(?P<sub>[^\s~]{1,20})~"
    r"|\*\*(?P<b2>.+?)\*\*|__(?P<i2>.+?)__|(?<![\w*])\*(?P<b1>\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(?P<i1>\S(?:[^_\n]*\S)?)_(?![\w_])"
    r"|##(?P<m2>.+?)##|(?<![\w#])#(?P<m1>\S[^#\n]*?)#(?![\w#])"
)
CALLOUT = re.compile(r"(?<!\s)\s*+(?://|#|;;)?\s*+<(?:\d+|\.)>\s*$")
CELL = re.compile(r"(?:^|\s)(?:\d*\.?\d*[+*])?[<^>]?[aehlmsv]?\|")


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    reader = _LineReader(path, decode(raw, path).splitlines())
    reader.read()
    return reader.out.readings(path)


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    lines = decode(raw, "").splitlines()

    def text(place: SourcePlace) -> str:
        source = "\n".join(lines[place.number - 1 : place.last])
        listing = "\n".join(CALLOUT.sub("", line) for line in lines[place.number - 1 : place.last])
        return f"{source}\0{_bare(source)}\0{listing}"

    return text


def _bare(text: str) -> str:
    """The text without the marks between words."""
    for pattern, said in MARKS:
        text = pattern.sub(said, text)
    return INLINE.sub(lambda match: _literal(next((held for held in match.groups()[1:] if held is not None), match[0])), text)


def inline(text: str) -> str:
    """A stretch of AsciiDoc as Markdown."""
    for pattern, said in MARKS:
        text = pattern.sub(said, text)
    parts, at = [], 0
    for match in INLINE.finditer(text):
        parts.append(escaped(text[at : match.start()]))
        parts.append(_marked(match))
        at = match.end()
    return "".join([*parts, escaped(text[at:])])


def _marked(match: re.Match[str]) -> str:
    if match["code"]:
        return code_span(_literal(match["code1"] or match["code2"]))
    if match["sup"]:
        return superscript(match["sup"])
    if match["sub"]:
        return subscript(match["sub"])
    return inline(next(held for name, held in match.groupdict().items() if held is not None and name[0] in "bim"))


def _literal(code: str) -> str:
    """The text without the plus signs that pass it through unchanged; a text in single plus signs is code."""
    before, after = len(code) - len(code.lstrip("+")), len(code) - len(code.rstrip("+"))
    if not before or not after or not code.strip("+"):
        return code
    return code[min(before, 2) : len(code) - min(after, 2)]


def section_id(words: str) -> str:
    """Asciidoctor's id: an underscore before the words and between them."""
    plain = re.sub(r"[^\w\s.-]", "", words.lower())
    return "_" + re.sub(r"[\s.-]+", "_", plain).strip("_")


@dataclass(slots=True)
class _LineReader:
    path: str
    lines: list[str]
    out: MarkdownWriter = field(default_factory=MarkdownWriter)
    at: int = 0
    anchor: str = ""
    language: str = ""
    style: str = ""
    used: dict[str, int] = field(default_factory=dict)

    def read(self) -> None:
        while self.at < len(self.lines):
            self._block(self.lines[self.at].rstrip())

    def _block(self, line: str) -> None:
        fence = "listing" if len(line) > 3 and set(line) in ({"-"}, {"."}) else FENCES.get(line)
        if self._is_underlined():
            self._heading(line, UNDERLINES[self.lines[self.at + 1][0]])
            self.at += 1
        elif (
            not line.strip()
            or SKIPPED.match(line)
            or ATTRIBUTE.match(line)
            or line in BOXES
            or set(line) in ({"="}, {"*"}, {"_"})
        ):
            self.at += 1
        elif line.startswith("```") or fence is not None:
            self._fenced(line, fence or "listing")
        elif (heading := HEADING.match(line)) is not None:
            self._heading(heading[2], len(heading[1]))
        elif ANCHOR.fullmatch(line) or BLOCK_ATTRIBUTES.fullmatch(line):
            self._attributes(line)
        elif (title := TITLE.fullmatch(line)) is not None and not ITEM.match(line):
            self.out.title(inline(title[1]), self._place(1))
            self.at += 1
        elif ITEM.match(line):
            self._item(line)
        else:
            self._paragraph()

    def _is_underlined(self, at: int | None = None) -> bool:
        """Whether this is a heading of two lines: the second repeats one character about as often as the first has letters."""
        place = self.at if at is None else at
        if place + 1 >= len(self.lines):
            return False
        line, under = self.lines[place].rstrip(), self.lines[place + 1].rstrip()
        alone = len(under) > 1 and len(set(under)) == 1 and under[0] in UNDERLINES
        words = bool(re.search(r"\w", line)) and line[:1] not in " .|[" and not ITEM.match(line)
        return (
            alone
            and words
            and abs(len(under) - len(line)) < 3
            and (not place or not self.lines[place - 1].strip() or self.lines[place - 1][:1] in "[:.")
        )

    def _heading(self, words: str, level: int) -> None:
        own = self.anchor or section_id(_bare(words))
        self.used[own] = self.used.get(own, 0) + 1
        anchor = own if self.used[own] == 1 else f"{own}_{self.used[own]}"
        self.out.heading(level, inline(words), self._place(1), anchor)
        self.anchor = self.language = self.style = ""
        self.at += 1

    def _attributes(self, line: str) -> None:
        anchor = ANCHOR.fullmatch(line)
        if anchor:
            self.anchor = anchor[1] or anchor[2]
        else:
            parts = [part.strip().strip('"') for part in line.strip("[]").split(",")]
            self.style = parts[0]
            self.language = parts[1] if parts[0] in ("source", "") and len(parts) > 1 and "=" not in parts[1] else ""
        self.at += 1

    def _fenced(self, line: str, kind: str) -> None:
        closing = "```" if line.startswith("```") else line
        end = next((at for at in range(self.at + 1, len(self.lines)) if self.lines[at].rstrip() == closing), len(self.lines))
        held, start = self.lines[self.at + 1 : end], self.at + 1
        place = SourcePlace(file=self.path, kind="line", number=start + 1, last=max(start + 1, end))
        if kind == "table":
            self._table(held, start)
        elif kind == "passed" and self.style in ("stem", "latexmath", "asciimath"):
            self.out.maths("\n".join(held), place)
        elif kind == "listing":
            language = self.language or (line[3:].strip() if line.startswith("```") else "")
            self.out.code("\n".join(CALLOUT.sub("", one) for one in held), language, place)
        self.language = self.style = ""
        self.at = end + 1

    def _table(self, held: list[str], start: int) -> None:
        """A row per line, or a cell per line with blank lines between rows."""
        rows: list[tuple[list[str], SourcePlace]] = []
        fresh = True
        width = 0
        for number, line in enumerate(held, start=start + 1):
            cells = [inline(one.strip()) for one in CELL.split(line)[1:]] if "|" in line else []
            place = SourcePlace(file=self.path, kind="line", number=number, last=number)
            if not line.strip():
                fresh = True
            elif cells and (fresh or len(cells) > 1 or (width and len(rows[-1][0]) >= width)):
                rows.append((cells, place))
                fresh = False
            elif rows:
                rows[-1][0].extend(cells)
            if len(rows) == 2 and not width:
                width = len(rows[0][0])
        self.out.table(rows)

    def _item(self, line: str) -> None:
        match = ITEM.match(line)
        assert match
        depth = len(match[1]) - 1 if match[1][0] in "*." else 0
        mark = "1. " if match[1][0] in "." or match[1][0].isdigit() or match[1][0] == "<" else "- "
        first, words = self.at, [match[2]]
        self.at += 1
        while self.at < len(self.lines) and self._goes_on(self.lines[self.at]):
            words.append(self.lines[self.at].strip())
            self.at += 1
        place = SourcePlace(file=self.path, kind="line", number=first + 1, last=self.at)
        with self.out.indented("  " * depth + mark, "  " * depth + " " * len(mark)):
            self.out.paragraph(inline(" ".join(words)), place)

    def _paragraph(self) -> None:
        first, words = self.at, list[str]()
        while self.at < len(self.lines) and (not words or self._goes_on(self.lines[self.at])):
            words.append(self.lines[self.at].strip().removesuffix(" +"))
            self.at += 1
        text = " ".join(words)
        term = TERM.fullmatch(words[0]) if len(words) == 1 or TERM.match(words[0]) else None
        place = SourcePlace(file=self.path, kind="line", number=first + 1, last=self.at)
        if term and "http" not in words[0]:
            self.out.title(inline(term[1]), SourcePlace(file=self.path, kind="line", number=first + 1, last=first + 1))
            text = " ".join([term[2] or "", *words[1:]]).strip()
        elif named := ADMONITION.fullmatch(text):
            text = named[2]
        if text and self.lines[first][:1] == " " and not self.style:
            self.out.code("\n".join(self.lines[first : self.at]), "", place)
        elif text:
            self.out.paragraph(inline(text), place)
        self.style = ""

    def _goes_on(self, line: str) -> bool:
        bare = line.rstrip()
        ends = (
            not bare
            or bare in FENCES
            or bare in BOXES
            or bare == "+"
            or (len(bare) > 3 and set(bare) in ({"-"}, {"."}, {"="}, {"*"}, {"_"}))
        )
        return not ends and not ITEM.match(bare) and not BLOCK_ATTRIBUTES.fullmatch(bare) and not SKIPPED.match(bare)

    def _place(self, count: int) -> SourcePlace:
        return SourcePlace(file=self.path, kind="line", number=self.at + 1, last=self.at + count)
