"""Which of several things a follow-up means: "the second one" after an answer that names them one after another."""

from __future__ import annotations

import re

PLACES = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}
ORDINAL = re.compile(
    r"\bthe\s+(?:(?P<alone>former|latter)\b|(?P<place>first|second|third|fourth|fifth|last|latter)\s+"
    r"(?:one|step|option|way|type|kind|method|approach|rule|part|level|of\s+(?:them|these|those))\b(?!\s+of\b))",
    re.IGNORECASE,
)
BLANKS = re.compile(r"[^\S\n]+")
MARKER = re.compile(r" ?\[\d{1,2}\]")
ITEM = re.compile(r"^ ?(?:[-*•]|\d{1,2}[.)]) (.+)$", re.MULTILINE)
COUNTED = re.compile(r"\b(first|second|third|fourth|fifth)(?:ly)?\b,?\s+(?:the\s+)?([^,;.]+)", re.IGNORECASE)
JOINT = re.compile(r" ?[,;] ?(?:(?:and|or) )?(?:then )?| (?:and|or) ", re.IGNORECASE)
LEAD = re.compile(
    r"^(?:(?:yes|no|well|either|both|for example|e\.g\.|such as|like|with|by|in|on|as|to|the|an?)\b[\s,]*)+", re.IGNORECASE
)
BRACKETS = re.compile(r" ?\([^()]*\)")
END = re.compile(r"[.!?](?:\s|$)")
LONGEST_ITEM = 8
"""Words. Anything longer is a sentence, not the name of a thing."""


def with_item(question: str, answer: str) -> str:
    """The question with the thing itself in place of "the second one", where the answer shows which one that is."""
    match = ORDINAL.search(question)
    if match is None:
        return question
    item = _item(answer, (match["alone"] or match["place"]).casefold())
    return f"{question[: match.start()]}{item}{question[match.end() :]}" if item else question


def _item(answer: str, place: str) -> str:
    plain = MARKER.sub("", BLANKS.sub(" ", answer))  # single spaces, so that no pattern scans a run of them twice
    counted = {word.casefold(): _named(text) for word, text in COUNTED.findall(plain)}
    if len(counted) > 1 and place in counted:
        return counted[place]
    found = [_named(text) for text in ITEM.findall(plain)] or _in_line(plain)
    at = PLACES[place]
    return found[at] if len(found) > max(1, at) else ""


def _in_line(answer: str) -> list[str]:
    """The items of the first sentence that names several things; after a colon, what follows it."""
    for sentence in END.split(answer):
        told = " ".join(BRACKETS.sub("", sentence.rpartition(":")[2]).split())
        found = [_named(part) for part in JOINT.split(LEAD.sub("", told))]
        if len(found) > 1 and all(found) and all(len(one.split()) <= LONGEST_ITEM for one in found):
            return found
    return []


def _named(text: str) -> str:
    """The name at the beginning of an item, without its explanation."""
    name = re.split(r" [-–—] |:\s", BRACKETS.sub("", text).strip(), maxsplit=1)[0]
    return LEAD.sub("", name.strip(" *_`.,;"))
