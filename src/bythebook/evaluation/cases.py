"""A question with what its author expects, and how it is read from a row of any format. Values and checks, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from bythebook.answering.question import check_question
from bythebook.drafting.draft import Exchange
from bythebook.errors import InvalidInput
from bythebook.grounding.verdict import RefusalReason
from bythebook.retrieval.query import FILTERS, Scope

REASONS: tuple[RefusalReason, ...] = get_args(RefusalReason)
REASON_OF_KIND: Mapping[str, RefusalReason] = {
    "near": "not_in_book",
    "foreign": "off_topic",
    "beyond_filter": "outside_filters",
}
"""The reason of refusal that each kind of question implies, for questions whose author gave no reason."""
SHORT_NAMES = {short: name for short, name in FILTERS.items() if short != "parent_doc_id"}
FILTER_NAMES = frozenset(SHORT_NAMES.values())
YES, NO = frozenset({"true", "yes", "y", "1"}), frozenset({"false", "no", "n", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything but the question is optional, and what is not given is not scored.

    `lessons` are those that answer it; `quote` is the sentence that does; every one of `keywords` must appear in the answer, and
    at least one of `answers`. `passage` is the text it was asked about, where the format gives that instead of a lesson."""

    id: str
    question: str
    line: int = 0
    answerable: bool | None = None
    reason: RefusalReason | None = None
    kind: str = ""
    lessons: tuple[str, ...] = ()
    quote: str | None = None
    passage: str | None = None
    keywords: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    filters: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Exchange, ...] = ()
    standalone: str | None = None
    checked: bool = True
    """Whether its author has checked it; a drafted question is unchecked."""

    def scope(self, book_id: str, limit: int) -> Scope:
        """The scope of the question: without filters unless the case has some, as in a chat."""
        return Scope(book_id=book_id, limit=limit, **self.filters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something about the questions that their author should know. A remark stops nothing."""

    line: int
    id: str
    message: str


def read_case(row: Mapping[str, Any], *, line: int, number: int) -> Case:
    """Reads a case. Raises InvalidInput with what is wrong in the row; the caller adds the line."""
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise InvalidInput("it has no question")
    check_question(question)
    kind = _text(row, "kind") or ""
    reason = _text(row, "reason") or REASON_OF_KIND.get(kind)
    if reason is not None and reason not in REASONS:
        raise InvalidInput(f"its reason must be one of {', '.join(REASONS)}, not '{reason}'")
    found = Case(
        id=str(row.get("id") or f"q{number}"),
        question=question.strip(),
        line=line,
        reason=reason,
        kind=kind,
        lessons=_texts(row, "lessons") or _texts(row, "lesson"),
        quote=_text(row, "quote"),
        passage=_text(row, "passage"),
        keywords=_texts(row, "keywords"),
        answers=_texts(row, "answers"),
        filters=_filters(row.get("filters") or {}),
        history=_history(row.get("history") or ()),
        standalone=_text(row, "standalone"),
        checked=_flag(row, "checked") is not False,
        answerable=_answerable(row, reason),
    )
    found.scope("any", 1)  # raises where a filter is out of range
    return found


def _answerable(row: Mapping[str, Any], reason: str | None) -> bool | None:
    stated = _flag(row, "answerable")
    if stated is not None:
        return stated
    if reason:
        return False
    expects = any(row.get(name) for name in ("lesson", "lessons", "quote", "passage", "keywords", "answers"))
    return True if expects else None


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"its {name} must be a text")
    return value.strip() or None


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or ()
    several = (value,) if isinstance(value, str) else value
    if not isinstance(several, Sequence) or not all(isinstance(one, str) for one in several):
        raise InvalidInput(f"its {name} must be a text or a list of texts")
    return tuple(one.strip() for one in several if one.strip())


def _flag(row: Mapping[str, Any], name: str) -> bool | None:
    value = row.get(name)
    if value is None or value == "":
        return None
    word = str(value).strip().lower()
    if word not in YES | NO:
        raise InvalidInput(f"its {name} must be true or false, not '{value}'")
    return word in YES


def _filters(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput("its filters must be an object of names and values")
    filters: dict[str, Any] = {}
    for name, value in given.items():
        known = SHORT_NAMES.get(name, name)
        if known not in FILTER_NAMES:
            raise InvalidInput(f"it has a filter '{name}', and there are only {', '.join(sorted(SHORT_NAMES))}")
        filters[known] = tuple(value) if isinstance(value, list) else value
        if not isinstance(filters[known], _FILTER_TYPES[known]) or isinstance(value, bool):
            raise InvalidInput(f"its filter '{name}' cannot be {value!r}")
    return filters


_FILTER_TYPES: Mapping[str, type] = {
    **dict.fromkeys(FILTER_NAMES, str),
    **dict.fromkeys(("hardware_tier_filter", "chapter_min", "chapter_max", "lesson_filter"), int),
    "proficiency_levels": tuple,
}


def _history(given: Any) -> tuple[Exchange, ...]:
    """Messages that alternate, beginning with a reader's."""
    wrong = InvalidInput("its history must alternate between a user's and an assistant's message, each with role and content")
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) % 2:
        raise wrong
    roles = [one.get("role") if isinstance(one, Mapping) else None for one in given]
    if roles != ["user", "assistant"] * (len(roles) // 2) or not all(isinstance(one.get("content"), str) for one in given):
        raise wrong
    return tuple(
        Exchange(question=asked["content"], answer=told["content"]) for asked, told in zip(given[::2], given[1::2], strict=True)
    )
