"""What time it is to a node, three ways, and which of them leases and promises go by.

Monotonic and wall time are readings. *Interval* time is a span that is certain to hold the true time: a
time service told the span of one instant, and since then it has grown on both sides by what the node's
own clock may have been wrong meanwhile: its boot time, where that is read, since monotonic time stands
still while the host is suspended. Who has never been told knows no span.

An interval clock compares opposite ends (T1). A lease counts from the earliest the send can have been
and is judged at the latest it can be now; a promise runs from the latest a round can have been heard and
binds until the earliest it can be now is past it. So no bound on rates enters but the one within spans.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from checker.evidence import OwnClock
from targets.clock import Reading

PPM: Final = 1_000_000


class Sync(msgspec.Struct, frozen=True, gc=False):
    """The time service's word: when the node's clocks showed ``reading`` it was in between."""

    reading: Reading
    earliest_ns: int
    latest_ns: int


class Span(msgspec.Struct, frozen=True, gc=False):
    """True time, as far as a node can know it: both ends included."""

    earliest_ns: int
    latest_ns: int


class Moment(msgspec.Struct, frozen=True, gc=False):
    """One instant on a node's clocks; ``span`` is None where no time service has ever been heard.

    ``ticked_ns`` is what a leader's own heartbeats make of the time since it leads.
    """

    reading: Reading
    span: Span | None = None
    ticked_ns: int = 0


class Elapsed(msgspec.Struct, frozen=True, gc=False):
    """A node asked for the span: the last sync, and what its clock has counted since."""

    sync: Sync
    since_ns: int
    drift_ppm: int


def grow(view: Elapsed) -> Span:
    """T2: uncertainty grows by what a clock within the declared bound may have been wrong since."""
    slow_ns = view.since_ns * PPM // (PPM + view.drift_ppm)
    fast_ns = -(-view.since_ns * PPM // (PPM - view.drift_ppm))
    return Span(view.sync.earliest_ns + slow_ns, view.sync.latest_ns + fast_ns)


At = Callable[[Moment], int | None]


class LeaseClock(msgspec.Struct, frozen=True):
    """What a lease is counted on: from ``sent``, judged at ``now``; None where it cannot be told."""

    name: OwnClock
    sent: At
    now: At


class PromiseClock(msgspec.Struct, frozen=True):
    """What a promise is counted on: from ``heard``, compared with ``now``; None likewise.

    ``told`` is what of the sender's clock travels with the round it answers; ``heard`` is given that.
    """

    name: OwnClock
    heard: Callable[[Moment, int | None], int | None]
    now: At
    told: At


def mono(moment: Moment) -> int:
    """Return monotonic time."""
    return moment.reading.mono_ns


def wall(moment: Moment) -> int:
    """Return wall time."""
    return moment.reading.wall_ns


def earliest(moment: Moment) -> int | None:
    """Return the earliest it can be."""
    return None if moment.span is None else moment.span.earliest_ns


def latest(moment: Moment) -> int | None:
    """Return the latest it can be."""
    return None if moment.span is None else moment.span.latest_ns


def nothing(_moment: Moment) -> None:
    """F1: an instant of one node's clock means nothing to another, so none travels."""


def received(clock: At) -> Callable[[Moment, int | None], int | None]:
    """F1: a promise runs from the receipt on the clock of whoever received, whatever was told."""
    return lambda moment, _told: clock(moment)


LEASE_BY_MONOTONIC: Final = LeaseClock(OwnClock.MONOTONIC, mono, mono)
LEASE_BY_INTERVAL: Final = LeaseClock(OwnClock.INTERVAL, earliest, latest)
PROMISE_BY_MONOTONIC: Final = PromiseClock(OwnClock.MONOTONIC, received(mono), mono, nothing)
PROMISE_BY_INTERVAL: Final = PromiseClock(OwnClock.INTERVAL, received(latest), earliest, nothing)
