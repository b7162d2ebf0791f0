"""Our values as plain JSON and back: how an answer is kept in a thread, and how events travel between two processes.

A dataclass becomes an object that names itself by `type`, so that a union of them can be read again: by its name in
`STORED_NAMES`, or, where it is never stored, by its class name in snake_case. Computed properties are not written, fields that
a newer program has added are ignored, and an array is left out (None).
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload
from uuid import UUID

T = TypeVar("T")
Reading = Callable[[Any], Any]
Plain = Any
"""None, bool, int, float, str, a list of plain values, or a dict of them by str."""

TYPE = "type"
STORED_NAMES = {
    "Answer": "answer",
    "BookAssessment": "book_assessment",
    "Citation": "citation",
    "ConfidenceMetrics": "confidence_metrics",
    "Considered": "considered",
    "Drafted": "drafted",
    "Dropped": "dropped",
    "Figure": "figure",
    "FollowUp": "follow_up",
    "Gate": "gate",
    "Mark": "mark",
    "Remark": "remark",
    "Report": "report",
    "Retrieved": "retrieved",
    "SearchQuery": "search_query",
    "Section": "section",
    "Sentence": "sentence",
    "Shown": "shown",
    "SourcePlace": "source_place",
    "Span": "span",
    "Step": "step",
    "Times": "times",
    "QuestionTime": "timing",
    "ToolCall": "tool_call",
    "Trace": "trace",
}
"""Class name -> the name under which its values are stored in threads and reports. A class that is renamed changes the left side;
the right side never changes, or stored threads can no longer be read."""
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@cache
def type_name(kind: type) -> str:
    return STORED_NAMES.get(kind.__name__) or _CAPITAL.sub("_", kind.__name__).lower()


def to_plain(value: object) -> Plain:
    """The value as plain JSON. Raises TypeError for what is not a value of ours, ValueError for a time without a zone."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return _written(value)
        case UUID() | Path():
            return str(value)
        case Mapping():
            return {str(key): to_plain(held) for key, held in value.items()}
        case list() | tuple():
            return [to_plain(held) for held in value]
        case set() | frozenset():
            return sorted(to_plain(held) for held in value)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return {TYPE: type_name(type(value)), **fields}
        case _ if hasattr(value, "dtype"):  # numpy's, which is not imported for it
            return None if getattr(value, "ndim", 0) else to_plain(value.item())  # type: ignore[attr-defined]
    raise TypeError(f"{type(value).__name__} has no plain form")


@overload
def from_plain(kind: type[T], plain: Plain) -> T: ...
@overload
def from_plain(kind: object, plain: Plain) -> Any: ...
def from_plain(kind: Any, plain: Plain) -> Any:
    """Reads a value of this kind: a class, a union of them, or anything a field may be annotated with. Raises ValueError that
    says what is wrong and where."""
    return _reader(kind)(plain)


@cache
def _reader(kind: Any) -> Reading:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return lambda plain: plain
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin is Literal:
        return lambda plain: plain if plain in arguments else _wrong(f"one of {', '.join(map(repr, arguments))}", plain)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return lambda plain: tuple(_reader(one)(held) for one, held in zip(arguments, _listed(plain), strict=True))
    if origin in _LISTS:
        return lambda plain: _LISTS[origin](map(_reader(arguments[0]), _listed(plain)))
    if origin in (dict, Mapping):
        return lambda plain: {key: _reader(arguments[1])(held) for key, held in _object(plain).items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    return lambda plain: None if plain is None else _wrong("left out", plain)


def _union_reader(members: tuple[Any, ...]) -> Reading:
    named = {type_name(member): member for member in members if dataclasses.is_dataclass(member) and isinstance(member, type)}
    others = [member for member in members if member not in named.values()]

    def read(plain: Plain) -> Any:
        if isinstance(plain, dict) and plain.get(TYPE) in named:
            return _reader(named[plain[TYPE]])(plain)
        for member in others:
            try:
                return _reader(member)(plain)
            except ValueError:
                continue
        return _wrong(" or ".join([*named, *(getattr(member, "__name__", str(member)) for member in others)]), plain)

    return read


def _dataclass_reader(kind: Any) -> Reading:
    name = type_name(kind)
    needed = {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    def read(plain: Plain) -> Any:
        given = _object(plain)
        if given.get(TYPE, name) != name:
            _wrong(name, given[TYPE])
        if missing := sorted(needed - given.keys()):
            raise ValueError(f"{name} has no {missing[0]}")
        return kind(**{field: _at(f"{name}.{field}", of, given[field]) for field, of in _fields(kind) if field in given})

    return read


@cache
def _fields(kind: Any) -> tuple[tuple[str, Reading], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, _reader(hints[field.name])) for field in dataclasses.fields(kind))


def _at(place: str, read: Reading, plain: Plain) -> Any:
    try:
        return read(plain)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _wrong(wanted: str, plain: Plain) -> Any:
    raise ValueError(f"should be {wanted}, not {plain!r:.80}")


def _written(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _exactly(kind: type, name: str) -> Reading:
    return lambda plain: plain if type(plain) is kind else _wrong(name, plain)


def _number(plain: Plain) -> float:
    return float(plain) if isinstance(plain, int | float) and not isinstance(plain, bool) else _wrong("a number", plain)


def _moment(plain: Plain) -> datetime:
    moment = datetime.fromisoformat(_text(plain))
    return moment if moment.tzinfo else _wrong("a time with a zone", plain)


def _listed(plain: Plain) -> list[Plain]:
    return plain if isinstance(plain, list) else _wrong("a list", plain)


def _object(plain: Plain) -> dict[str, Plain]:
    return plain if isinstance(plain, dict) else _wrong("an object", plain)


_text = _exactly(str, "a text")
_LISTS: dict[Any, Callable[[Any], Any]] = {tuple: tuple, list: list, Sequence: tuple, set: set, frozenset: frozenset}
_SIMPLE: dict[Any, Reading] = {
    type(None): _exactly(type(None), "nothing"),
    bool: _exactly(bool, "true or false"),
    int: _exactly(int, "a whole number"),
    float: _number,
    str: _text,
    datetime: _moment,
    UUID: lambda plain: UUID(_text(plain)),
    Path: lambda plain: Path(_text(plain)),
}
