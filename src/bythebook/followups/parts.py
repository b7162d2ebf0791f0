"""Splits two questions in one: "What is a topic, and what is a node?". Each is then searched for and answered by itself.

In English this is done by pattern. In other languages, only questions that each end with a question mark are split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bythebook.drafting.draft import Exchange
from bythebook.followups.rules import AUXILIARY, is_english, standalone
from bythebook.followups.topics import stems
from bythebook.index.lexical import words
from bythebook.retrieval.query import MAX_TEXT

MARKS = "?？؟\u037e"
QUANTITY = rf"how\s+(?:many|much|long|far|fast|often|large|big|high|deep|old|soon)\b(?=[^.,;?]*\b{AUXILIARY}\b)"
ASKING = (
    rf"(?:(?:what|how|why|who|whom|when|where)(?:['\u2019]s|\s+{AUXILIARY})\b|what\s+(?:happens|happened|causes|makes)\b|{QUANTITY}"
    rf"|(?:(?:at|by|for|from|in|of|on|to|with)\s+)?(?:what|which|whose)\s+(?:[\w-]+\s+){{1,3}}?{AUXILIARY}\b|who\s+[a-z]+[ds]\b)"
)
ASKS = re.compile(rf"\b{ASKING}|^{AUXILIARY}\b", re.IGNORECASE)
ENDED = rf"(?<=[{MARKS}])\s*(?:(?:and|but|so|also|or)\b[\s,]*)?(?=\S)"
JOINED = rf"(?:[,;]\s*(?:and|or|but)|\s(?:and|or))\s+(?:also\s+|then\s+)?(?={ASKING})|[,;]\s*(?=(?:what|how|why)\b)(?={ASKING})"
BETWEEN = re.compile(rf"{ENDED}|{JOINED}", re.IGNORECASE)
"""What stands between two questions. After a mere comma "which" and "where" seldom ask: "a topic, which is …"."""
BETWEEN_MARKED = re.compile(rf"(?<=[{MARKS}])\s*(?=\S)")
BACK = re.compile(r"\b(?:it|its|one|they|them|their)\b", re.IGNORECASE)
"""A part with one of these words asks about what the part before it names."""
SENTENCE = re.compile(r"(?<=[.!])\s+")
MADE_STANDALONE = 4
"""The most parts that are made standalone: a turn looks up no more."""


def parts(question: str, language: str) -> tuple[str, ...]:
    """The questions in this one, each so that it can be understood alone. Only this one, unchanged, where it asks one thing, or
    where what follows neither has a word of its own nor refers back: "What is a topic, and why?"."""
    asked = " ".join(question.split())
    found = list(_apart(asked, language))
    if len(found) < 2:
        return (question,)
    *circumstances, found[0] = SENTENCE.split(found[0])
    made: list[str] = []
    for part in found[:MADE_STANDALONE]:
        alone = standalone(part, [Exchange(question=one, answer="") for one in made], language)
        made.append(f"{alone[0].upper()}{alone[1:].rstrip(' ,;.')}" + ("" if alone[-1] in MARKS else "?"))
    whole = (" ".join([*circumstances, one]) for one in [*made, *found[MADE_STANDALONE:]])
    return tuple(text if len(text) <= MAX_TEXT else text[-MAX_TEXT:] for text in whole)


def _apart(asked: str, language: str) -> Iterator[str]:
    """The questions as they are written."""
    between = [match.span() for match in (BETWEEN if is_english(language) else BETWEEN_MARKED).finditer(asked)]
    begin = 0
    for (start, end), (following, _) in zip(between, [*between[1:], (len(asked), 0)], strict=False):
        if _asks(asked[begin:start], language) and _asks(asked[end:following], language):
            yield asked[begin:start]
            begin = end
    yield asked[begin:]


def _asks(text: str, language: str) -> bool:
    """Whether it is a question that has a word of its own, or one that stands for what was named before."""
    if is_english(language):
        return bool(stems(text) or BACK.search(text)) and ASKS.search(text) is not None
    return text.endswith(tuple(MARKS)) and bool(words(text, language))
