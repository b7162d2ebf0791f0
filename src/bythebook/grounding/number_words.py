"""English numbers in words: "three thousand", "two and a half", "a dozen", "two thirds", "the third", "twice".

Each run of words is one number. What unit it has, and whether a draft must find it in the book, is `quantities`' to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SMALL = {word: number for number, word in enumerate(ONES, start=1)} | {word: 10 * at for at, word in enumerate(TENS, start=2)}
SCALES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
NUMBER_WORDS = {word: str(number) for word, number in SMALL.items() if word != "one"}
"""Words that are a number by themselves. "One" seldom is."""
PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "hundredth": 100}
PARTS |= {"halves": 2} | {f"{word}s": number for word, number in PARTS.items() if word != "half"}
ORDINALS = ["third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"]
ORDINAL_OF = {word: number for number, word in enumerate(ORDINALS, start=3)}
"""From the third on: "first" and "second" order a text or are units."""
MULTIPLES: dict[str, int | Fraction] = {
    "twice": 2,
    "doubles": 2,
    "doubled": 2,
    "doubling": 2,
    "thrice": 3,
    "triples": 3,
    "tripled": 3,
    "tripling": 3,
}
MULTIPLES |= {"halves": Fraction(1, 2), "halved": Fraction(1, 2), "halving": Fraction(1, 2)}
ARTICLES = ("a", "an")
WORD = re.compile(r"[A-Za-z]++")
JOINT = re.compile(r"[ \u00a0-]{1,2}\Z")
LONGEST_RUN = 12

Kind = Literal["count", "alone", "part", "ordinal", "multiple"]
"""`alone`: "one" or "hundred" with nothing before it, which may only be a manner of speaking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """`text[start:end]` is the number `value`."""

    start: int
    end: int
    value: Fraction
    kind: Kind


Words = list[tuple[int, int, str]]


def number_words(text: str) -> Iterator[NumberWords]:
    """Each number that a text has in words."""
    words = [(match.start(), match.end(), match[0].casefold()) for match in WORD.finditer(text)]
    at = 0
    while at < len(words):
        found, length = _number(text, words, at)
        if found:
            yield found
        at += max(1, length)


def _number(text: str, words: Words, at: int) -> tuple[NumberWords | None, int]:
    start, end, word = words[at]
    count, length = _count(text, words, at)
    part = _part(text, words, at + length, count if length else None)
    if part:
        value, taken = part
        length += taken
        return NumberWords(start=start, end=words[at + length - 1][1], value=value, kind="part"), length
    if length:
        single = length == 1 and word in ("one", *SCALES)
        alone = single and not (word in SCALES and at and words[at - 1][2] in (*ARTICLES, "one"))
        kind: Kind = "alone" if alone else "count"
        return NumberWords(start=start, end=words[at + length - 1][1], value=Fraction(count), kind=kind), length
    if word in MULTIPLES:
        return NumberWords(start=start, end=end, value=Fraction(MULTIPLES[word]), kind="multiple"), 1
    if word in ORDINAL_OF:
        return NumberWords(start=start, end=end, value=Fraction(ORDINAL_OF[word]), kind="ordinal"), 1
    return None, 0


def _count(text: str, words: Words, at: int) -> tuple[int, int]:
    """The number that the words from `at` on are, and how many words that takes; 0 where they are none."""
    total = current = length = 0
    last = ""
    for place in range(at, min(at + LONGEST_RUN, len(words))):
        start, _, word = words[place]
        if place > at and not JOINT.fullmatch(text[words[place - 1][1] : start]):
            break
        if word in SMALL and (not length or last in SCALES or last == "and" or (last in TENS and SMALL[word] < 10)):
            current += SMALL[word]
        elif word in SCALES and (length or place == at):
            current, total = (max(1, current) * SCALES[word], total) if SCALES[word] < 1000 else (
                0, total + max(1, current) * SCALES[word])  # fmt: skip
        elif word == "and" and last in SCALES and place + 1 < len(words) and words[place + 1][2] in SMALL:
            last = word
            continue
        else:
            break
        last, length = word, place - at + 1
    return total + current, length


def _part(text: str, words: Words, at: int, count: int | None) -> tuple[Fraction, int] | None:
    """ "Half", "two thirds", "two and a half": what the words from `at` on make of the count before them, and their number."""
    joined = count is None or (at < len(words) and JOINT.fullmatch(text[words[at - 1][1] : words[at][0]]))
    if at >= len(words) or not joined:
        return None
    following = [word for _, _, word in words[at : at + 3]]
    if count is not None and following[:2] == ["and", "a"] and following[2:] in (["half"], ["quarter"]):
        return count + Fraction(1, PARTS[following[2]]), 3
    if following[0] not in PARTS or (count is None and following[0] not in ("half", "quarter")):
        return None
    return Fraction(1 if count is None else count, PARTS[following[0]]), 1
