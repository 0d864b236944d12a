"""Virtual time: a heap of what is to happen, in the order of ``(time_ns, seq)``.

Two things due at one instant happen in the order in which they were asked for, so nothing depends on
how a heap breaks ties. Time is an integer and moves only here.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Heap:
    """What is to happen. ``now_ns`` is true time, from the run's origin."""

    __slots__ = ("_due", "_seq", "now_ns")

    def __init__(self) -> None:
        self.now_ns = 0
        self._seq = 0
        self._due: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []

    def at(self, time_ns: int, act: Callable[..., object], *args: Any) -> None:
        """Have ``act(*args)`` happen at ``time_ns``, which is not before now."""
        assert time_ns >= self.now_ns, "nothing happens in the past"
        self._seq += 1
        heappush(self._due, (time_ns, self._seq, act, args))

    def run_while(self, going: Callable[[], bool], *, until_ns: int) -> bool:
        """Let things happen while ``going()``; False if time or events ran out before it said no."""
        due = self._due
        while going():
            if not due or due[0][0] > until_ns:
                return False
            self.now_ns, _, act, args = heappop(due)
            act(*args)
        return True

    def run_until(self, time_ns: int) -> None:
        """Let everything happen that is due by ``time_ns``, and then it is that time."""
        self.run_while(lambda: True, until_ns=time_ns)
        self.now_ns = max(self.now_ns, time_ns)
