"""How many and how long, over time: counted while a history goes by, whatever its length.

A run's length is known only at its end, and nothing is to be read twice. So the time is cut into bins
of one width that doubles, pairs of bins becoming one, whenever there are more than `BINS_MAX`. Every
latency is kept, as eight bytes, in the bin in which its operation ended: percentiles are exact.
"""

from __future__ import annotations

from array import array
from typing import Final

import msgspec

BINS_MAX: Final = 240
_WIDTH_NS: Final = 10_000_000


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """How long the operations of one path took: exact percentiles, by nearest rank."""

    path: str
    count: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int


class Tally:
    """Counts ends of operations. ``bins[path][n]`` has the latencies of those that ended in bin n."""

    def __init__(self) -> None:
        self.width_ns = _WIDTH_NS
        self.bins: dict[str, dict[int, array[int]]] = {}
        self.failed: dict[int, int] = {}
        self._end_ns = BINS_MAX * self.width_ns

    def ok(self, path: str, at_ns: int, spent_ns: int) -> None:
        """Count an operation that succeeded."""
        if at_ns >= self._end_ns:
            self._widen(at_ns)
        bins = self.bins.get(path)
        if bins is None:
            bins = self.bins[path] = {}
        place = at_ns // self.width_ns
        spent = bins.get(place)
        if spent is None:
            spent = bins[place] = array("q")
        spent.append(spent_ns)

    def not_ok(self, at_ns: int) -> None:
        """Count an operation that failed, or of which nobody knows."""
        if at_ns >= self._end_ns:
            self._widen(at_ns)
        place = at_ns // self.width_ns
        self.failed[place] = self.failed.get(place, 0) + 1

    def spent(self) -> tuple[Spent, ...]:
        """Return the figures of every path over the whole run."""
        told = []
        for path, bins in sorted(self.bins.items()):
            every = array("q")
            for each in bins.values():
                every.extend(each)
            ordered = sorted(every)
            p50, p95, p99 = (rank(ordered, share) for share in (50, 95, 99))
            told.append(
                Spent(
                    path=path, count=len(ordered), p50_ns=p50, p95_ns=p95, p99_ns=p99, max_ns=ordered[-1]
                )
            )
        return tuple(told)

    def _widen(self, at_ns: int) -> None:
        while at_ns >= self._end_ns:
            self.width_ns *= 2
            self._end_ns *= 2
            for path, bins in self.bins.items():
                wider: dict[int, array[int]] = {}
                self.bins[path] = wider
                for place, spent in bins.items():
                    there = wider.setdefault(place // 2, spent)
                    if there is not spent:
                        there.extend(spent)
            failed: dict[int, int] = {}
            for place, count in self.failed.items():
                failed[place // 2] = failed.get(place // 2, 0) + count
            self.failed = failed


def rank(ordered: list[int], percent: int) -> int:
    """Return the percentile of a sorted list, by nearest rank."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
