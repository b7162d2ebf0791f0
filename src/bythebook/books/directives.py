"""What site generators put between Markdown: directives and roles of MyST, Sphinx and D2L, blocks and snippets of MkDocs. Their
text stays, their marks go."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.books.formulas import plain

LONGEST_OPTIONS = 40
WITH_TEXT = """admonition attention aside card caution corollary danger definition deprecated details dropdown epigraph error
    example exercise glossary grid grid-item grid-item-card hint important lemma margin note prf:definition prf:example prf:lemma
    prf:proof prf:theorem proof proposition remark seealso sidebar solution tab-item tab-set theorem tip todo topic versionadded
    versionchanged warning"""
CONTAINERS = frozenset(WITH_TEXT.split())
"""Directives that hold text of the book."""
WITH_CAPTION = "figure image iframe include literalinclude toctree bibliography contents tableofcontents index raw video"
FIGURES = frozenset(WITH_CAPTION.split())
"""Directives whose text, where there is one, is a caption."""
FORMULAS = frozenset({"math"})
"""Directives that hold a formula; GitHub writes the same without braces."""
OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(?:\{([A-Za-z][\w:-]*)\}[ \t]*(.*)|(math)[ \t]*)$")
COLON_FORMULA = re.compile(r"[ \t]*(:{3,})[ \t]*\{(math)\}[ \t]*(.*)$")
OPTION = re.compile(r"[ \t]*:[A-Za-z][\w-]*:(?:[ \t].*)?$")
PATH = re.compile(r"[\w.:/~@-]+\.\w{1,5}|[\w.-]*/[\w./-]*|https?://\S+|\d+(?: \d+)*")
BLOCK = re.compile(r"[ \t]*/{3,}[ \t]*(?:$|[A-Za-z][\w-]*[ \t]*(?:\|[ \t]*(.*))?$)")
"""MkDocs' `/// note | Title` and the `///` that ends it."""
NO_TEXT = re.compile(
    r"[ \t]*(?:\([\w.:-]+\)=|-+8<-+.*|<<<[ \t].*|\[TOC\]|\[\[_?toc_?\]\]|\+{3}|-->|:(?:eqlabel|label|width|height):`[^`]*`"
    r"|:(?:align|alt|class|figclass|height|name|scale|target|width):[ \t].*)[ \t]*$",
    re.IGNORECASE,
)
"""Lines that name a place, take in a file, or stand for a list of headings."""
ROLE = re.compile(r"\{([A-Za-z][\w:+.-]*)\}|:([A-Za-z][\w+.-]*):")
ROLE_MARK = r"\{[A-Za-z][\w:+.-]*\}(?=`)|(?<![\w:]):[A-Za-z][\w+.-]*:(?=`)"
"""A role's name, where its text in backticks follows."""
SILENT = re.compile(r"(?:cite.*|eqlabel|label|width|height|index|octicon|fa[bsr]?|material.*|bdg.*|tab|begin_tab|end_tab)\Z")
"""Roles whose text names a source, a place or a picture, and is not read."""
TITLED = re.compile(r"(.*?)\s*<[^<>]*>\s*\Z", re.DOTALL)


def opened(line: str) -> tuple[str, str, str] | None:
    """The fence, the name and the argument of a directive that opens on this line."""
    if match := COLON_FORMULA.match(line):
        return match[1], match[2], match[3].strip()
    match = OPENING.match(line)
    return (match[1], match[2] or match[4], (match[3] or "").strip()) if match else None


def closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t>")
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def options_end(lines: Sequence[str], first: int) -> int:
    """Where the text of a directive begins, after its options: `:name: value`, or YAML between lines of hyphens."""
    at = first
    if at < len(lines) and lines[at].strip() == "---":
        inside = range(at + 1, min(len(lines), at + LONGEST_OPTIONS))
        return next((number + 1 for number in inside if lines[number].strip() == "---"), first)
    while at < len(lines) and OPTION.match(lines[at]):
        at += 1
    return at


def title_of(argument: str) -> str:
    """An admonition's title; a figure's path is none."""
    return "" if PATH.fullmatch(argument) else argument


def block_title(line: str) -> str | None:
    """The title on a line that opens or ends one of MkDocs' blocks; None where it does neither."""
    match = BLOCK.match(line)
    return None if match is None else (match[1] or "").strip()


def role_text(role: str, content: str) -> str:
    """What a role shows: `text <target>` shows the text."""
    if role in FORMULAS:
        return plain(content)
    if SILENT.match(role.lower()):
        return ""
    titled = TITLED.match(content)
    return titled[1].strip("!~ ") if titled and titled[1].strip() else content.lstrip("!~")
