"""Figures out of repeated measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
