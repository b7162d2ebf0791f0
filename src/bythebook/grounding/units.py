"""Units with all their names, how those of one kind convert into each other, and when two numbers are the same quantity."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from bythebook.grounding.numbers import number_of

NAMES = {
    "m": "m metre metres meter meters", "cm": "cm centimetre centimetres centimeter centimeters",
    "km": "km kilometre kilometres kilometer kilometers", "mm": "mm millimetre millimetres millimeter millimeters",
    "µm": "um µm μm micrometre micrometres micrometer micrometers micron microns",
    "nm": "nm nanometre nanometres nanometer nanometers", "inch": "inch inches", "ft": "ft foot feet", "yd": "yd yard yards",
    "mile": "mi mile miles",
    "s": "s sec second seconds", "ms": "ms millisecond milliseconds",
    "µs": "us µs μs microsecond microseconds", "ns": "ns nanosecond nanoseconds", "min": "min minute minutes",
    "h": "h hr hrs hour hours", "day": "day days", "week": "week weeks", "month": "month months", "year": "year years yr yrs",
    "decade": "decade decades",
    "Hz": "Hz hertz", "kHz": "kHz kilohertz", "MHz": "MHz megahertz", "GHz": "GHz gigahertz", "kg": "kg kilogram kilograms",
    "g": "g gram grams gramme grammes", "mg": "mg milligram milligrams", "µg": "µg μg microgram micrograms",
    "t": "tonne tonnes", "lb": "lb lbs", "oz": "oz ounce ounces",
    "l": "l L litre litres liter liters", "ml": "ml mL millilitre millilitres milliliter milliliters",
    "N": "N newton newtons Newton Newtons", "kN": "kN kilonewton kilonewtons", "Nm": "Nm N·m",
    "W": "W watt watts Watt Watts", "mW": "mW milliwatt milliwatts",
    "kW": "kW kilowatt kilowatts", "MW": "MW megawatt megawatts", "V": "V volt volts Volt Volts",
    "mV": "mV millivolt millivolts", "kV": "kV kilovolt kilovolts",
    "A": "A ampere amperes amp amps", "mA": "mA milliamp milliamps milliampere milliamperes", "Ah": "Ah", "mAh": "mAh",
    "Wh": "Wh", "kWh": "kWh", "Ω": "Ω ohm ohms Ohm", "kΩ": "kΩ kiloohm kiloohms",
    "J": "J joule joules", "kJ": "kJ kilojoule kilojoules", "kcal": "kcal kilocalorie kilocalories",
    "Pa": "Pa pascal pascals", "hPa": "hPa hectopascal hectopascals", "kPa": "kPa kilopascal kilopascals",
    "MPa": "MPa megapascal megapascals", "bar": "bar bars", "mbar": "mbar millibar millibars", "psi": "psi",
    "rad": "rad radian radians", "°": "° deg degree degrees", "°C": "°C",
    "°F": "°F", "%": "% percent", "ppm": "ppm", "bit": "bit bits",
    "byte": "B byte bytes", "kB": "kB KB kilobyte kilobytes", "MB": "MB Mb megabyte megabytes", "GB": "GB Gb gigabyte gigabytes",
    "TB": "TB Tb terabyte terabytes", "KiB": "KiB", "GiB": "GiB", "MiB": "MiB", "px": "px pixel pixels", "fps": "fps",
    "rpm": "rpm", "dB": "dB decibel decibels", "dBm": "dBm", "lux": "lux", "lm": "lm lumen lumens",
    "m/s": "m/s", "rad/s": "rad/s", "km/h": "km/h kph", "mile/h": "mph", "kn": "knot knots",
    "m/s2": "m/s² m/s^2 m/s2",
    "Mbit/s": "Mbit/s Mbps Mb/s", "kbit/s": "kbit/s kbps Kbps", "Gbit/s": "Gbit/s Gbps Gb/s",
    "$": "$ dollar dollars USD", "€": "€ euro euros EUR", "£": "£ GBP", "cent": "¢ cent cents",
}  # fmt: skip
UNITS = {name: unit for unit, names in NAMES.items() for name in names.split()}
"""From each name to the unit's sign."""
KINDS: dict[str, dict[str, str]] = {
    "length": {"m": "1", "mm": "0.001", "cm": "0.01", "km": "1000", "µm": "0.000001", "nm": "0.000000001", "inch": "0.0254",
               "ft": "0.3048", "yd": "0.9144", "mile": "1609.344"},
    "time": {"s": "1", "ms": "0.001", "µs": "0.000001", "ns": "0.000000001", "min": "60", "h": "3600", "day": "86400",
             "week": "604800"},
    "long time": {"year": "12", "month": "1", "decade": "120"},
    "frequency": {"Hz": "1", "kHz": "1000", "MHz": "1000000", "GHz": "1000000000"},
    "mass": {"kg": "1", "g": "0.001", "mg": "0.000001", "µg": "0.000000001", "t": "1000", "lb": "0.45359237"},
    "volume": {"l": "1", "ml": "0.001"},
    "force": {"N": "1", "kN": "1000"},
    "power": {"W": "1", "mW": "0.001", "kW": "1000", "MW": "1000000"},
    "voltage": {"V": "1", "mV": "0.001", "kV": "1000"},
    "resistance": {"Ω": "1", "kΩ": "1000"},
    "pressure": {"Pa": "1", "hPa": "100", "kPa": "1000", "MPa": "1000000", "bar": "100000", "mbar": "100"},
    "money": {"$": "1", "cent": "0.01"},
    "current": {"A": "1", "mA": "0.001"},
    "charge": {"Ah": "1", "mAh": "0.001"},
    "energy": {"Wh": "1", "kWh": "1000"},
    "heat": {"J": "1", "kJ": "1000"},
    "data rate": {"Mbit/s": "1", "kbit/s": "0.001", "Gbit/s": "1000"},
    "storage": {"byte": "1", "kB": "1000", "MB": "1000000", "GB": "1000000000", "TB": "1000000000000"},
    "binary storage": {"KiB": "1", "MiB": "1024", "GiB": "1048576"},
    "speed": {"m/s": "1", "km/h": "5/18", "mile/h": "0.44704"},
}  # fmt: skip
ALSO_TIME = {"month": "time", "year": "time", "decade": "time"}
KIND_OF = {unit: kind for kind, units in KINDS.items() for unit in units} | ALSO_TIME
"""What a unit measures. It shows that minutes stand in the place of seconds."""
RAISED = str.maketrans("²³", "23")
SHARE = {"": "1", "%": "1/100"}
"""Percentages count as plain numbers: 15 % is 0.15."""


def unit_of(token: str) -> str:
    """The sign of the unit that a word or sign names: "metres", "g/cm³", "m^2"; "" where it names none."""
    token = token.replace("^", "").translate(RAISED)
    known = UNITS.get(token) or (UNITS.get(token.casefold()) if len(token) > 3 else None)
    if known:
        return known
    measure, slash, base = token.partition("/")
    if slash:
        of, to = unit_of(measure), unit_of(base)
        return f"{of}/{to}" if of and to else token
    power = token[-1:] if token[-1:] in ("2", "3") and KIND_OF.get(UNITS.get(token[:-1], "")) == "length" else ""
    return f"{UNITS[token[:-1]]}{power}" if power else ""


@lru_cache(maxsize=1024)
def canonical_unit(unit: str) -> tuple[str, Fraction]:
    """The first unit of the same kind, and how many of it make one of this."""
    for units in (*KINDS.values(), SHARE):
        if unit in units:
            return next(iter(units)), Fraction(units[unit])
    measure, slash, base = unit.partition("/")
    if slash:
        (of, factor), (to, divisor) = canonical_unit(measure), canonical_unit(base)
        return f"{of}/{to}", factor / divisor
    if unit[-1:] in ("2", "3") and KIND_OF.get(unit[:-1]) == "length":
        of, factor = canonical_unit(unit[:-1])
        return f"{of}{unit[-1]}", factor ** int(unit[-1])
    return unit, Fraction(1)


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
    """Whether the number is a version such as 3.10, which is not 3.1. Any other number has lost its last zeros here."""
    return "." in value and value.endswith("0")


def reciprocal(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether one is the rate of the other's period: 30 Hz and 0.033 s."""
    (first, unit), (second, theirs) = canonical(*one), canonical(*other)
    if {unit, theirs} != {"Hz", "s"} or isinstance(first, str) or isinstance(second, str):
        return False
    return abs(first * second - 1) <= Fraction(1, 50)
