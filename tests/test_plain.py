"""Values as plain JSON and back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bythebook.answering.answer import Answer, TurnEvent
from bythebook.answering.question import Question
from bythebook.answering.trace import Trace
from bythebook.errors import InvalidInput
from bythebook.jobs.progress import JobEvent
from bythebook.plain import from_plain, to_plain
from bythebook.retrieval.query import SearchQuery, SearchResponse
from bythebook.threads.conversation import Asked, ThreadEvent
from tests.support.values_of import values_of

TEN = datetime(2026, 3, 1, 10, 0, 0, 120, tzinfo=UTC)
SHARE = st.floats(0.0, 1.0)
ASKED = st.just("Why?")
KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "answer": (Answer, values_of(Answer)),
    "trace": (Trace, values_of(Trace)),
    "turn event": (TurnEvent, values_of(TurnEvent)),
    "thread event": (ThreadEvent, values_of(ThreadEvent)),
    "search query": (SearchQuery, values_of(SearchQuery)),
    "search response": (SearchResponse, values_of(SearchResponse)),
    "question": (Question, values_of(Question, text=ASKED, score_threshold=SHARE, similarity_threshold=SHARE)),
    "asked": (Asked, values_of(Asked)),
    "job event": (JobEvent, values_of(JobEvent)),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_goes_out_comes_back_the_same(name: str) -> None:
    kind, made = KINDS[name]

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(made)
    def there_and_back(value: Any) -> None:
        sent = json.dumps(to_plain(value), allow_nan=False)
        back = from_plain(kind, json.loads(sent))
        assert back == value
        assert type(back) is type(value)
        assert json.dumps(to_plain(back)) == sent

    there_and_back()


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    number: int
    share: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OddShapes:
    id: UUID
    place: Path
    moment: datetime
    choice: Literal["a", "b"]
    pair: tuple[int, str]
    names: frozenset[str]
    either: Small | str | None
    many: Sequence[Small] = ()
    by_name: dict[str, Small] = field(default_factory=dict)
    array: np.ndarray[Any, Any] | None = None


ODD = OddShapes(
    id=UUID(int=7),
    place=Path("a/b.md"),
    moment=TEN.astimezone(timezone(timedelta(hours=2))),
    choice="b",
    pair=(1, "one"),
    names=frozenset({"y", "x"}),
    either=Small(number=1),
    many=(Small(number=2, share=1),),
    by_name={"three": Small(number=3)},
)


def test_the_plain_form() -> None:
    assert to_plain(ODD) == {
        "type": "odd_shapes",
        "id": "00000000-0000-0000-0000-000000000007",
        "place": "a/b.md",
        "moment": "2026-03-01T10:00:00.000120Z",
        "choice": "b",
        "pair": [1, "one"],
        "names": ["x", "y"],
        "either": {"type": "small", "number": 1, "share": 0.5},
        "many": [{"type": "small", "number": 2, "share": 1}],
        "by_name": {"three": {"type": "small", "number": 3, "share": 0.5}},
        "array": None,
    }
    assert from_plain(OddShapes, to_plain(ODD)) == ODD


def test_numbers_of_numpy_are_numbers_and_its_arrays_are_left_out() -> None:
    assert to_plain([np.float32(0.5), np.int64(3), np.bool_(True)]) == [0.5, 3, True]
    assert to_plain({"embedding": np.zeros(3)}) == {"embedding": None}


def test_a_newer_program_may_have_added_a_field_and_an_older_one_lack_it() -> None:
    assert from_plain(Small, {"type": "small", "number": 1, "colour": "red"}) == Small(number=1)


@pytest.mark.parametrize(
    ("kind", "plain", "said"),
    [
        (Small, {"type": "small"}, "small has no number"),
        (Small, {"type": "large", "number": 1}, "should be small, not 'large'"),
        (Small, {"number": "1"}, "small.number: should be a whole number, not '1'"),
        (Small, {"number": True}, "small.number: should be a whole number, not True"),
        (Small, {"number": 1, "share": "half"}, "small.share: should be a number"),
        (Small, [], "should be an object"),
        (tuple[Small, ...], {}, "should be a list"),
        (Small | None, {"type": "large"}, "should be small or NoneType"),
        (Literal["a", "b"], "c", "should be one of 'a', 'b', not 'c'"),
        (datetime, "2026-03-01T10:00:00", "a time with a zone"),
        (datetime, "noon", "noon"),
        (int | str, 1.5, "should be int or str, not 1.5"),
        (np.ndarray, [1.0], "should be left out"),
    ],
)
def test_what_cannot_be_read_is_named(kind: Any, plain: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        from_plain(kind, plain)


def test_a_value_checks_itself_when_it_comes_back() -> None:
    with pytest.raises(InvalidInput, match="hardware tier"):
        from_plain(SearchQuery, {"text": "why so", "book_id": "light", "hardware_tier_filter": 9})


def test_what_has_no_plain_form() -> None:
    with pytest.raises(TypeError, match="object has no plain form"):
        to_plain([object()])
    with pytest.raises(ValueError, match="without a zone"):
        to_plain(datetime(2026, 3, 1))
