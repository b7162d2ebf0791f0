"""Values of any kind of ours, made by hypothesis from the kinds of their fields."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from bythebook.books.model import LAYERS, PROFICIENCIES
from bythebook.retrieval.query import Scope, SearchQuery

TEXT = st.text(max_size=12)
SCOPES = st.builds(
    Scope,
    hardware_tier_filter=st.none() | st.integers(1, 4),
    module_filter=st.none() | TEXT,
    chapter_min=st.none() | st.integers(0, 3),
    chapter_max=st.none() | st.integers(3, 9),
    proficiency_levels=st.none() | st.lists(st.sampled_from(PROFICIENCIES)).map(tuple),
    layer_filter=st.none() | st.sampled_from(LAYERS),
    limit=st.integers(1, 20),
)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    bool: st.booleans(),
    int: st.integers(-(2**31), 2**31 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: TEXT,
    datetime: st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)),
    Path: TEXT.map(lambda text: Path(text.replace("\0", "") or ".")),
    Any: st.recursive(st.none() | st.booleans() | st.integers() | TEXT, lambda held: st.dictionaries(TEXT, held), max_leaves=3),
    Scope: SCOPES,
    SearchQuery: st.builds(Scope.search, SCOPES, st.text("aé🤖 ", min_size=1).map(lambda text: f"why {text}")),
}


def values_of(kind: Any, **chosen: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """`chosen`: fields that are made otherwise."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if origin in (Union, types.UnionType):
        return st.one_of(*(values_of(one) for one in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(values_of, arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=2)
    hints = get_type_hints(kind)
    made = {one.name: values_of(hints[one.name]) for one in dataclasses.fields(kind) if one.name not in chosen}
    return st.builds(kind, **made, **chosen)
