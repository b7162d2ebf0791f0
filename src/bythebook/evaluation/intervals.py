"""How certain a figure is: 95% intervals, and whether two runs differ. Pure, and the same on every run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Z = 1.959963984540054
"""95% of a normal distribution lie within this many deviations."""
RESAMPLES = 2000
SEED = 20261115


def wilson(right: int, count: int) -> tuple[float, float]:
    """Wilson's interval of a rate: reliable also where the counts are small or the rate is 0 or 1."""
    if not count:
        return 0.0, 1.0
    rate, square = right / count, Z * Z
    middle = (rate + square / (2 * count)) / (1 + square / count)
    half = Z * math.sqrt(rate * (1 - rate) / count + square / (4 * count * count)) / (1 + square / count)
    return (0.0 if right == 0 else middle - half), (1.0 if right == count else middle + half)


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Returns the interval of a mean, by a bootstrap over the questions."""
    if not values:
        return 0.0, 0.0
    numbers = np.asarray(values, dtype=np.float64)
    chance = np.random.default_rng(SEED)
    means = [numbers[chance.integers(0, len(numbers), len(numbers))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def mcnemar(better: int, worse: int) -> float:
    """Returns the exact two-sided probability that a split of the changed questions as uneven as this is chance."""
    changed = better + worse
    if not changed:
        return 1.0
    ways = tail = 1
    for few in range(min(better, worse)):
        ways = ways * (changed - few) // (few + 1)
        tail += ways
    return float(min(1.0, 2 * tail / 2**changed))


def percentile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0
