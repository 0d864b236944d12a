"""A host that slept: its monotonic clock stood still, and what it believed before is over."""

from __future__ import annotations

import pytest

from checker.evidence import Checked, ClockAnomaly, EvidenceLine, Fact, OwnClock, Slept
from checker.oracles.holdings import holdings
from checker.timeline import build

MS = 1_000_000
NAP = 1000 * MS


def line(own_ms: int, fact: Fact, *, slept_ns: int = 0) -> EvidenceLine:
    """Return a line; the true clock is what the own one would show if it had not slept."""
    true_ns = own_ms * MS + slept_ns
    return EvidenceLine("n1", own_ms * MS, true_ns, (true_ns, true_ns), fact)


CHECK = Checked(1, granted=True, clock=OwnClock.MONOTONIC, read_ns=10 * MS, until_ns=900 * MS)


@pytest.mark.parametrize("noticed", [(), (ClockAnomaly(1, "boottime-gap", NAP),)])
def test_what_was_held_before_a_sleep_is_certain_until_then(noticed: tuple[Fact, ...]) -> None:
    woken = [line(30, fact, slept_ns=NAP) for fact in (Slept(1, NAP), *noticed)]
    lines = [line(10, CHECK), line(20, CHECK), *woken]
    (timeline,) = build(lines).values()
    (held,) = holdings(timeline)
    assert (held.start_ns, held.end_ns) == (10 * MS, 20 * MS)


def test_who_serves_from_it_after_the_sleep_holds_it_then() -> None:
    again = Checked(1, granted=True, clock=OwnClock.MONOTONIC, read_ns=30 * MS, until_ns=900 * MS)
    lines = [line(10, CHECK), line(30, Slept(1, NAP), slept_ns=NAP), line(30, again, slept_ns=NAP)]
    (timeline,) = build(lines).values()
    assert [held.start_ns for held in holdings(timeline)] == [10 * MS, 30 * MS + NAP]
