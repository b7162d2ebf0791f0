"""The targets of a book's references: `:numref:`, `{ref}` and the like name a label at a heading, a picture or a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bythebook.books.markdown import readable
from bythebook.books.model import Chunk

REFERENCE_ROLES = frozenset({"numref", "ref", "eqref"})
REFERENCE = re.compile(r":(?:numref|ref|eqref):`|\{(?:numref|ref|eqref)\}`")
HEADING = r"#{1,6}[ \t]+(?P<heading>[^\n]+)"
LABELLED = re.compile(
    rf"^(?:{HEADING}|!\[(?P<picture>[^\]\n]*)\]\([^)\n]*\)|:(?P<table>[^:`\n][^\n]*))\n(?:[ \t]*\n)?(?::\w+:`[^`\n]*`\n)*"
    r"[ \t]*:label:`(?P<label>[^`\n]+)`",
    re.MULTILINE,
)
"""D2L's form, below what it names."""
TARGET = re.compile(rf"^\((?P<label>[^()\s]+)\)=[ \t]*\n(?:[ \t]*\n)?{HEADING}", re.MULTILINE)
"""MyST's form, above a heading."""
LONGEST_WORDS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPlace:
    """The place of a label. `words`: the heading or the caption. `section`: the heading itself, if it is one."""

    words: str
    source_file: str
    section: str | None = None


def read_labels(chunks: Iterable[Chunk]) -> Mapping[str, LabelledPlace]:
    """Every label in these chunks that has words. Where two are the same, the first one counts."""
    found: dict[str, LabelledPlace] = {}
    for chunk in chunks:
        for match in (*LABELLED.finditer(chunk.text), *TARGET.finditer(chunk.text)):
            said = match.groupdict()
            heading = readable(said["heading"]).strip() if said["heading"] else None
            words = heading or readable(said.get("picture") or said.get("table") or "").strip().rstrip(".")
            if words:
                place = LabelledPlace(words=_short(words), source_file=chunk.source_file, section=heading)
                found.setdefault(match["label"], place)
    return found


def _short(words: str) -> str:
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS].rsplit(' ', 1)[0]} …"
