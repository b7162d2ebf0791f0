"""Errors in the fields of a request, in our own words: what a field must be, and what it was where that is short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Found = Mapping[str, Any]
"""An error of pydantic: `type`, `loc`, `input`, and `ctx` with the limits that were exceeded."""

LONGEST_SHOWN = 40
UUID4_SAMPLE = "550e8400-e29b-41d4-a716-446655440000"
PATTERNS = {"book_id": "must be the id of a book: small letters, digits, '.', '_' and '-', such as my-book"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """What is wrong with one field of a request."""

    field: str
    message: str


def field_error(found: Found) -> FieldError:
    place = tuple(found["loc"])
    field = ".".join(str(part) for part in place[1:]) or str(place[0])
    if place == ("body",):
        return FieldError(field=field, message="must be a JSON object, sent with Content-Type: application/json")
    return FieldError(field=field, message=_message(found, str(place[-1])))


def _message(found: Found, name: str) -> str:
    kind, limits = str(found["type"]), found.get("ctx") or {}
    if kind in ("too_short", "too_long") and isinstance(found.get("input"), str):
        kind = f"string_{kind}"
    if kind == "value_error":
        return str(limits["error"])
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(name, f"must match {limits['pattern']}") + _given(found)
    if kind.startswith("uuid"):
        return _uuid(limits.get("expected_version", 4)) + _given(found)
    said = MESSAGES.get(kind) or next((said for start, said in BEGINNINGS.items() if kind.startswith(start)), None)
    if said is None:
        return "does not fit; /openapi.json says what does"
    return said(limits) + ("" if kind in WITHOUT_VALUE else _given(found))


def _uuid(version: int) -> str:
    return f"must be a UUID of version {version}" + (f", such as {UUID4_SAMPLE}" if version == 4 else ", as results have it")


def _given(found: Found) -> str:
    """What was sent, where it is short enough to be recognised."""
    given = found.get("input")
    shown = str(given).lower() if isinstance(given, bool) else repr(given)
    return f", not {shown}" if isinstance(given, str | int | float) and 0 < len(shown) <= LONGEST_SHOWN else ""


def _length(limits: Found, what: str) -> str:
    if "min_length" in limits:
        return "must not be empty" if limits["min_length"] == 1 else f"must have at least {limits['min_length']} {what}"
    return f"must have at most {limits['max_length']:,} {what}"


MESSAGES: dict[str, Callable[[Found], str]] = {
    "missing": lambda _: "is missing",
    "extra_forbidden": lambda _: "is no field of this request; /openapi.json lists those it has",
    "string_too_short": lambda limits: _length(limits, "characters"),
    "string_too_long": lambda limits: _length(limits, "characters"),
    "too_short": lambda limits: _length(limits, "entries"),
    "too_long": lambda limits: _length(limits, "entries"),
    "greater_than_equal": lambda limits: f"must be {limits['ge']} or more",
    "less_than_equal": lambda limits: f"must be {limits['le']:,} or less",
    "literal_error": lambda limits: f"must be {limits['expected'].replace(chr(39), '')}",
    "finite_number": lambda _: "must be a number",
    "timezone_aware": lambda _: "must be a time with a zone, such as 2026-01-31T12:00:00Z",
}
BEGINNINGS: dict[str, Callable[[Found], str]] = {
    "string": lambda _: "must be a text",
    "int": lambda _: "must be a whole number",
    "float": lambda _: "must be a number",
    "bool": lambda _: "must be true or false",
    "list": lambda _: "must be a list",
    "tuple": lambda _: "must be a list",
    "dict": lambda _: "must be a JSON object",
    "model": lambda _: "must be a JSON object",
    "datetime": MESSAGES["timezone_aware"],
}
"""The message for each type of error that begins so. The rest of the type says how the error was noticed, which does not help a
reader."""
WITHOUT_VALUE = frozenset({"missing", "extra_forbidden", "string_too_short", "string_too_long", "too_short", "too_long"})
