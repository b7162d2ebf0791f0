"""Dates of a text, however they are written: "2026-11-16", "16 November 2026", "Nov. 16, 2026", "November 2026"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
NUMBER_OF = {name: number for number, month in enumerate(MONTHS, start=1) for name in (month, month[:3])} | {"sept": 9}
MONTH = "(?P<month>" + "|".join(sorted((name.capitalize() for name in NUMBER_OF), key=len, reverse=True)) + r")\b\.?"
DATE = re.compile(
    r"(?<![\w.-])(?P<iso>(?:1[5-9]|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)(?![\w-])"
    rf"|\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?{MONTH}(?: (?P<after>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?"
    r"(?:,? (?P<year>(?:1[5-9]|20)\d\d))?\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDate:
    """`text[start:end]`; `value` as 2026-11-16, 2026-11 or, without a year, --11-16."""

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


def says_date(known: str, said: str) -> bool:
    """Whether a text that has the date `known` says `said` too, which is less exact: its year, its month or its day."""
    return known.startswith(f"{said}-") or (said.startswith("--") and known.endswith(said[1:]))
