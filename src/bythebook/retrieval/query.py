"""What a reader may see, what can be asked and what comes back: document D's SearchQuery, SearchResult and SearchResponse."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from bythebook.books.model import HARDWARE_TIERS, LAYERS, PROFICIENCIES, Span
from bythebook.errors import InvalidInput
from bythebook.index.vectors import Filters

MIN_TEXT = 3
MAX_TEXT = 1000
MAX_LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a reader may see, and how much of it: one book, filters that must all match, and how many results.
    `hardware_tier_filter` includes its tier and lower ones."""

    book_id: str
    hardware_tier_filter: int | None = None
    module_filter: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson_filter: int | None = None
    proficiency_levels: tuple[str, ...] | None = None
    layer_filter: str | None = None
    parent_doc_id: str | None = None
    prefix_filter: str | None = None
    limit: int = 5

    def __post_init__(self) -> None:
        _within("limit", self.limit, 1, MAX_LIMIT)
        _within("hardware tier", self.hardware_tier_filter, HARDWARE_TIERS[0], HARDWARE_TIERS[-1])
        for name, number in (("chapter", self.chapter_min), ("chapter", self.chapter_max), ("lesson", self.lesson_filter)):
            _within(name, number, 0, None)
        if self.chapter_min is not None and self.chapter_max is not None and self.chapter_min > self.chapter_max:
            raise InvalidInput(f"No chapter is both {self.chapter_min} or later and {self.chapter_max} or earlier: swap the two.")
        for level in self.proficiency_levels or ():
            _one_of("proficiency level", level, PROFICIENCIES)
        if self.layer_filter is not None:
            _one_of("layer", self.layer_filter, LAYERS)

    @classmethod
    def of(cls, book_id: str, *, limit: int = 5, **filters: Any) -> Self:
        """The filters by their short names, as `FILTERS` has them."""
        return cls(book_id=book_id, limit=limit, **{FILTERS[name]: value for name, value in filters.items()})

    def search(self, text: str, *, similarity_threshold: float = 0.0) -> SearchQuery:
        """A search for this text, within this scope."""
        given = {one.name: getattr(self, one.name) for one in fields(Scope)}
        return SearchQuery(text=text, similarity_threshold=similarity_threshold, **given)

    @property
    def unfiltered(self) -> Scope:
        """The same scope without filters."""
        return Scope(book_id=self.book_id, limit=self.limit)

    @property
    def filters(self) -> Filters:
        return Filters(
            book_id=self.book_id,
            hardware_tier_max=self.hardware_tier_filter,
            module=self.module_filter,
            chapter_min=self.chapter_min,
            chapter_max=self.chapter_max,
            lesson=self.lesson_filter,
            proficiency_levels=self.proficiency_levels or None,
            layer=self.layer_filter,
            parent_doc_id=self.parent_doc_id,
            prefix=self.prefix_filter,
        )


FILTERS = {one.name.removesuffix("_filter"): one.name for one in fields(Scope) if one.name not in ("book_id", "limit")}
"""The short name of each filter -> document D's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery(Scope):
    """A text and the scope it is searched in. In document D a search starts at tier 1; `Scope.search` keeps the scope's own
    tier."""

    text: str
    hardware_tier_filter: int | None = 1
    similarity_threshold: float = 0.0
    """Results less relevant than this are left out."""

    def __post_init__(self) -> None:
        length = len(self.text.strip())
        if not MIN_TEXT <= length <= MAX_TEXT:
            raise InvalidInput(f"A search takes {MIN_TEXT} to {MAX_TEXT:,} characters; this one has {length:,}.")
        if not 0.0 <= self.similarity_threshold <= 1.0:
            raise InvalidInput(f"The similarity threshold must be from 0.0 to 1.0, not {self.similarity_threshold}.")
        Scope.__post_init__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A chunk that was found. `score` is the cosine similarity, clamped to 0-1; `relevance` is the calibrated scale of 0-1,
    None where the book is not calibrated; `rank` is the order."""

    rank: int
    id: str
    text: str
    preface: str
    score: float
    relevance: float | None
    source_file: str
    source_url: str
    section_title: str | None
    page_title: str
    chapter_title: str
    heading_path: tuple[str, ...]
    module: str
    chapter: int
    lesson: int
    hardware_tier: int
    proficiency_level: str
    layer: str
    chunk_index: int
    total_chunks: int
    parent_doc_id: str
    prev_chunk_id: str | None
    next_chunk_id: str | None
    content_hash: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse:
    """Document D's SearchResponse. `total_found` is how many chunks pass the filters, not how many are shown."""

    query: str
    results: tuple[SearchResult, ...]
    total_found: int
    hardware_tier_filter: int | None
    module_filter: str | None
    book_id: str
    filter_applied: str | None = None


def _within(name: str, number: int | None, lowest: int, highest: int | None) -> None:
    if number is None or (number >= lowest and (highest is None or number <= highest)):
        return
    span = f"from {lowest} to {highest}" if highest is not None else f"{lowest} or more"
    raise InvalidInput(f"The {name} must be {span}, not {number}.")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidInput(f"The {name} must be one of {', '.join(allowed)}, not '{value}'.")
