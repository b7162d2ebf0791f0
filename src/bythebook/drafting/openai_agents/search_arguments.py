"""What a model asks its search tool for: document B's parameters, ranges and defaults."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass

logger = logging.getLogger(__name__)

MAX_TOP_K = 20
DEFAULT_TOP_K = 5
MAX_QUERY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArguments:
    """The arguments of one call of the search tool, checked."""

    query: str
    top_k: int = DEFAULT_TOP_K
    similarity_threshold: float = 0.0


def read_arguments(raw: str) -> SearchArguments:
    """Reads the arguments. Values that a model gets wrong are clamped, and logged."""
    try:
        given = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        logger.warning("The model called its tool with arguments that are no JSON object")
        return SearchArguments(query="")
    query = given.get("query")
    read = SearchArguments(
        query=query.strip()[:MAX_QUERY] if isinstance(query, str) else "",
        top_k=round(_within(given.get("top_k"), lowest=1, highest=MAX_TOP_K, default=DEFAULT_TOP_K)),
        similarity_threshold=_within(given.get("similarity_threshold"), lowest=0.0, highest=1.0, default=0.0),
    )
    for name in ("query", "top_k", "similarity_threshold"):
        if name in given and given[name] != getattr(read, name):
            logger.warning("The model asked for %s=%.80r; %.80r is used", name, given[name], getattr(read, name))
    return read


def _within(value: object, *, lowest: float, highest: float, default: float) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else default
    except (ValueError, OverflowError):
        return default
    return default if math.isnan(number) else min(highest, max(lowest, number))
