"""Whether the harness was fit to observe."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.run.watch import Watch
from targets.clock import MS, SECOND

if TYPE_CHECKING:
    import pytest


def watched(busy_s: float) -> Watch:
    async def run() -> Watch:
        watch = Watch(lag_max_ns=100 * MS)
        watch.start()
        await asyncio.sleep(0.05)
        time.sleep(busy_s)  # noqa: ASYNC251 - starving the loop is the point
        await asyncio.sleep(0.05)
        watch.stop()
        return watch

    return asyncio.run(run())


def test_a_loop_that_was_starved_makes_the_run_unreliable() -> None:
    watch = watched(0.2)
    assert watch.lag_ns >= 150 * MS
    assert "lagged" in str(watch.unreliable)


def test_a_suspend_of_the_host_is_seen_by_what_boottime_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep_ns = [0]
    real = time.clock_gettime_ns

    def clock(which: int) -> int:
        return real(which) + (asleep_ns[0] if which == time.CLOCK_BOOTTIME else 0)

    monkeypatch.setattr(time, "clock_gettime_ns", clock)
    watch = Watch(lag_max_ns=SECOND)
    assert watch.unreliable is None
    asleep_ns[0] = 3 * SECOND
    watch.stop()
    assert watch.unreliable == "the host was suspended for 3.0 s"
