"""Turns Markdown and MDX into text that a person can read. Works on a whole lesson or on one chunk of it, in linear time.

Markup is removed and words are kept: text inside components, tab labels, titles of admonitions, alternative texts, code and
maths.

Sentences are found by rules, in Markdown and in readable text: they end at a full stop that ends one, and at the lines of lists,
tables, headings and code. Their spans are in order, do not overlap, and together cover all that is not space.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from bythebook.books.blocks import (
    CONTAINERS,
    FIGURES,
    FORMULAS,
    NO_TEXT,
    OPTION,
    block_title,
    closes,
    opened,
    options_end,
    title_of,
)
from bythebook.books.inline import readable_inline
from bythebook.books.jsx import ESM_LINE

FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^`\n]*)$")
QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
HEADING = re.compile(r"([ \t]*(?:[-*+][ \t]+)?)(#{1,6})(?=[ \t]|$)")
HEADING_ID = re.compile(r"\{(?::[^{}]*+|[ \t]*+(?:[.#][^{}\s]|[\w-]++=)[^{}]*+|/\*[ \t]*+#[^{}\s]++[ \t]*+\*/)\}\Z")
DEFINITION = re.compile(r"[ \t]{0,3}\[[^\]\n^][^\]\n]*\]:[ \t]*\S+(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\Z")
FOOTNOTE = re.compile(r"[ \t]{0,3}\[\^[^\]\s]+\]:[ \t]*")
COLONS = re.compile(r"[ \t]*:{3,}")
CONTAINER = re.compile(r"([\w:-]*)\}?(?:\[(.*)\]|[ \t](.*))?")
BANGS = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+(?=[\w\"])")
ALERT = re.compile(r"[ \t]*\[!(\w+)\][ \t]*")
TITLE = re.compile(r"""\b(?:title|label)=(?:"([^"]*)"|'([^']*)')""")
NO_LETTER = re.compile(r"[\W_]+")
COMMENT = re.compile(r"[ ]{0,3}%(?:[ \t]|$)")
MATHS = re.compile(r"[ \t]*\$\$")


def readable(markdown: str) -> str:
    """Returns `markdown` as plain text. Paragraphs keep their line breaks; tables become rows of cells joined by " | "."""
    parts: list[str] = []
    prose: list[str] = []
    for is_code, line in _lines(markdown):
        if is_code:
            _flush(prose, parts)
            parts.append(line)
        else:
            prose.append(line)
    _flush(prose, parts)
    return _tidy("\n".join(parts))


def single_spaced(text: str) -> str:
    """The text on one line, with one space between words."""
    return " ".join(text.split())


def letters(text: str) -> str:
    """Only letters and digits, in lower case: two texts with the same letters have the same words, whatever is between them."""
    return NO_LETTER.sub("", text.casefold())


def _tidy(text: str) -> str:
    """Removes spaces at line ends, repeated blank lines, and blank lines at either end."""
    lines: list[str] = []
    for line in text.split("\n"):
        line = line.rstrip()
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).rstrip()


def first_heading(source: str) -> str | None:
    """Returns the text of the first level-one heading outside code, or None."""
    previous, comment_end = "", ""
    for is_code, line in _raw_lines(source):
        opening = line.lstrip()[:4]
        if not comment_end and not is_code:
            comment_end = "-->" if opening == "<!--" else "*/}" if opening[:3] == "{/*" else ""
        if is_code or comment_end:
            comment_end = "" if comment_end in line else comment_end
            previous = ""
            continue
        heading = _heading(line, level=1) if "#" in opening else None
        if heading is None and previous.strip() and set(line.rstrip()) == {"="}:
            heading = previous
        if heading:
            return heading_text(heading) or None
        previous = line
    return None


def heading_text(content: str) -> str:
    """Returns a heading's words, without markup and without `{#id}`."""
    return " ".join(readable_inline(HEADING_ID.sub("", content.rstrip())).split())


def _heading(line: str, *, level: int | None = None) -> str | None:
    """Returns the content of an ATX heading, or None if the line is not one."""
    match = HEADING.match(line)
    if not match or (level is not None and (len(match[2]) != level or match[1].strip() or len(match[1]) > 3)):
        return None
    content = line[match.end() :].strip()
    closed = content.rstrip("#")
    return closed.rstrip() if closed[-1:] in ("", " ", "\t") else content


def _flush(prose: list[str], parts: list[str]) -> None:
    if prose:
        parts.append(readable_inline("\n".join(prose)))
        prose.clear()


def _raw_lines(markdown: str) -> Iterator[tuple[bool, str]]:
    """Yields each line, and whether it is code. Fence lines are left out, except for a title on one."""
    mark, containers, after_options = "", list[str](), 0
    lines = re.split(r"\r\n?|\n", markdown)
    for number, line in enumerate(lines):
        if number < after_options:
            continue
        fence = FENCE.match(line)
        directive = opened(line) if not mark and (fence or COLONS.match(line)) else None
        if mark and closes(line, mark):
            mark = ""
        elif mark:
            yield True, line
        elif containers and closes(line, containers[-1]):
            containers.pop()
            yield False, ""
        elif directive and directive[1] in CONTAINERS | FIGURES:
            containers.append(directive[0])
            after_options = options_end(lines, number + 1)
            yield False, html.escape(title_of(directive[2]), quote=False)
        elif directive and directive[1] in FORMULAS:
            mark, after_options = directive[0], options_end(lines, number + 1)
            yield True, directive[2]
        elif fence:
            mark, after_options = fence[1], options_end(lines, number + 1) if directive else 0
            title = TITLE.search(fence[2])
            quoted = QUOTE.match(line)
            yield False, (quoted[0] if quoted else "") + html.escape((title[1] or title[2] or "") if title else "", quote=False)
        else:
            yield False, line


def _lines(markdown: str) -> Iterator[tuple[bool, str]]:
    previous, in_esm, in_maths, quotes = "", False, False, 0
    for is_code, line in _raw_lines(markdown):
        if is_code:
            margin = re.match(rf"(?:[ \t]{{0,3}}>[ \t]?){{0,{quotes}}}", line)
            yield True, line[margin.end() :] if margin else line
            previous = ""
            continue
        margin = QUOTE.match(line)
        quotes = margin[0].count(">") if margin else 0
        if MATHS.match(line):
            in_maths = not in_maths and line.count("$$") % 2 == 1
        in_esm = bool(line.strip()) and (in_esm or (not previous.strip() and ESM_LINE.match(line) is not None))
        if not in_esm:
            shown = line if in_maths else _line(line, previous)
            if shown is not None:
                yield False, shown
        previous = "" if in_esm else line


def _line(line: str, previous: str) -> str | None:
    """Returns a line of prose without its block markup, or None if it had nothing else."""
    quoted = QUOTE.match(line)
    line = (line[quoted.end() :] if quoted else line).rstrip()
    marks = set(line.replace(" ", "").replace("\t", ""))
    if marks and marks <= set("|:-=*_") and (len(marks) == 1 or (previous.strip() and marks <= set("|:-"))):
        return None
    if DEFINITION.match(line):
        return ""
    heading = _heading(line)
    if heading is not None:
        return f"\n{HEADING_ID.sub('', heading)}\n"
    if NO_TEXT.match(line) or (OPTION.match(line) and _in_directive(previous)) or is_comment(line, previous):
        return ""
    block = block_title(line)
    if block is not None:
        return block
    colons = COLONS.match(line)
    if colons:
        return _container_title(line[colons.end() :].strip(" \t{}"))
    bangs = BANGS.match(line)
    if bangs:
        titles = re.findall(r'"([^"]*)"', line[bangs.end() :])
        return titles[0] if titles else ""
    alert = ALERT.match(line) or FOOTNOTE.match(line)
    line = HEADING_ID.sub("", line[alert.end() :] if alert else line)
    return _row(line) if line.lstrip().startswith("|") else line


def _in_directive(previous: str) -> bool:
    """Whether the line before opens a directive, or is an option of one."""
    return bool(COLONS.match(previous) or OPTION.match(previous))


def is_comment(line: str, previous: str) -> bool:
    """MyST's `% nobody reads this`. Inside a paragraph the sign is one of per cent."""
    return bool(COMMENT.match(line)) and (not previous.strip() or bool(COMMENT.match(previous)))


def _container_title(opening: str) -> str:
    """The title in ":::note[Title]", ":::note Title" and `:::{note title="Title"}`, without the colons and outer braces."""
    given = TITLE.search(opening)
    if given:
        return given[1] or given[2] or ""
    match = CONTAINER.match(opening)
    return title_of((match[2] or match[3] or "").strip()) if match else ""


def _row(line: str) -> str:
    cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return " | ".join(cell.strip() for cell in cells)


OTHER_STOPS = "\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964"
"""Full stops and question marks of scripts that put no space after them, and of Arabic, Urdu and Hindi."""
CLOSERS = "\"'\u201d\u2019\u00bb)\\]\u300d\u300f*_`"
OPENERS = "\"'\u201c\u2018\u00ab([*_`$"
STOP = re.compile(rf"(?<![.!?\u2026])[.!?\u2026]++[{CLOSERS}]*+(?=\s)|[{OTHER_STOPS}]+[{CLOSERS}]*")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
FENCE_LINE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
OWN_LINE = re.compile(
    r"""[ \t]*(?:>[ \t]*)*(?: [-*+][ \t] | \d{1,9}[.)][ \t] | \#{1,6}(?:[ \t]|$) | \| | :{3,} | !!!
    | ={3,}[ \t]*$ | -{3,}[ \t]*$ | \$\$ | <[/A-Za-z] | \{[%{/] )""",
    re.VERBOSE,
)
THREE_WORDS = r".*\b[^\W\d_]{2,} [^\W\d_]{2,} [^\W\d_]{2,}\b"
CODE_LINE = re.compile(rf"[ \t]{{4,}}|\t|\$ |>>> |(?!{THREE_WORDS}).*[;{{}}),][ \t]*$")
"""A line of prose may end with the same characters; three words in a row tell it from code."""
WRAPPED_LINE = re.compile(rf"\s+(?=\S.{{40}})(?=[^\W\d_`*\[\"'(]){THREE_WORDS}")
"""A line of a list's or an admonition's text, indented as code is: words from its beginning on, and long enough to be wrapped."""
ABBREVIATIONS = re.compile(
    r"""e\.?g|i\.?e|cf|vs|al|approx|resp|viz|ca|est|avg|incl|excl|mr|mrs|ms|dr|prof|st|jr|sr|inc|ltd|co|corp|dept|eds
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
        mark = FENCE_LINE.match(line)
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
    return bool(CODE_LINE.match(previous) and CODE_LINE.match(line) and not WRAPPED_LINE.match(previous))


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
