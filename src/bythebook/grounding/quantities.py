"""Numbers as values with units, however they are written: "4,096", "0.50 m", "five metres", "15 %"."""

from __future__ import annotations

import re

NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
    "eleven": "11", "twelve": "12",
}  # fmt: skip
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
    "dB": "dB decibel decibels", "m/s": "m/s", "rad/s": "rad/s", "km/h": "km/h", "m/s2": "m/s² m/s^2 m/s2",
    "Mbit/s": "Mbit/s Mbps", "$": "$ dollar dollars", "€": "€ euro euros",
}  # fmt: skip
UNITS = {name: unit for unit, names in UNIT_NAMES.items() for name in names.split()}
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]}.])[-\u2212](?=\d))?(?<![\w.])"
    r"(?P<value>\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*(?:[eE][-+\u2212]?\d+)?)"
    r"(?:[ \u00a0\u202f]?-?(?P<unit>[%°][CF]?|[A-Za-zµμ]+(?:[/·][A-Za-z]+)?(?:²|\^2|2(?!\w))?))?"
)
UNIT_WORD = re.compile(r"[%°$€]|[A-Za-zµμ]{2,}(?:/[a-z]+)?")


def numbers_in(text: str) -> tuple[set[tuple[str, str]], set[int]]:
    """The numbers with their units, and the places that they take up: what stands there is no other word."""
    found, places = set(), set[int]()
    for match in NUMBER.finditer(text):
        token = match["unit"] or ""
        unit = UNITS.get(token) or UNITS.get(token.casefold() if len(token) > 3 else token, token if "/" in token else "")
        before = text[max(0, match.start() - 1) : match.start()]
        sign = "-" if match["sign"] else ""
        found.add((sign + value_of(match["value"]), unit or UNITS.get(before, "")))
        places.update(range(match.start(), match.end() if unit else match.end("value")))
    return found, places


def value_of(written: str) -> str:
    digits = re.sub(r"[,\u00a0\u202f]", "", written).replace("\u2212", "-").casefold()
    if digits.count(".") == 1 and "e" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0" if digits.isdigit() else digits


def spoken_with_units(spoken: set[tuple[str, str]], text: str) -> set[tuple[str, str]]:
    """ "five metres" as (5, m)."""
    found = set()
    for value, _ in spoken:
        word = next(name for name, number in NUMBER_WORDS.items() if number == value)
        after = re.search(rf"\b{word}[ -]+([a-z]+)", text, re.IGNORECASE)
        token = after[1] if after else ""
        found.add((value, UNITS.get(token, "") if len(token) > 1 else ""))
    return found
