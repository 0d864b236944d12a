"""Intervals laid into rows, so that those of one row do not hide each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def rows_of(intervals: Iterable[tuple[int, int]], *, rows_max: int) -> list[int]:
    """Return a row for each interval, in order of starts, so that few overlap in one row."""
    ends: list[int] = []
    places = []
    for start_ns, end_ns in intervals:
        free = next((row for row, last_ns in enumerate(ends) if last_ns <= start_ns), None)
        if free is None and len(ends) < rows_max:
            free = len(ends)
            ends.append(end_ns)
        elif free is None:
            free = min(range(len(ends)), key=ends.__getitem__)
        ends[free] = max(ends[free], end_ns)
        places.append(free)
    return places
