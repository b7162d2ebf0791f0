"""Finds what is wrong with the form of a drafted sentence: invisible characters, markup, addresses, chatter, false quotations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.grounding.support import CheckedSource, signs

CODE = re.compile(r"(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
FORMULA = re.compile(r"\$([^\s$](?:[^$\n]*[^\s$])?)\$(?!\d)")
QUOTED = re.compile(
    '\u201c([^\u201c\u201d]+)\u201d|\u00ab([^\u00ab\u00bb]+)\u00bb|\u201e([^\u201e\u201c\u201d]+)[\u201c\u201d]|(?<!\\w)"([^"\\n]+)"|(?<!\\w)\u2018([^\u2018\u2019]+)\u2019(?!\\w)'
)
ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>()\[\]]+|www\.[^\s<>()\[\]]+|mailto:\S+|[\w.+-]+@[\w-]+\.[\w.]+")
TARGET = re.compile(r"\]\(\s*<?([^()\s>]+)")
MARKUP = re.compile(r"!\[|</?[A-Za-z][^<>]*>|<!--|\bjavascript:|&#?\w+;")
CHATTER = re.compile(
    r"""\bas\s+an\s+(?:ai|artificial)\b | \blanguage\s+model,?\s+i\b | \bi\s+hope\b | \bhope\s+(?:this|that|it)\s+helps\b
    | \blet\s+me\s+know\b | \bfeel\s+free\b | \bhappy\s+to\s+help\b | \bgreat\s+question\b
    | \bi(?:'m|\s+am)\s+(?:sorry|happy|glad|here|an?\b|not\s+able|unable)
    | \bi\s+(?:cannot|can't|can|could|will|would|don't|do\s+not|have\s+(?:been|no)|was|think|believe
      |recommend|suggest|must|found)\b
    | \bmy\s+(?:instructions|rules|training|knowledge|system)\b
    | (?P<topic>\bsystem\s+prompt|\b(?:previous|prior)\s+instructions\b)
    | \A\W*(?:sure|certainly|of\s+course|absolutely|good\s+question|hello|hi|hey|thanks|thank\s+you|you're\s+welcome)\b
    | \bif\s+you\s+have\s+(?:any\s+)?(?:more|other|further|questions)\b
    | \bhere(?:'s|\s+is|\s+are)\s+(?:the|a|an|your|what|some)\b.*:\Z
    | \A\W*(?:in\s+(?:summary|conclusion)|to\s+summari[sz]e|according\s+to\s+the\s+(?:text)?book)\W*\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""Phrases in which a drafter speaks about itself or to the reader. A book may use them about its `topic`."""


SIGNS = {"√": ("sqrt", "root"), "∑": ("sum", "Σ"), "∏": ("prod",), "∫": ("int",), "∞": ("infin",)}


def unsafe(text: str, sources: Sequence[CheckedSource]) -> str | None:
    """What is wrong with the form of a sentence, whatever it says."""
    return _unseen(text, sources) or _markup(text, sources)


def _unseen(text: str, sources: Sequence[CheckedSource]) -> str | None:
    foreign = signs(text).difference(*(source.signs for source in sources))
    return f"has characters that its sources do not have: {', '.join(sorted(foreign))}" if foreign else None


def asks(text: str) -> str | None:
    return "asks instead of answering" if text.rstrip("\"'\u201d\u2019)*_ ").endswith(("?", "\uff1f", "\u061f")) else None


def chatter(text: str, sources: Sequence[CheckedSource]) -> str | None:
    found = CHATTER.search(text)
    if found and found["topic"] and any(found["topic"].casefold() in source.without_planted.casefold() for source in sources):
        return None
    if found and not any(source.says(text) for source in sources):
        return "talks about the answer instead of the subject"
    return None


def _markup(text: str, sources: Sequence[CheckedSource]) -> str | None:
    bare = CODE.sub(" ", text)
    if any(not any(mark in source.shown for source in sources) for mark in MARKUP.findall(bare)):
        return "has an image, HTML or an entity in it"
    for clean in _addresses_in(bare):
        if not any(clean in _addresses(source) for source in sources):
            return f"names an address that its sources do not have: {clean}"
    return None


def _addresses_in(text: str) -> set[str]:
    return {address.rstrip(".,;:!?'\"") for address in (*ADDRESS.findall(text), *TARGET.findall(text))}


def _addresses(source: CheckedSource) -> set[str]:
    stated = (source.chunk.text[one.start : one.end] for one in source.statements if not one.planted)
    return {source.chunk.source_url}.union(*map(_addresses_in, stated))


def _strange_sign(text: str, sources: Sequence[CheckedSource]) -> str | None:
    """A mathematical sign that the sources have neither as a sign nor in words."""
    for sign, words in SIGNS.items():
        if sign in text and not any(word in source.raw or word in source.shown for source in sources for word in (sign, *words)):
            return f"has a sign that its sources do not have: {sign}"
    return None


def misquotes(text: str, sources: Sequence[CheckedSource]) -> str | None:
    for quoted in quotations(text):
        if not any(source.says(quoted) or source.says(quoted[:-1] if quoted[-1] in ",." else quoted) for source in sources):
            return f"quotes what its sources do not say: {quoted}"
    for formula in FORMULA.findall(CODE.sub(" ", text)):
        tight = "".join(formula.split())
        if not any(tight in "".join(source.raw.split()) for source in sources):
            return f"has a formula that its sources do not have: {formula}"
    return _strange_sign(text, sources)


def quotations(text: str) -> list[str]:
    """The texts between quotation marks or code marks."""
    code = [match[2].strip() for match in CODE.finditer(text)]
    marked = ["".join(groups).strip() for groups in QUOTED.findall(CODE.sub(" ", text))]
    return [quoted for quoted in (*code, *marked) if quoted]
