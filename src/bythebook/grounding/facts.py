"""What a sentence says that can be held against another one: its content words, numbers with units, names and negations.

The same reading is made of a draft's sentence and of the book's, so that equal texts always agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from bythebook.books.markdown import readable
from bythebook.index.lexical import words

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
}
ROUND_NUMBERS = {"one": "1", "hundred": "100", "thousand": "1000", "million": "1000000", "dozen": "12"}
"""Known when the book writes them, never asked of a draft: "one" is seldom a number."""
UNIT_NAMES = {
    "m": "m metre metres meter meters", "cm": "cm centimetre centimetres centimeter centimeters", "km": "km kilometre kilometres",
    "mm": "mm millimetre millimetres millimeter millimeters", "s": "s sec second seconds", "ms": "ms millisecond milliseconds",
    "µs": "us µs μs microsecond microseconds", "ns": "ns nanosecond nanoseconds", "min": "min minute minutes",
    "h": "h hour hours", "day": "day days", "week": "week weeks", "month": "month months", "year": "year years",
    "Hz": "Hz hertz", "kHz": "kHz kilohertz", "MHz": "MHz megahertz", "GHz": "GHz gigahertz", "kg": "kg kilogram kilograms",
    "g": "g gram grams", "N": "N newton newtons", "Nm": "Nm N·m", "W": "W watt watts", "kW": "kW kilowatt kilowatts",
    "V": "V volt volts", "A": "A ampere amperes amp amps", "Ah": "Ah", "Wh": "Wh kWh", "J": "J joule joules", "Pa": "Pa",
    "rad": "rad radian radians", "°": "° deg degree degrees", "°C": "°C", "%": "% percent", "bit": "bit bits",
    "byte": "B byte bytes", "kB": "kB KB kilobyte kilobytes", "MB": "MB megabyte megabytes", "GB": "GB gigabyte gigabytes",
    "TB": "TB terabyte terabytes", "GiB": "GiB", "MiB": "MiB", "px": "px pixel pixels", "fps": "fps", "rpm": "rpm",
    "dB": "dB decibel decibels", "m/s": "m/s", "rad/s": "rad/s", "km/h": "km/h", "m/s2": "m/s² m/s^2 m/s2", "Mbit/s": "Mbit/s Mbps",
    "$": "$ dollar dollars", "€": "€ euro euros",
}  # fmt: skip
UNITS = {name: unit for unit, names in UNIT_NAMES.items() for name in names.split()}
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]}.])[-\u2212](?=\d))?(?<![\w.])"
    r"(?P<value>\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*(?:[eE][-+\u2212]?\d+)?)"
    r"(?:[ \u00a0\u202f]?-?(?P<unit>[%°][CF]?|[A-Za-zµμ]+(?:[/·][A-Za-z]+)?(?:²|\^2|2(?!\w))?))?"
)
UNIT_WORD = re.compile(r"[%°$€]|[A-Za-zµμ]{2,}(?:/[a-z]+)?")
LATEX = re.compile(r"\\(?:text|mathrm|operatorname|unit|si)\s*\{([^{}]*)\}")
LATEX_COMMAND = re.compile(r"\\(?:[A-Za-z]+|[ ,;:!\\])")
NAME = re.compile(r"(?<![\w/.])[^\W\d_][\w'’-]*\w|(?<![\w/.])[A-Z](?!\w)")
IDENTIFIER = re.compile(
    r"(?<![\w/~.-])(?:~?/[\w~./-]*\w|--?[A-Za-z][\w-]*(?==|\b)|\w+(?:::\w+)+|\w*[^\W\d_]\w*(?:\.\w+)+(?:\(\))?"
    r"|\w+_\w*|_\w+|[A-Za-z]+\(\)|[a-z]+[A-Z]\w*|[A-Z]\w*[a-z][A-Z]\w*|[^\W\d_]+\d\w*)"
)
NO_IDENTIFIERS = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "u.k", "ph.d"})
ENUMERATOR = re.compile(r"\s*(?:>\s*)*(?:[-*+\u2022]|\d{1,9}[.)])[ \t]+")
NEGATORS = frozenset(["not", "no", "never", "cannot", "without", "neither", "nor", "none", "nobody", "nothing", "nowhere"])
ALSO_DENIES = frozenset(
    [
        "lack",
        "lacks",
        "lacking",
        "unable",
        "impossible",
        "fail",
        "fails",
        "failed",
        "failing",
        "instead",
        "rather",
        "prevent",
        "prevents",
        "avoid",
        "avoids",
        "forbid",
        "forbids",
        "refuse",
        "refuses",
        "wrong",
        "false",
        "hardly",
        "rarely",
        "unless",
        "missing",
        "absent",
        "except",
    ]
)
"""Words that may stand for a negation in a draft or in the book, though nobody is asked to repeat them."""
NO_NEGATION = re.compile(
    r"\bnot (?:only|just|merely)\b|\bwhether or not\b|\bno matter\b|\bno (?:more|less|fewer|later) than\b", re.I
)
CLAUSE_END = re.compile(r"[;:.!?]|\bbut\b")
LIGHT = (
    "also thus therefore hence however moreover furthermore additionally instead similarly typically usually generally often"
    " basically simply just very quite really well even still already yes called known named means mean refers refer describes"
    " described explains according textbook book lesson chapter section author text states stated says mentions example instance"
    " e.g i.e etc use uses used using allow allows allowing enable lets let make makes making made get gets give gives given"
    " provide provides way ways thing things one ones each every both several many various certain specific particular unless"
    " because since although though whereas may might must need needs able order do able help helps important ensure ensures"
    " serve serves act acts like within between during through via per whether either another other"
)
SCOPE = 3
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """One negation: the content words after it in its clause, and the two before it. `plain` are not, no, never, without …"""

    after: tuple[str, ...]
    before: tuple[str, ...]
    plain: bool

    @property
    def core(self) -> tuple[str, ...]:
        """What is denied in the first place."""
        return self.after[:2] or self.before

    def agreement(self, other: Denial) -> int:
        """How much two denials deny the same; 0 where they have nothing in common."""
        return 2 * len({*self.after} & {*other.after}) + len({*self.after, *self.before} & {*other.after, *other.before})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One text, read. `content` are the stems that say something, in order; `stems` are all of them, light ones too."""

    text: str
    content: tuple[str, ...]
    stems: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    known_numbers: frozenset[tuple[str, str]]
    units: frozenset[str]
    names: frozenset[str]
    identifiers: frozenset[str]
    denials: tuple[Denial, ...]
    opening: str
    """The stem of the first word where it is a content word: a name may hide there."""


@lru_cache(maxsize=8192)
def read(markdown: str, language: str) -> Reading:
    text = plain(markdown)
    english = language.casefold().startswith("en")
    found = words(text, language)
    light = _light() if english else frozenset[str]()
    numbers, counted = _numbers(text)
    content = [
        (start, stem)
        for start, end, stem in _whole(found)
        if stem not in light and start not in counted and text[start:end].casefold() not in NUMBER_WORDS
    ]
    spoken = {(NUMBER_WORDS[word.casefold()], "") for word in WORD.findall(text) if word.casefold() in NUMBER_WORDS}
    round_ones = {(ROUND_NUMBERS[word.casefold()], "") for word in WORD.findall(text) if word.casefold() in ROUND_NUMBERS}
    units = {unit for _, unit in numbers if unit} | {UNITS[word] for word in UNIT_WORD.findall(text) if word in UNITS}
    return Reading(
        text=text,
        content=tuple(dict.fromkeys(stem for _, stem in content)),
        stems=frozenset(stem for _, _, stem in found),
        numbers=frozenset(numbers | (_with_units(spoken, text) if english else set())),
        known_numbers=frozenset(numbers | spoken | round_ones),
        units=frozenset(units),
        names=_names(text, language),
        identifiers=frozenset(found for found in IDENTIFIER.findall(text) if found.casefold() not in NO_IDENTIFIERS),
        denials=_denials(text, content) if english else (),
        opening=content[0][1] if content and not text[: content[0][0]].strip("\"'“‘(«*_ ") else "",
    )


def plain(markdown: str) -> str:
    """The words of a sentence on one line, without list marks."""
    text = readable(without_mark(markdown))
    return " ".join(LATEX_COMMAND.sub(" ", LATEX.sub(r"\1", text)).split())


def without_mark(text: str) -> str:
    """Without the dash or number of a list item."""
    mark = ENUMERATOR.match(text)
    return text[mark.end() :] if mark else text


def _whole(found: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Without the parts of words that are there as well: an identifier is one word of a claim, however many it is made of."""
    reach = -1
    for start, end, stem in found:
        if end > reach:
            yield start, end, stem
            reach = end


def stem(word: str, language: str) -> str:
    found = words(word, language)
    return found[0][2] if found else word.casefold()


def _numbers(text: str) -> tuple[set[tuple[str, str]], set[int]]:
    """The numbers with their units, and the places that they take up: what stands there is no other word."""
    found, places = set(), set[int]()
    for match in NUMBER.finditer(text):
        token = match["unit"] or ""
        unit = UNITS.get(token) or UNITS.get(token.casefold() if len(token) > 3 else token, "")
        before = text[max(0, match.start() - 1) : match.start()]
        sign = "-" if match["sign"] else ""
        found.add((sign + _value(match["value"]), unit or UNITS.get(before, "")))
        places.update(range(match.start(), match.end() if unit else match.end("value")))
    return found, places


def _value(written: str) -> str:
    digits = re.sub(r"[,\u00a0\u202f]", "", written).replace("\u2212", "-").casefold()
    if digits.count(".") == 1 and "e" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0" if digits.isdigit() else digits


def _with_units(spoken: set[tuple[str, str]], text: str) -> set[tuple[str, str]]:
    """ "five metres" as (5, m)."""
    found = set()
    for value, _ in spoken:
        word = next(name for name, number in NUMBER_WORDS.items() if number == value)
        after = re.search(rf"\b{word}[ -]+([a-z]+)", text, re.IGNORECASE)
        token = after[1] if after else ""
        found.add((value, UNITS.get(token, "") if len(token) > 1 else ""))
    return found


def _names(text: str, language: str) -> frozenset[str]:
    """Capitalised words inside a sentence, and acronyms anywhere."""
    capitals_are_names = not language.casefold().startswith("de")
    found = set()
    for match in NAME.finditer(text):
        word = match[0]
        acronym = sum(map(str.isupper, word)) >= 2
        before = text[max(0, match.start() - 8) : match.start()].rstrip(" \"'“‘(«[*_")
        inside = bool(before) and before[-1] not in ".!?:;…|•–—"
        if word in UNITS:
            continue
        if acronym or (capitals_are_names and word[0].isupper() and inside and len(word) > 1):
            found.add(re.sub(r"['’]s\Z", "", word))
    return frozenset(found)


def _denials(text: str, content: list[tuple[int, str]]) -> tuple[Denial, ...]:
    masked = NO_NEGATION.sub(lambda match: "_" * len(match[0]), re.sub(r"\A(?:No|Yes),", "   ", text))
    words_of_it = [(match.start(), match.end(), match[0].casefold().replace("\u2019", "'")) for match in WORD.finditer(masked)]
    denying = [(start, end, _is_plain(word)) for start, end, word in words_of_it if _is_plain(word) or word in ALSO_DENIES]
    said = [(start, stem) for start, stem in content if stem not in _denying()]
    found = []
    for place, (start, end, is_plain) in enumerate(denying):
        stop = CLAUSE_END.search(masked, end)
        reach = min(stop.start() if stop else len(masked), denying[place + 1][0] if place + 1 < len(denying) else len(masked))
        after = tuple(dict.fromkeys(stem for at, stem in said if end <= at < reach))[:SCOPE]
        before = tuple(stem for at, stem in said if at < start)[-2:]
        found.append(Denial(after=after, before=before, plain=is_plain))
    return tuple(found)


def _is_plain(word: str) -> bool:
    return word in NEGATORS or word.endswith("n't")


@cache
def _light() -> frozenset[str]:
    return frozenset(found for _, _, found in words(LIGHT, "en")) | _denying()


@cache
def _denying() -> frozenset[str]:
    contracted = "don't doesn't didn't isn't aren't wasn't weren't can't won't couldn't shouldn't wouldn't mustn't hasn't haven't"
    return frozenset(found for _, _, found in words(" ".join(NEGATORS) + " " + contracted, "en"))
