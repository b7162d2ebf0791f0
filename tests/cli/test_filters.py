"""Who is reading, as it is typed in a chat."""

from __future__ import annotations

import pytest

from bythebook.cli.filters import parse_filter
from bythebook.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("tier=2", {"hardware_tier_filter": 2}),
        ("module=lamp lesson=3", {"module_filter": "lamp", "lesson_filter": 3}),
        ("chapter=4", {"chapter_min": 4, "chapter_max": 4}),
        ("chapter=1-3", {"chapter_min": 1, "chapter_max": 3}),
        ("level=b1,B2", {"proficiency_levels": ("B1", "B2")}),
        ("layer=l2  prefix=module-1", {"layer_filter": "L2", "prefix_filter": "module-1"}),
    ],
)
def test_a_filter_is_read(text: str, fields: dict[str, object]) -> None:
    assert parse_filter(text) == fields


@pytest.mark.parametrize("text", ["tier", "tier=", "tier=²", "tier=-1", "chapter=a-b", "chapter=", "lesson=1.5", "=1", "wick"])
def test_a_filter_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"must be a number|There is no filter"):
        parse_filter(text)
