"""Numbers, dates and times of day as they are written, and their values: "4,096", "5e-8", "three thousand", "two and a half",
"16 November 2026", "5 p.m.".

Every pattern looks at a bounded stretch, so that reading a text is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

LARGEST_EXPONENT = 30
LONGEST_TAIL = 40
"""How many decimal places are written."""
LONGEST_NUMBER = 40


def value_of(written: str) -> str:
    """The value of a number in figures, without grouping and without zeros that add nothing."""
    digits = re.sub(r"[, \u00a0\u202f]", "", written).replace("\u2212", "-").casefold()
    if "e" in digits and (number := number_of(digits)) is not None:
        return in_figures(number)
    if digits.count(".") == 1 and "e" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0" if digits.isdigit() else digits


def in_figures(number: Fraction) -> str:
    """A number in decimal places, or as a ratio where these would not end."""
    left = number.denominator
    for prime in (2, 5):
        while left % prime == 0:
            left //= prime
    if left != 1:
        return str(number)
    digits = f"{number.numerator * 10**LONGEST_TAIL // number.denominator:0{LONGEST_TAIL + 1}d}"
    return value_of(f"{digits[:-LONGEST_TAIL]}.{digits[-LONGEST_TAIL:]}")


@lru_cache(maxsize=4096)
def number_of(value: str) -> Fraction | None:
    """The number that a value is; None where it is none, or one that is too long to calculate with."""
    exponent = re.search(r"e[-+]?(\d+)", value)
    try:
        return (
            Fraction(value) if len(value) <= LONGEST_NUMBER and not (exponent and int(exponent[1]) > LARGEST_EXPONENT) else None
        )
    except (ValueError, ZeroDivisionError):
        return None


MONTHS = ["january", "february", "march", "april", "may", "june", "july"]
MONTHS += ["august", "september", "october", "november", "december"]
NUMBER_OF = {name: number for number, month in enumerate(MONTHS, start=1) for name in (month, month[:3])} | {"sept": 9}
MONTH = "(?P<month>" + "|".join(sorted((name.capitalize() for name in NUMBER_OF), key=len, reverse=True)) + r")\b\.?"
DATE = re.compile(
    r"(?<![\w.-])(?P<iso>(?:1[5-9]|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)(?![\w-])"
    rf"|\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?{MONTH}(?: (?P<after>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?"
    r"(?:,? (?P<year>(?:1[5-9]|20)\d\d))?\b"
)
CLOCK = re.compile(
    r"(?<![\w:.])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d)(?::[0-5]\d)?)?(?! ?[%°])(?: ?(?P<half>[ap])\.? ?m\b\.?)?(?![\w:])", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDate:
    """The characters `text[start:end]` are a date or a time. `value` is written as 2026-11-16, as 2026-11 or, without a year,
    as --11-16."""

    start: int
    end: int
    value: str


def dates(text: str) -> Iterator[FoundDate]:
    """Each date that has at least a month and either a day or a year."""
    for match in DATE.finditer(text):
        if match["iso"]:
            yield FoundDate(start=match.start(), end=match.end(), value=match["iso"])
            continue
        day, year = match["day"] or match["after"], match["year"]
        if day or year:
            parts = [year or "-", f"{NUMBER_OF[match['month'].casefold()]:02}", *([f"{int(day):02}"] if day else [])]
            yield FoundDate(start=match.start(), end=match.end(), value="-".join(parts))


def clock_times(text: str) -> Iterator[FoundDate]:
    """Each time of day, as 17:30. A time has minutes, or "a.m." or "p.m." after it."""
    for match in CLOCK.finditer(text):
        hour, half = int(match["hour"]), (match["half"] or "").casefold()
        if not (match["minute"] or half) or hour > (12 if half else 24):
            continue
        hour = hour % 12 + (12 if half == "p" else 0) if half else hour
        yield FoundDate(start=match.start(), end=match.end(), value=f"{hour:02}:{match['minute'] or '00'}")


def says_date(known: str, said: str) -> bool:
    """Whether `known` includes the less exact date `said`: its year, its month or its day."""
    return known.startswith(f"{said}-") or (said.startswith("--") and known.endswith(said[1:]))


ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SMALL = {word: number for number, word in enumerate(ONES, start=1)} | {word: 10 * at for at, word in enumerate(TENS, start=2)}
SCALES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
NUMBER_WORDS = {word: str(number) for word, number in SMALL.items() if word != "one"}
"""Words that are numbers by themselves. "One" is left out, because it seldom is a number."""
PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "hundredth": 100}
PARTS |= {"halves": 2} | {f"{word}s": number for word, number in PARTS.items() if word != "half"}
ORDINALS = ["third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth"]
ORDINALS += ["fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"]
ORDINAL_OF = {word: number for number, word in enumerate(ORDINALS, start=3)}
"""Ordinals begin with the third: "first" and "second" put a text in order, or are units."""
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
MULTIPLES |= {"quadruples": 4, "quadrupled": 4, "double": 2, "triple": 3}
TIMES_THAT, THAT = ("double", "triple"), ("that", "the", "what", "its", "their")
""" "Double" is a multiple only before one of these words: "double the size", but "double precision"."""
THE_SAME_AGAIN = ("twice", "thrice")
"""Multiples that may also say how often: "called twice"."""
MULTIPLES |= {"halves": Fraction(1, 2), "halved": Fraction(1, 2), "halving": Fraction(1, 2)}
BEFORE_SCALES = frozenset({
    "a", "an", "one", "first", "last", "next", "per", "every", "another", "about", "around", "roughly", "nearly", "almost",
    "over", "than",
})  # fmt: skip
"""Words after which "hundred" is a number: "the first hundred"."""
WORD = re.compile(r"[A-Za-z]++")
JOINT = re.compile(r"[ \u00a0-]{1,2}\Z")
LONGEST_RUN = 12

Kind = Literal["count", "alone", "part", "ordinal", "multiple"]
"""`alone`: "one" or "hundred" with nothing before it, which may be only a figure of speech."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """The words `text[start:end]` are the number `value`."""

    start: int
    end: int
    value: Fraction
    kind: Kind


Words = list[tuple[int, int, str]]


def number_words(text: str) -> Iterator[NumberWords]:
    """Each number that the text has in words."""
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
        alone = single and not (word in SCALES and at and words[at - 1][2] in BEFORE_SCALES)
        kind: Kind = "alone" if alone else "count"
        return NumberWords(start=start, end=words[at + length - 1][1], value=Fraction(count), kind=kind), length
    if word in MULTIPLES and (word not in TIMES_THAT or (at + 1 < len(words) and words[at + 1][2] in THAT)):
        return NumberWords(start=start, end=end, value=Fraction(MULTIPLES[word]), kind="multiple"), 1
    if word in ORDINAL_OF:
        return NumberWords(start=start, end=end, value=Fraction(ORDINAL_OF[word]), kind="ordinal"), 1
    return None, 0


def _count(text: str, words: Words, at: int) -> tuple[int, int]:
    """The number that the words from `at` on make, and how many words it takes; 0 where they make none."""
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
    """What the words from `at` on make of the count before them, and their number: "half", "two thirds", "two and a half"."""
    joined = count is None or (at < len(words) and JOINT.fullmatch(text[words[at - 1][1] : words[at][0]]))
    if at >= len(words) or not joined:
        return None
    following = [word for _, _, word in words[at : at + 3]]
    if count is not None and following[:2] == ["and", "a"] and following[2:] in (["half"], ["quarter"]):
        return count + Fraction(1, PARTS[following[2]]), 3
    of_one = following[1:2] == ["of"] and at and words[at - 1][2] == "a"  # "a third of", which is not the third
    if following[0] not in PARTS or (count is None and following[0] not in ("half", "quarter") and not of_one):
        return None
    if text[words[at][1] :][:1] == "-":  # ten half-lives
        return None
    return Fraction(1 if count is None else count, PARTS[following[0]]), 1
