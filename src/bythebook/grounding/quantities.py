"""Numbers as quantities, however they are written: "4,096", "0.50 m", "three thousand kilograms", "half a metre", "15 %".

Every pattern here looks at a bounded stretch around a number, so that reading a text is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

from bythebook.grounding.units import KIND_OF, UNITS, canonical_unit

__all__ = ["NUMBER_WORDS", "UNITS", "Bound", "Quantity", "equal", "quantities", "reciprocal", "value_of"]

Bound = Literal["", "least", "most"]

ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SMALL = {word: number for number, word in enumerate(ONES, start=1)} | {word: 10 * at for at, word in enumerate(TENS, start=2)}
SCALES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
NUMBER_WORDS = {word: str(number) for word, number in SMALL.items() if word != "one"}
"""Words that are a number by themselves. "One" seldom is."""
FRACTIONS = {"half": "0.5", "quarter": "0.25"}
SUFFIXES = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
"""Letters right behind a number that has no unit: 20M parameters."""
NEAR = 40
"""Characters before and after a number that may say what it bounds and what it is a rate of."""
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]}.])[-\u2212](?=\d))?(?<![\w.])"
    r"(?P<value>\d{1,3}(?:[,\u00a0\u202f]\d{3})++(?!\d)(?:\.\d++)?|\d++(?:\.\d++)*+(?:[eE][-+\u2212]?\d++)?)"
    r"(?P<decade>s(?!\w))?(?:(?P<gap>[ \u00a0\u202f]?-?)(?P<unit>[%°][CF]?|[A-Za-zµμ]++(?:[/·][A-Za-z]++)?(?:²|\^2|2(?!\w))?))?"
)
SCALE = re.compile(
    r"[ \u00a0\u202f-]?(hundred|thousand|million|billion|trillion|dozen)\b(?:[ \u00a0\u202f-]+([A-Za-zµμ]+))?", re.I
)
WORD = re.compile(r"[A-Za-z]++")
JOINT = re.compile(r"[ \u00a0-]{1,2}\Z")
UNIT_AFTER = re.compile(r"[ \u00a0-](?:of )?(?:an? )?([A-Za-zµμ%°]{2,20})")
VERSIONED = re.compile(r"(?:\bv|\b[Vv]ersions?|\b[A-Z][\w+-]*|[=<>~^`]=?)[ \u00a0]?\Z")
"""What stands before a number that is a version: there 3.10 is not 3.1."""
LEAST = re.compile(
    r"(?:\bat least|\b(?:more|greater|larger|longer|older|later|higher) than|\bno (?:less|fewer) than|\bover|\babove"
    r"|\bminimum(?: of)?|\bexceed(?:s|ing)?)(?: \w{1,12}){0,1} ?\Z",
    re.I,
)
MOST = re.compile(
    r"(?:\bat most|\b(?:less|fewer|smaller|shorter|lower) than|\bno (?:more|later|longer) than|\bunder|\bbelow|\bup to"
    r"|\bmaximum(?: of)?|\bwithin)(?: \w{1,12}){0,1} ?\Z",
    re.I,
)
OR_MORE = re.compile(r"\+| (?:\w{1,20} )?(?:or|and) (?:more|above|higher|later|newer)\b| (?:\w{1,20} )?upwards?\b", re.I)
OR_LESS = re.compile(r" (?:\w{1,20} )?or (?:less|fewer|below|lower|earlier)\b", re.I)
TURNED = re.compile(r"\b(?:not|never) ?\Z", re.I)
PER = re.compile(
    r"(?: [\w-]{1,20}){0,3}? ?(?:/ ?|\bper |\ban? |\beach |\bevery )"
    r"(seconds?|minutes?|hours?|days?|weeks?|months?|years?|min|s|h)\b",
    re.I,
)
COUNTED = re.compile(r" ([A-Za-z]{3,30})(?: ([A-Za-z]{3,30}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One number of a text. `spoken`: written as a word; `asked`: a draft that has it must find it in the book ("one" need not);
    `counts` are the words behind it, of which one may be what is counted."""

    value: str
    unit: str
    start: int
    end: int
    bound: Bound = ""
    per: str = ""
    spoken: bool = False
    asked: bool = True
    counts: tuple[str, ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        return self.value, self.unit

    @property
    def written(self) -> str:
        return f"{self.value} {self.unit}".strip()


def quantities(text: str, *, english: bool = True) -> tuple[Quantity, ...]:
    """All numbers of a text, in figures and, in English, in words."""
    figures = list(_figures(text))
    taken = {place for one in figures for place in range(one.start, one.end)}
    spoken = [one for one in _spoken(text) if one.start not in taken] if english else []
    return tuple(sorted((*figures, *spoken), key=lambda one: one.start))


def _figures(text: str) -> Iterator[Quantity]:
    for match in NUMBER.finditer(text):
        start, end, token = match.start(), match.end("value"), match["unit"] or ""
        sign = "-" if match["sign"] else ""
        before = text[max(0, start - NEAR) : start]
        if match["decade"] and len(match["value"]) == 4:
            yield Quantity(value=f"{match['value']}s", unit="", start=start, end=match.end("decade"))
            continue
        if match["decade"]:  # 5s: seconds, right behind the number
            yield _quantity(text, start, match.end("decade"), sign + value_of(match["value"]), "s")
            continue
        billions = token == "B" and not match["gap"]  # 7B parameters are seldom bytes
        unit = "" if billions else _unit(token) or UNITS.get(before[-1:], "")
        scale = SCALE.match(text, end)
        factor = SCALES[scale[1].casefold()] if scale else SUFFIXES.get(token, 1) if not match["gap"] and not unit else 1
        value = _scaled(match["value"], factor) if factor > 1 else value_of(match["value"])
        if not unit and VERSIONED.search(before) and match["value"].count(".") == 1:
            value = match["value"]
        if scale:
            unit = unit or _unit(scale[2] or "")
        yield _quantity(text, start, scale.end(1) if scale else match.end() if unit and _unit(token) else end, sign + value, unit)


def _unit(token: str) -> str:
    known = UNITS.get(token) or (UNITS.get(token.casefold()) if len(token) > 3 else None)
    return known or (token if "/" in token else "")


def _quantity(text: str, start: int, end: int, value: str, unit: str, *, spoken: bool = False, asked: bool = True) -> Quantity:
    after = text[end : end + NEAR]
    per = PER.match(after)
    counts = COUNTED.match(after)
    return Quantity(
        value=value,
        unit=unit,
        start=start,
        end=end,
        bound=_bound(text[max(0, start - NEAR) : start], after),
        per=_unit_of_time(per[1]) if per and KIND_OF.get(unit) != "time" else "",
        spoken=spoken,
        asked=asked,
        counts=tuple(word.casefold() for word in counts.groups() if word) if counts else (),
    )


def _unit_of_time(word: str) -> str:
    return UNITS.get(word) or UNITS.get(word.casefold(), word)


def _bound(before: str, after: str) -> Bound:
    least, most = LEAST.search(before), MOST.search(before)
    if least or most:
        opening = before[: (least or most).start()]  # type: ignore[union-attr]
        turned = TURNED.search(opening) is not None
        return "most" if bool(most) != turned else "least"
    return "least" if OR_MORE.match(after) else "most" if OR_LESS.match(after) else ""


def _spoken(text: str) -> Iterator[Quantity]:
    """ "Three thousand kilograms" as 3000 kg; "half a metre" as 0.5 m. Each run of number words is one number."""
    words = [(match.start(), match.end(), match[0].casefold()) for match in WORD.finditer(text)]
    at = 0
    while at < len(words):
        start, end, word = words[at]
        if word in FRACTIONS:
            yield _with_unit(text, start, end, FRACTIONS[word], asked=UNIT_AFTER.match(text, end) is not None)
        number, length = _run(text, words, at)
        if length:
            alone = length == 1 and word in ("one", *SCALES)
            asked = not alone or (word in SCALES and at > 0 and words[at - 1][2] in ("a", "one"))
            yield _with_unit(text, start, words[at + length - 1][1], str(number), asked=asked)
        at += max(1, length)


def _run(text: str, words: list[tuple[int, int, str]], at: int) -> tuple[int, int]:
    """The number that the words from `at` on are, and how many words that takes; 0 where they are none."""
    total = current = length = 0
    last = ""
    for place in range(at, min(at + 12, len(words))):
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


def _with_unit(text: str, start: int, end: int, value: str, *, asked: bool) -> Quantity:
    after = UNIT_AFTER.match(text, end)
    unit = _unit(after[1]) if after else ""
    fraction = value in FRACTIONS.values()
    return _quantity(text, start, end, value, unit, spoken=True, asked=bool(unit) if fraction else asked or bool(unit))


def value_of(written: str) -> str:
    """A number in figures by its value: no grouping, no zeros that say nothing."""
    digits = re.sub(r"[,\u00a0\u202f]", "", written).replace("\u2212", "-").casefold()
    if digits.count(".") == 1 and "e" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0" if digits.isdigit() else digits


def _scaled(written: str, factor: int) -> str:
    number = _decimal(value_of(written))
    return value_of(format((number * factor).normalize(), "f")) if number is not None else value_of(written)


@lru_cache(maxsize=4096)
def _decimal(value: str) -> Decimal | None:
    try:
        return Decimal(value) if len(value) <= NEAR else None
    except InvalidOperation:
        return None


@lru_cache(maxsize=4096)
def canonical(value: str, unit: str) -> tuple[str, str]:
    """The same quantity in the first unit of its kind: 500 ms is 0.5 s."""
    base, factor = canonical_unit(unit)
    number = _decimal(value)
    if number is None or factor is None:
        return value, unit
    return value_of(format((number * factor).normalize(), "f")), base


def equal(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two numbers with units are the same quantity."""
    return one == other or canonical(*one) == canonical(*other)


def reciprocal(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether one is the rate and the other the period of the same: 30 Hz and 0.033 s."""
    (value, unit), (others, theirs) = canonical(*one), canonical(*other)
    first, second = _decimal(value), _decimal(others)
    if {unit, theirs} != {"Hz", "s"} or not first or not second:
        return False
    return abs(first * second - 1) <= Decimal("0.02")
