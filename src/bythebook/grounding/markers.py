"""The markers with which a draft says what it rests on: [1], [1, 2], 【1】, and the documents' own inline forms."""

from __future__ import annotations

import re

LABELS = r"\d{1,3}(?:\s*(?:[,;&\-\u2013]|and|to)\s*\d{1,3})*"
MARKER = re.compile(
    rf"""\[\^?(?:(?:sources?|labels?|results?):?\s*)?(?P<labels>{LABELS})\](?:\([^()\s]*\))?
    | \u3010(?P<wide>{LABELS})[^\u3010\u3011\n]{{0,80}}\u3011
    | \[sources?:[^\[\]\n]*\]
    | \(from\ (?:chapter|lesson|module|section)\ [^()\n]*\)""",
    re.VERBOSE | re.IGNORECASE,
)
ROUND = re.compile(r"(?<![^\s])(?P<before>\w*)\s*\((?P<labels>\d{1,2}(?:,\s*\d{1,2})*)\)(?=[.!?]*\s*\Z)")
NUMBERED_THINGS = re.compile(r"(?:eq|equation|fig|figure|step|table|section|chapter|case|rule|item|line|no)s?", re.IGNORECASE)
INDEXED = re.compile(r"\w*(?:[_\d]|[a-z][A-Z])\w*\Z")
"""An identifier right before a bracket: "float32[8]" is no citation."""
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
    last = ROUND.search(shown) if not labels else None
    found = _labels(last["labels"]) if last else []
    if last and not NUMBERED_THINGS.fullmatch(last["before"]) and found == sorted({*found} - {0}):
        labels.update(dict.fromkeys(found))
        shown = (shown[: last.start()] + last["before"] + shown[last.end() :]).strip()
    return shown, tuple(label for label in labels if label > 0)


def _without_markers(text: str, labels: dict[int, None]) -> str:
    parts, at = [], 0
    for marker in MARKER.finditer(text):
        if INDEXED.search(text, 0, marker.start()):
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
