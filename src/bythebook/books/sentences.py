"""Splits text into sentences by rule: at a full stop that ends one, and at the lines of lists, tables, headings and code.

Works on Markdown and on readable text. The spans are in order, do not overlap, and together hold all that is not space.
"""

from __future__ import annotations

import re

OTHER_STOPS = "\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964"
"""Full stops and question marks of scripts that put no space after them, and of Arabic, Urdu and Hindi."""
CLOSERS = "\"'\u201d\u2019\u00bb)\\]\u300d\u300f*_`"
OPENERS = "\"'\u201c\u2018\u00ab([*_`$"
STOP = re.compile(rf"(?<![.!?\u2026])[.!?\u2026]++[{CLOSERS}]*+(?=\s)|[{OTHER_STOPS}]+[{CLOSERS}]*")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
OWN_LINE = re.compile(
    r"""[ \t]*(?:>[ \t]*)*(?: [-*+][ \t] | \d{1,9}[.)][ \t] | \#{1,6}(?:[ \t]|$) | \| | :{3,} | !!!
    | ={3,}[ \t]*$ | -{3,}[ \t]*$ | \$\$ | <[/A-Za-z] | \{[%{/] )""",
    re.VERBOSE,
)
CODE_LINE = re.compile(r"[ \t]{4,}|\t|\$ |>>> |.*[;{}),][ \t]*$")
ABBREVIATIONS = re.compile(
    r"""e\.g|i\.e|cf|vs|al|approx|resp|viz|ca|est|avg|incl|excl|mr|mrs|ms|dr|prof|st|jr|sr|inc|ltd|co|corp|dept|eds
    |jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|u\.s|u\.k|u\.n|e\.u|ph\.d|m\.sc|b\.sc|a\.m|p\.m""",
    re.VERBOSE | re.IGNORECASE,
)
BEFORE_NUMBERS = re.compile(
    r"nos?|figs?|eqs?|secs?|ch|chap|tab|vols?|pp?|ex|def|thm|lem|prop|cor|refs?|ed|min|max", re.IGNORECASE
)
"""Abbreviations only where a number, or a bracket, follows: "Fig. 2", but "The answer is no. Then ..."."""
LIST_INDENT = 20
LAST_WORD = re.compile(r"[\w.]*\Z")


def sentences(text: str) -> list[tuple[int, int]]:
    """Returns the spans of the sentences of `text`."""
    spans: list[tuple[int, int]] = []
    for start, end, is_prose in _passages(text):
        cuts = _ends(text, start, end) if is_prose else []
        for cut in [*cuts, end]:
            _add(spans, text, start, cut)
            start = cut
    return spans


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(stripped)))


def _passages(text: str) -> list[tuple[int, int, bool]]:
    """Stretches that no sentence crosses: paragraphs (prose), and single lines that stand for themselves."""
    passages: list[tuple[int, int, bool]] = []
    fence, begin, at, previous = "", None, 0, ""
    while at < len(text):
        match = LINE.match(text, at)
        end = match.end() if match else len(text)
        line = text[at:end].rstrip("\r\n")
        mark = FENCE.match(line)
        alone = bool(mark or fence) or not line.strip()
        if mark and (not fence or (mark[1][0] == fence[0] and len(mark[1]) >= len(fence))):
            fence = "" if fence else mark[1]
        if begin is not None and (alone or OWN_LINE.match(line) or _stands_alone(previous, line)):
            passages.append((begin, at, True))
            begin = None
        if alone:
            passages.append((at, end, False))
        elif begin is None:
            begin = at
        at, previous = end, line
    if begin is not None:
        passages.append((begin, len(text), True))
    return passages


def _stands_alone(previous: str, line: str) -> bool:
    """Whether a line break between two lines of text ends the sentence: after a heading, a table row, a line of code."""
    if re.match(r"[ \t]*(?:#{1,6}[ \t]|\||:{3,}|!!!|\$\$)", previous):
        return True
    return bool(CODE_LINE.match(previous) and CODE_LINE.match(line))


def _ends(text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in STOP.finditer(text, start, end) if _ends_sentence(text, match, start, end)]


def _ends_sentence(text: str, match: re.Match[str], start: int, end: int) -> bool:
    mark = match[0]
    following = text[match.end() : match.end() + 40].lstrip()
    if mark[0] in OTHER_STOPS or not following or match.end() >= end:
        return True
    first = following.lstrip(OPENERS)[:1]
    if first.islower():
        return mark[0] in "!?" and mark[-1] in "!?"
    if mark[0] != "." or mark.startswith(".."):
        return True
    found = LAST_WORD.search(text[max(start, match.start() - 30) : match.start()])
    word = found[0].strip(".") if found else ""
    if ABBREVIATIONS.fullmatch(word) or (BEFORE_NUMBERS.fullmatch(word) and (first.isdigit() or following[0] in "([$\\")):
        return False
    if (
        word.isdigit()
        and match.start() - len(word) <= start + LIST_INDENT
        and not text[start : match.start() - len(word)].strip()
    ):
        return False
    return not (len(word) == 1 and word.isupper() and first.isupper() and mark == ".")
