"""Was the harness itself fit to observe? Its loop's lag, and suspends of the host.

A late loop makes intervals longer, which is safe, and schedules imprecise, which is not harmless: what
should have been seen may have been missed. A suspended host stops CLOCK_MONOTONIC_RAW and everything
on it, while other clocks go on. Either makes a run *unreliable*: a pass becomes unknown, a violation
stays what it is.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

TICK_S: Final = 0.02
SUSPEND_MIN_NS: Final = 100_000_000


class Watch:
    """Ticks on the loop beside the run."""

    def __init__(self, *, lag_max_ns: int) -> None:
        self._lag_max_ns = lag_max_ns
        self.lag_ns = 0
        self.suspended_ns = 0
        self._stopped_ns = _asleep_ns()
        self._due_ns = 0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin watching the running loop."""
        self._due_ns = time.monotonic_ns() + round(TICK_S * 1e9)
        self._handle = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def stop(self) -> None:
        """End watching."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._look()

    @property
    def unreliable(self) -> str | None:
        """Why the run cannot be relied on; None if it can."""
        if self.suspended_ns >= SUSPEND_MIN_NS:
            return f"the host was suspended for {self.suspended_ns / 1e9:.1f} s"
        if self.lag_ns > self._lag_max_ns:
            lag_ms, most_ms = self.lag_ns / 1e6, self._lag_max_ns / 1e6
            return f"the harness lagged by {lag_ms:.0f} ms, more than {most_ms:.0f} ms: too busy a host"
        return None

    def _tick(self) -> None:
        self.lag_ns = max(self.lag_ns, time.monotonic_ns() - self._due_ns)
        self._look()
        self.start()

    def _look(self) -> None:
        self.suspended_ns = _asleep_ns() - self._stopped_ns


def _asleep_ns() -> int:
    """How long the host has slept since it booted: what BOOTTIME counts and MONOTONIC does not."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
