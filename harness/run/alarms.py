"""When which client wants to go on: the soonest of many, without looking at all of them each time.

A heap that forgets nothing: a time that was changed stays in it, and an entry at the top counts only if
it is still that client's time. So there is no entry to be found and taken out, and a client whose time
has changed and is not set again is the one way to go wrong.
"""

from __future__ import annotations

from heapq import heappop, heappush


class Alarms:
    """One time a process, or none."""

    def __init__(self) -> None:
        self._times: dict[int, int] = {}
        self._entries: list[tuple[int, int]] = []

    def set(self, process: int, time_ns: int | None) -> None:
        """Let this be a process's time, and no other; None is no time."""
        if time_ns is None:
            self._times.pop(process, None)
        elif self._times.get(process) != time_ns:
            self._times[process] = time_ns
            heappush(self._entries, (time_ns, process))

    def soonest(self) -> int | None:
        """Return the soonest time of all."""
        entries, times = self._entries, self._times
        while entries:
            time_ns, process = entries[0]
            if times.get(process) == time_ns:
                return time_ns
            heappop(entries)
        return None

    def due(self, now_ns: int) -> list[int]:
        """Take out the processes whose time has come, in the order of their numbers."""
        found: list[int] = []
        entries, times = self._entries, self._times
        while entries and entries[0][0] <= now_ns:
            time_ns, process = heappop(entries)
            if times.get(process) == time_ns:
                del times[process]
                found.append(process)
        return sorted(found)
