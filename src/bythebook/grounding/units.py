"""Units by all their names, and how those of one kind convert into each other."""

from __future__ import annotations

from decimal import Decimal

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
    "%": "% percent", "bit": "bit bits",
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
}  # fmt: skip
ALSO_TIME = {"month": "time", "year": "time"}
KIND_OF = {unit: kind for kind, units in KINDS.items() for unit in units} | ALSO_TIME
"""What a unit measures, so that minutes in the place of seconds are seen."""


def canonical_unit(unit: str) -> tuple[str, Decimal | None]:
    """The first unit of the same kind and how many of it one is; None where the unit converts into nothing."""
    for units in KINDS.values():
        if unit in units:
            return next(iter(units)), Decimal(units[unit])
    return unit, Decimal(1)
