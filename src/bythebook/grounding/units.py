"""Units with all their names, how those of one kind convert into each other, and when two numbers are the same quantity."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

NAMES = {
    "m": "m metre metres meter meters", "cm": "cm centimetre centimetres centimeter centimeters",
    "km": "km kilometre kilometres kilometer kilometers", "mm": "mm millimetre millimetres millimeter millimeters",
    "s": "s sec second seconds", "ms": "ms millisecond milliseconds",
    "µs": "us µs μs microsecond microseconds", "ns": "ns nanosecond nanoseconds", "min": "min minute minutes",
    "h": "h hour hours", "day": "day days", "week": "week weeks", "month": "month months", "year": "year years",
    "Hz": "Hz hertz", "kHz": "kHz kilohertz", "MHz": "MHz megahertz", "GHz": "GHz gigahertz", "kg": "kg kilogram kilograms",
    "g": "g gram grams", "N": "N newton newtons Newton Newtons", "Nm": "Nm N·m", "W": "W watt watts Watt Watts",
    "kW": "kW kilowatt kilowatts", "V": "V volt volts Volt Volts", "mV": "mV millivolt millivolts",
    "A": "A ampere amperes amp amps", "mA": "mA milliamp milliamps", "Ah": "Ah", "mAh": "mAh", "Wh": "Wh", "kWh": "kWh",
    "J": "J joule joules", "Pa": "Pa pascal pascals", "rad": "rad radian radians", "°": "° deg degree degrees", "°C": "°C",
    "°F": "°F", "%": "% percent", "bit": "bit bits",
    "byte": "B byte bytes", "kB": "kB KB kilobyte kilobytes", "MB": "MB megabyte megabytes", "GB": "GB gigabyte gigabytes",
    "TB": "TB terabyte terabytes", "KiB": "KiB", "GiB": "GiB", "MiB": "MiB", "px": "px pixel pixels", "fps": "fps",
    "rpm": "rpm", "dB": "dB decibel decibels", "m/s": "m/s", "rad/s": "rad/s", "km/h": "km/h", "m/s2": "m/s² m/s^2 m/s2",
    "Mbit/s": "Mbit/s Mbps", "$": "$ dollar dollars", "€": "€ euro euros",
}  # fmt: skip
UNITS = {name: unit for unit, names in NAMES.items() for name in names.split()}
"""From each name to the unit's sign."""
KINDS: dict[str, dict[str, str]] = {
    "length": {"m": "1", "mm": "0.001", "cm": "0.01", "km": "1000"},
    "time": {"s": "1", "ms": "0.001", "µs": "0.000001", "ns": "0.000000001", "min": "60", "h": "3600", "day": "86400",
             "week": "604800"},
    "long time": {"year": "12", "month": "1"},
    "frequency": {"Hz": "1", "kHz": "1000", "MHz": "1000000", "GHz": "1000000000"},
    "mass": {"kg": "1", "g": "0.001"},
    "power": {"W": "1", "kW": "1000"},
    "voltage": {"V": "1", "mV": "0.001"},
    "current": {"A": "1", "mA": "0.001"},
    "charge": {"Ah": "1", "mAh": "0.001"},
    "energy": {"Wh": "1", "kWh": "1000"},
    "storage": {"byte": "1", "kB": "1000", "MB": "1000000", "GB": "1000000000", "TB": "1000000000000"},
    "binary storage": {"KiB": "1", "MiB": "1024", "GiB": "1048576"},
    "speed": {"m/s": "1", "km/h": "5/18"},
}  # fmt: skip
ALSO_TIME = {"month": "time", "year": "time"}
KIND_OF = {unit: kind for kind, units in KINDS.items() for unit in units} | ALSO_TIME
"""What a unit measures, so that minutes in the place of seconds are seen."""
SHARE = {"": "1", "%": "1/100"}
"""15 % is 0.15."""
LARGEST_EXPONENT = 30
LONGEST_TAIL = 40
"""Places behind the point."""
LONGEST_NUMBER = 40


def canonical_unit(unit: str) -> tuple[str, Fraction]:
    """The first unit of the same kind, and how many of it one is."""
    for units in (*KINDS.values(), SHARE):
        if unit in units:
            return next(iter(units)), Fraction(units[unit])
    return unit, Fraction(1)


def value_of(written: str) -> str:
    """A number in figures by its value: no grouping, no zeros that say nothing."""
    digits = re.sub(r"[,\u00a0\u202f]", "", written).replace("\u2212", "-").casefold()
    if "e" in digits and (number := number_of(digits)) is not None:
        return in_figures(number)
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0" if digits.isdigit() else digits


def in_figures(number: Fraction) -> str:
    """A number as figures, or as a ratio where figures would not end."""
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
    exponent = re.search(r"e[-+]?(\d+)", value)
    try:
        return (
            Fraction(value) if len(value) <= LONGEST_NUMBER and not (exponent and int(exponent[1]) > LARGEST_EXPONENT) else None
        )
    except (ValueError, ZeroDivisionError):
        return None


@lru_cache(maxsize=4096)
def canonical(value: str, unit: str) -> tuple[Fraction | str, str]:
    """The same quantity in the first unit of its kind: 500 ms is 0.5 s."""
    base, factor = canonical_unit(unit)
    number = number_of(value)
    return (value, unit) if number is None else (number * factor, base)


def equal(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two numbers with units are the same quantity. A third is also 0.33 and 33 %."""
    if one == other:
        return True
    (first, unit), (second, theirs) = canonical(*one), canonical(*other)
    if unit != theirs or isinstance(first, str) or isinstance(second, str) or _is_version(one[0]) or _is_version(other[0]):
        return False
    rounded = any(number.denominator % 3 == 0 for number in (first, second))
    return first == second or (rounded and abs(first - second) <= abs(first) / 50)


def _is_version(value: str) -> bool:
    """3.10, which is not 3.1: a number that is no version has lost its last zeros."""
    return "." in value and value.endswith("0")


def reciprocal(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether one is the rate and the other the period of the same: 30 Hz and 0.033 s."""
    (first, unit), (second, theirs) = canonical(*one), canonical(*other)
    if {unit, theirs} != {"Hz", "s"} or isinstance(first, str) or isinstance(second, str):
        return False
    return abs(first * second - 1) <= Fraction(1, 50)
