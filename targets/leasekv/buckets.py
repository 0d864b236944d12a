"""A histogram that costs one search and two additions a value."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

SECONDS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
)  # fmt: skip
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128)


class Buckets:
    """How many values were at most each bound and above the one before, and the sum of all."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Take one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value
