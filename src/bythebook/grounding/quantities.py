"""Finds the quantities of a text, each number with its unit and with what the words around it make of it: a bound, a rate, a
range, a count. "0.50 m", "three thousand kilograms", "at least half a metre", "3-5", "20 per second", "v1.2".

Every pattern looks at a bounded stretch around a number, so that reading a text is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from bythebook.grounding.numbers import (
    LARGEST_EXPONENT,
    SCALES,
    THE_SAME_AGAIN,
    NumberWords,
    clock_times,
    dates,
    in_figures,
    number_of,
    number_words,
    value_of,
)
from bythebook.grounding.units import KIND_OF, UNITS, canonical_unit, unit_of

Bound = Literal["", "least", "most"]

SUFFIXES = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
"""Letters directly after a number that has no unit: 20M parameters."""
SHORT_SCALES = {"mn": 10**6, "bn": 10**9, "tn": 10**12}
NEAR = 60
"""How many characters before and after a number may say what it bounds and what it is counted per."""
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]}.%°])[-\u2212](?=\d)|\bminus )?(?:(?<![\w.])v?|(?<=\d[x\u00d7]))"
    r"(?P<value>\d{1,3}(?: \d{3})* 000(?!\d)|\d{1,3}(?:[,\u00a0\u202f]\d{3})++(?!\d)(?:\.\d++)?"
    r"|\d++(?:\.\d++)*+(?:[eE][-+\u2212]?\d++)?)"
    r"(?P<power>(?: ?[x\u00d7\u00b7*] ?10)?(?:\^\{?[-\u2212]?\d{1,3}\}?|[\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,4}))?"
    r"(?P<decade>s(?!\w))?(?:(?P<gap>[ \u00a0\u202f]?-?)"
    r"(?P<unit>[%°£¢Ω][CF]?|per cent\b|[A-Za-zµμΩ]++(?:[/·][A-Za-zµμ]++)?(?:[²³]|\^[23]|[23](?!\w))?))?"
)
RAISED = str.maketrans("\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u2212", "-0123456789-")
POWER = re.compile(r"(?P<times> ?[x\u00d7\u00b7*] ?10)?(?P<exponent>.*)", re.DOTALL)
RATIO = re.compile(r"(?<![\w./-])(\d{1,2})/(\d{1,3})(?![\w/])")
RANGE = re.compile(r" ?(?:[-\u2013\u2014]|to|until|through|and|or) ?\Z")
YEARS = re.compile(r"(?<!\d)(1[5-9]|20)(\d\d)[\u2013/-]\Z")
"""What comes before the 18 in 1914–18."""
ONE_IN = re.compile(r" (?:in|out of)(?: every)? \Z", re.I)
TOGETHER = re.compile(r",?(?: and)? \Z")
"""What comes between the parts of one quantity: 3 hours and 20 minutes."""
SCALE = re.compile(
    r"[ \u00a0\u202f-]?(hundred|thousand|million|billion|trillion|dozen)\b(?:[ \u00a0\u202f-]+([A-Za-zµμ]+))?", re.I
)
UNIT_AFTER = re.compile(r"[ \u00a0-](?:of )?(?:an? )?([A-Za-zµμ%°]{2,20})")
SQUARE = re.compile(r"[ \u00a0-](?:(?P<square>square|sq\.?)|(?P<cubic>cubic)) ([A-Za-z]{1,14})\b", re.I)
PER_UNIT = re.compile(r" per (?P<power>square |cubic )?(?P<unit>[A-Za-z]{3,14})\b", re.I)
PHYSICAL = ("length", "mass", "volume", "angle")
DEGREES = re.compile(r" (Celsius|Fahrenheit)\b", re.I)
ONE_OF = re.compile(r"\b(?:an?|every|each|per) ([A-Za-z]{3,12})\b", re.I)
VERSIONED = re.compile(r"(?:\bv|\b[Vv]ersions?|\b[A-Z][\w+-]*|[=<>~^`]=?)[ \u00a0]?\Z")
"""What comes before a number that is a version. A version 3.10 is not 3.1."""
IS = r" (?:is|are|was|were|be|of|at|to|value|[:=])"
LEAST = re.compile(
    r"(?:\bat (?:the )?least|\b(?:more|greater|larger|bigger|longer|older|later|higher|faster|heavier|farther|further) than"
    r"|\bover|\babove|\bbeyond|\bminimum(?: of)?|\bexceed(?:s|ed|ing)?|>=?|\u2265)(?: \w{1,12}){0,1} ?[(`$]{0,2}\Z"
    rf"|\b(?:minimum|minimal|lower limit)(?: [\w/'-]{{1,20}}){{0,4}}?{IS} ?[(`$]{{0,2}}\Z",
    re.I,
)
MOST = re.compile(
    r"(?:\bat (?:the )?most|\b(?:less|fewer|smaller|shorter|younger|earlier|sooner|lower|slower|lighter|cheaper) than|\bunder"
    r"|\bbelow|\bup to|\bmaximum(?: of)?|\bwithin|\b(?:limited|capped) (?:to|at)|<=?|\u2264)(?: \w{1,12}){0,1} ?[(`$]{0,2}\Z"
    rf"|\b(?:maximum|maximal|upper limit)(?: [\w/'-]{{1,20}}){{0,4}}?{IS} ?[(`$]{{0,2}}\Z",
    re.I,
)
BOTH_ENDS = re.compile(r"\bminimum\b.*\bmaximum\b|\bmaximum\b.*\bminimum\b", re.I)
THING = r"(?: \w[\w-]{0,20}){0,4}?"
OR_MORE = re.compile(
    rf"\+| (?:\w{{1,20}} ){{0,3}}?(?:or|and) (?:more|above|higher|later|newer|greater|longer)\b| (?:\w{{1,20}} )?upwards?\b"
    rf"|{THING} (?:at (?:the )?(?:least|minimum)(?=[.,;:!?)]|\Z)|(?:is|are) (?:the|a) (?:minimum|lower limit))\b",
    re.I,
)
OR_LESS = re.compile(
    rf" (?:\w{{1,20}} ){{0,3}}?or (?:less|fewer|below|lower|earlier|shorter)\b"
    rf"|{THING} (?:at (?:the )?(?:most|maximum)(?=[.,;:!?)]|\Z)|(?:is|are) (?:the|a) (?:maximum|upper limit))\b",
    re.I,
)
TURNED = re.compile(
    r"(?:\b(?P<word>not|never|no|cannot|nothing|nobody|none)|\w(?P<short>n['\u2019]t))"
    r"(?: (?!(?:and|but|or|if|when|because|unless|until|before)\b)[\w'\u2019-]{1,20}){0,3}? ?\Z",
    re.I,
)
HEDGED = re.compile(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|circa|close to|just (?:under|over)"
    r"|a (?:little|bit) (?:under|over|less than|more than)|slightly (?:under|over|less than|more than)|well over)|[~\u2248])"
    r" ?(?:an? )?\Z",
    re.I,
)
"""What comes before a number that is rounded."""
_TIMES = "seconds?|minutes?|hours?|days?|weeks?|months?|years?|min|s|h"
PER = re.compile(
    rf"(?: [\w-]{{1,20}}){{0,3}}? ?(?:(?:/ ?|\bper |\ban? |\beach |\bevery )({_TIMES})"
    r"|\bper ((?:kilo|milli|micro)?(?:grams?|met(?:er|re)s?|lit(?:er|re)s?)|kg|km|GB|MB|TB|gigabytes?|megabytes?|miles?))\b",
    re.I,
)
DAILY = re.compile(r"(?: [\w-]{1,20}){0,3}? (hourly|daily|weekly|monthly|yearly|annually)\b", re.I)
PERIOD = {"hourly": "h", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"}
REPEATS = re.compile(r" times\b(?! (?:as|the|more|less|fewer|its|their|that|what|\w+er)\b)", re.I)
CENTURY = re.compile(r"(?:st|nd|rd|th)?[ -]centur(?:y|ies)\b", re.I)
ORDER = re.compile(r"(?:st|nd|rd|th)\b")
NOT_A_COUNT = re.compile(r"\b(?:between|any|no|every) \Z", re.I)
"""Words before a "two" that counts nothing: "between two calls"."""
FACTOR_BEFORE = re.compile(r"(?:\bmultipl\w+ by|\btimes|\bfactor of|(?<!\d)\u00d7)[ `(]*\Z", re.I)
FACTOR_AFTER = re.compile(r"[ -]?(?:fold\b|[x\u00d7](?! ?\w))| times\b", re.I)
"""What stands beside a number that multiplies: "by a factor of 2", "2x"."""
COUNTED = re.compile(r" ([A-Za-z]{3,30})(?: ([A-Za-z]{3,30}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One number of a text. `spoken`: it is written as a word. `asked`: a draft that has it must find it in the book ("one"
    need not be found). `counts`: the words after it, one of which may be what is counted. `digits`: how it is written, if in
    figures. `turned`: where the "not" of its bound is ("not more than"), else -1. `ordinal`: "third". `whole`: what it makes
    with the number beside it ("one in six", "3 hours and 20 minutes"). `hedged`: "about". `multiple`: "doubles". `factor`: it
    multiplies, as in "twice" or "2x". `repeats`: "three times", where that says how often."""

    value: str
    unit: str
    start: int
    end: int
    bound: Bound = ""
    per: str = ""
    spoken: bool = False
    asked: bool = True
    counts: tuple[str, ...] = ()
    digits: str = ""
    turned: int = -1
    ordinal: bool = False
    whole: tuple[str, str] | None = None
    hedged: bool = False
    multiple: bool = False
    factor: bool = False
    repeats: bool = False

    @property
    def pair(self) -> tuple[str, str]:
        return self.value, self.unit

    @property
    def written(self) -> str:
        return f"{self.value} {self.unit}".strip()


def quantities(text: str, *, english: bool = True) -> tuple[Quantity, ...]:
    """All numbers of a text: those in figures and, in English, those in words."""
    found = [Quantity(value=one.value, unit="", start=one.start, end=one.end) for one in (*dates(text), *clock_times(text))]
    taken = _places(found)
    found += [one for one in (*_ratios(text), *_figures(text)) if one.start not in taken]
    taken = _places(found)
    if english:
        found += [one for one in (*_spoken(text), *_single(text)) if one.start not in taken]
    return tuple(_together(text, list(_shared(text, _apart(found)))))


def _together(text: str, found: list[Quantity]) -> list[Quantity]:
    """Joins a number with the one beside it where both are one quantity: 3 hours and 20 minutes, one in six."""
    for place, (one, other) in enumerate(pairwise(found)):
        between = text[one.end : other.start]
        whole = _added(one, other) if TOGETHER.fullmatch(between) else _one_in(one, other) if ONE_IN.fullmatch(between) else None
        if whole:
            found[place : place + 2] = [replace(one, whole=whole), replace(other, whole=whole)]
    return found


def _added(one: Quantity, other: Quantity) -> tuple[str, str] | None:
    (base, factor), (theirs, smaller) = canonical_unit(one.unit), canonical_unit(other.unit)
    first, second = number_of(one.value), number_of(other.value)
    if not one.unit or not other.unit or base != theirs or factor <= smaller or first is None or second is None:
        return None
    return in_figures(first * factor + second * smaller), base


def _one_in(one: Quantity, other: Quantity) -> tuple[str, str] | None:
    if one.unit or other.unit or not (one.value.isdigit() and other.value.isdigit()) or not 0 < int(one.value) < int(other.value):
        return None
    return in_figures(Fraction(int(one.value), int(other.value))), ""


def _apart(found: list[Quantity]) -> list[Quantity]:
    """The numbers in the order of the text, without those that lie inside another."""
    apart: list[Quantity] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
    return apart


def _places(found: list[Quantity]) -> set[int]:
    return {place for one in found for place in range(one.start, one.end)}


def _shared(text: str, found: list[Quantity]) -> Iterator[Quantity]:
    """Gives the first number of a range the unit of the second: 5-10 kg."""
    for place, one in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else None
        before = found[place - 1] if place else None
        if before and YEARS.search(text[max(0, one.start - 5) : one.start]) and len(one.digits) == 2 and len(before.digits) == 4:
            year = before.digits[:2] + one.digits
            yield replace(one, value=year, digits=year, bound="" if year < before.digits else one.bound)
        elif following and RANGE.match(text[one.end : following.start]) and _opens_range(text, one, following):
            yield replace(one, unit=one.unit or following.unit, bound=one.bound or ("least" if _rises(one, following) else ""))
        elif before and RANGE.match(text[before.end : one.start]) and _opens_range(text, before, one) and _rises(before, one):
            yield replace(one, bound=one.bound or "most")
        else:
            yield one


def _rises(one: Quantity, following: Quantity) -> bool:
    low, high = number_of(one.value), number_of(following.value)
    return one.unit in ("", following.unit) and low is not None and high is not None and low < high


def _opens_range(text: str, one: Quantity, following: Quantity) -> bool:
    between = text[one.end : following.start].strip()
    return between not in ("and", "or") or text[max(0, one.start - NEAR) : one.start].endswith(
        ("between ", "Between ", "from ", "either ")
    )


def _ratios(text: str) -> Iterator[Quantity]:
    """Fractions in figures, such as 1/3."""
    for match in RATIO.finditer(text):
        part, whole = int(match[1]), int(match[2])
        if 0 < part < whole:
            yield _quantity(text, match.start(), match.end(), in_figures(Fraction(part, whole)), "", digits=match[0])


def _figures(text: str) -> Iterator[Quantity]:
    for match in NUMBER.finditer(text):
        start, end, token = match.start(), match.end("value"), match["unit"] or ""
        sign = "-" if match["sign"] else ""
        before = text[max(0, start - NEAR) : start]
        if match["decade"] and len(match["value"]) == 4:
            yield Quantity(value=f"{match['value']}s", unit="", start=start, end=match.end("decade"), digits=match["value"])
            continue
        if match["decade"]:  # 5s: seconds, right behind the number
            yield _quantity(text, start, match.end("decade"), sign + value_of(match["value"]), "s", digits=match["value"])
            continue
        billions = token in ("B", "T") and not match["gap"]  # 7B parameters are seldom bytes
        unit = "" if billions else _unit(token)
        last = match.end() if unit else match.end("power") if match["power"] else end
        scale = SCALE.match(text, end)
        factor = SCALES[scale[1].casefold()] if scale else SUFFIXES.get(token, 1) if not match["gap"] and not unit else 1
        factor = SHORT_SCALES.get(token, factor)
        value = _scaled(match["value"], factor) if factor > 1 else _raised(match["value"], match["power"] or "")
        if not unit and factor == 1 and VERSIONED.search(before) and match["value"].count(".") == 1:
            value = match["value"]
        if scale:
            unit, last = unit or _unit(scale[2] or ""), scale.end(1)
        unit, last = _compound(text, unit or UNITS.get(before[-1:], ""), last)
        found = _quantity(text, start, last, sign + value, unit, digits=match["value"])
        century = CENTURY.match(text, end) if match["value"].isdigit() else None
        ordinal = ORDER.match(text, end) is not None
        yield replace(found, ordinal=ordinal, unit="century" if century and ordinal else found.unit)


def _compound(text: str, unit: str, end: int) -> tuple[str, int]:
    """A unit made of several words by its sign: metres per second as m/s, degrees Celsius as °C, square metres as m2."""
    if unit == "°" and (degrees := DEGREES.match(text, end)):
        return f"°{degrees[1][0].upper()}", degrees.end()
    square = SQUARE.match(text, end) if not unit else None
    if square and KIND_OF.get(base := unit_of(square[3])) == "length":
        unit, end = f"{base}{2 if square['square'] else 3}", square.end()
    per = PER_UNIT.match(text, end) if KIND_OF.get(unit) in PHYSICAL or unit in ("rad", "°") else None
    base = unit_of(per["unit"]) if per else ""
    if per and base:
        power = {"square ": "2", "cubic ": "3"}.get((per["power"] or "").casefold(), "")
        return f"{unit}/{base}{power}", per.end()
    return unit, end


def _unit(token: str) -> str:
    return "%" if token.casefold() == "per cent" else unit_of(token)


def _quantity(
    text: str, start: int, end: int, value: str, unit: str, *, spoken: bool = False, asked: bool = True, digits: str = ""
) -> Quantity:
    after = text[end : end + NEAR]
    per, daily, counts = PER.match(after), DAILY.match(after), COUNTED.match(after)
    before = text[max(0, start - NEAR) : start]
    bound, turned = _bound(before, after)
    rate = unit_of(per[1] or per[2]) if per else PERIOD[daily[1].casefold()] if daily else ""
    return Quantity(
        value=value,
        unit=unit,
        start=start,
        end=end,
        bound=bound,
        turned=start - len(before) + turned if turned >= 0 else -1,
        hedged=HEDGED.search(before) is not None,
        factor=FACTOR_BEFORE.search(before) is not None or FACTOR_AFTER.match(after) is not None,
        repeats=REPEATS.match(after) is not None,
        per=rate if KIND_OF.get(unit) != "time" and "/" not in unit else "",
        spoken=spoken,
        asked=asked,
        counts=tuple(word.casefold() for word in counts.groups() if word) if counts else (),
        digits=digits,
    )


def _bound(before: str, after: str) -> tuple[Bound, int]:
    """Whether the number is a lower or an upper bound, and where the "not" of that bound is."""
    least, most = LEAST.search(before), MOST.search(before)
    if (least or most) and not BOTH_ENDS.search(before):
        opening = before[: min(found.start() for found in (least, most) if found)]
        found = TURNED.search(opening)
        at_most = bool(most) != (found is not None)
        turned = -1 if not found else found.start("word") if found["word"] else found.start()
        return "most" if at_most else "least", turned
    return "least" if OR_MORE.match(after) else "most" if OR_LESS.match(after) else "", -1


def _spoken(text: str) -> Iterator[Quantity]:
    for one in number_words(text):
        after = UNIT_AFTER.match(text, one.end)
        unit = _unit(after[1]) if after and one.kind in ("count", "alone", "part") else ""
        end = one.end
        if after and unit:
            unit, end = _compound(text, unit, after.end(1))
        asked = bool(unit) or _is_asked(text, one, after)
        found = _quantity(text, one.start, end, in_figures(one.value), unit, spoken=True, asked=asked)
        if one.kind == "ordinal":
            century = CENTURY.match(text, one.end)
            yield replace(found, ordinal=True, unit="century" if century else "")
        else:
            said = text[one.start : one.end].casefold()
            multiple = one.kind == "multiple"
            yield replace(found, multiple=multiple and said not in THE_SAME_AGAIN, factor=found.factor or multiple)


def _is_asked(text: str, one: NumberWords, after: re.Match[str] | None) -> bool:
    """Whether a number in words, without a unit, is more than a figure of speech."""
    if one.kind == "count" and one.value == 2 and NOT_A_COUNT.search(text[max(0, one.start - 10) : one.start]):
        return False
    if one.kind == "part":
        if text[max(0, one.start - 5) : one.start].casefold().rstrip(" a").endswith(" by"):
            return True
        return one.value.numerator > 1 or one.value.denominator not in (2, 4)
    if one.kind == "ordinal":  # "Third, …" orders the answer itself
        return after is not None and bool(text[max(0, one.start - 3) : one.start].strip())
    return one.kind in ("count", "multiple")


def _single(text: str) -> Iterator[Quantity]:
    """One of a unit without a number ("at least a second", "every hour"), which a draft need not find in the book."""
    for match in ONE_OF.finditer(text):
        unit = unit_of(match[1])
        if KIND_OF.get(unit, "money") != "money":
            yield _quantity(text, match.start(), match.end(), "1", unit, spoken=True, asked=False)


def _scaled(written: str, factor: int) -> str:
    number = number_of(value_of(written))
    return in_figures(number * factor) if number is not None else value_of(written)


def _raised(written: str, power: str) -> str:
    """The value of a power: 5x10^-8, 10^6."""
    found = POWER.fullmatch(power)
    number = number_of(value_of(written))
    exponent = found["exponent"].strip("^{}").translate(RAISED) if found else ""
    if not exponent or number is None or not re.fullmatch(r"-?\d{1,2}", exponent) or abs(int(exponent)) > LARGEST_EXPONENT:
        return value_of(written)
    if found and found["times"]:
        return in_figures(number * Fraction(10) ** int(exponent))
    return in_figures(number ** int(exponent)) if number in (2, 10) else value_of(written)
