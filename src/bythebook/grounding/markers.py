"""The markers by which a draft cites its evidence: [1], [1, 2], 【1】, and the documents' own inline forms."""

from __future__ import annotations

import re

LABELS = r"\d{1,3}(?:\s{0,3}(?:[,;&\-\u2013]|and|to)\s{0,3}\d{1,3}){0,20}"
MARKER = re.compile(
    rf"""\[\^?(?:(?:sources?|labels?|results?):?\s{{0,3}})?(?P<labels>{LABELS})\](?:\([^()\s]{{0,300}}\))?
    | \u3010(?P<wide>{LABELS})[^\u3010\u3011\n]{{0,80}}\u3011
    | \[sources?:[^\[\]\n]{{0,300}}\]
    | \(from\ (?:chapter|lesson|module|section)\ [^()\n]{{0,300}}\)""",
    re.VERBOSE | re.IGNORECASE,
)
ROUND = re.compile(r"\((?P<labels>\d{1,2}(?:,\s{0,3}\d{1,2}){0,20})\)\Z")
NUMBERED_THINGS = re.compile(r"(?:eq|equation|fig|figure|step|table|section|chapter|case|rule|item|line|no)s?", re.IGNORECASE)
INDEXED = re.compile(r"[_\d]|[a-z][A-Z]")
"""Characters that make the word just before a bracket an identifier: "float32[8]" is not a citation."""
LONGEST_WORD = 100
KEPT = re.compile(
    r"(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)|(?P<tick>`{1,2})(?!`).+?(?<!`)(?P=tick)(?!`)|\$[^\s$](?:[^$\n]*[^\s$])?\$",
    re.DOTALL,
)


def split_markers(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without its markers, and the labels they name, in order. Code and formulas are left alone."""
    labels: dict[int, None] = {}
    parts, at = [], 0
    for kept in [*KEPT.finditer(text), None]:
        stretch = text[at : kept.start() if kept else len(text)]
        parts.append(_without_markers(stretch, labels))
        if kept:
            parts.append(kept[0])
            at = kept.end()
    shown = "".join(parts).strip()
    if not labels:
        shown = _without_round(shown, labels)
    return shown, tuple(label for label in labels if label > 0)


def _without_round(shown: str, labels: dict[int, None]) -> str:
    """Removes "(1)" or "(1, 2)" at the end of a text, as some models cite. "Equation (1)" stays."""
    said = shown.rstrip(".!? \t\n")
    last = ROUND.search(said, max(0, len(said) - LONGEST_WORD))
    if not last:
        return shown
    before, found = said[: last.start()].rstrip(), _labels(last["labels"])
    if NUMBERED_THINGS.fullmatch(_last_word(before)) or found != sorted({*found} - {0}):
        return shown
    if last.start() and not (shown[last.start() - 1].isspace() or shown[last.start() - 1].isalnum()):
        return shown
    labels.update(dict.fromkeys(found))
    return (before + shown[len(said) :]).strip()


def _last_word(text: str) -> str:
    """The letters, digits and underscores at the very end of a text."""
    tail = text[-LONGEST_WORD:]
    at = len(tail)
    while at and (tail[at - 1].isalnum() or tail[at - 1] == "_"):
        at -= 1
    return tail[at:]


def _without_markers(text: str, labels: dict[int, None]) -> str:
    parts, at = [], 0
    for marker in MARKER.finditer(text):
        if INDEXED.search(_last_word(text[max(0, marker.start() - LONGEST_WORD) : marker.start()])):
            continue
        labels.update(dict.fromkeys(_labels(marker["labels"] or marker["wide"] or "")))
        before = text[at : marker.start()]
        following = text[marker.end() : marker.end() + 1]
        parts.append(before.rstrip(" \t") if not following or not following.isalnum() else before)
        at = marker.end()
    return "".join([*parts, text[at:]])


def _labels(text: str) -> list[int]:
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:\s*(?:[-\u2013]|to)\s*(\d+))?", text):
        end = int(last or first)
        found.extend(range(int(first), end + 1) if end - int(first) < 20 else (int(first), end))
    return found
