"""When which client wants to go on: the soonest of many, without looking at all of them each time.

A heap that forgets nothing and believes nothing: whoever's time may have changed is entered again, and
an entry at the top counts only if it is still that client's time. So there is no entry to be found and
taken out, and a client that is never entered again after a change is the one way to go wrong.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Alarms:
    """``now_of(process)`` is a process's time as it is; None if it has none, or is gone."""

    def __init__(self, now_of: Callable[[int], int | None]) -> None:
        self._now_of = now_of
        self._entries: list[tuple[int, int]] = []

    def renew(self, processes: Iterable[int]) -> None:
        """Start afresh with everybody: all of their times may have changed."""
        times = ((self._now_of(process), process) for process in processes)
        self._entries = [(time_ns, process) for time_ns, process in times if time_ns is not None]
        heapify(self._entries)

    def enter(self, process: int) -> None:
        """Take note of a process whose time may have changed."""
        time_ns = self._now_of(process)
        if time_ns is not None:
            heappush(self._entries, (time_ns, process))

    def soonest(self) -> int | None:
        """Return the soonest time of all."""
        entries, now_of = self._entries, self._now_of
        while entries:
            time_ns, process = entries[0]
            if now_of(process) == time_ns:
                return time_ns
            heappop(entries)
        return None

    def due(self, now_ns: int) -> list[int]:
        """Take out the processes whose time has come, each once, in the order of their numbers."""
        found: set[int] = set()
        entries = self._entries
        while entries and entries[0][0] <= now_ns:
            time_ns, process = heappop(entries)
            if self._now_of(process) == time_ns:
                found.add(process)
        return sorted(found)
