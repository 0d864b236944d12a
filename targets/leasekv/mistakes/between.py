"""Mistakes of policies in which something else than promises keeps old leases and new leaders apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.evidence import OwnClock
from targets.cluster import Primitive

from .planted import PROCESSES, Planted, instead

if TYPE_CHECKING:
    from targets.leasekv import views as v
from targets.leasekv.moments import LeaseClock, earliest, latest


def _no_wait(_old: v.OldLease) -> int:
    return 0


def _whatever_touches_it(_view: v.LimboView) -> bool:
    return True


def _at_once(_view: v.GateView) -> bool:
    return True


_ENDS_SWAPPED: Final = LeaseClock(OwnClock.INTERVAL, latest, earliest)

ALL: Final = (
    Planted(
        id="interval-wrong-end",
        policy="lease-interval",
        rule="T1",
        places=PROCESSES,
        needs=(Primitive.TIME_SERVICE, Primitive.LINKS),
        drift_ppm=200_000,
        sentence="A lease counts from the latest it can have begun and ends at the earliest it can be.",
        change=instead(lease_clock=_ENDS_SWAPPED),
    ),
    Planted(
        id="newleader-no-wait",
        policy="newleader-waits",
        rule="W2",
        places=PROCESSES,
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A new leader does not wait for the old lease that its voters told it of.",
        change=instead(wait_ns=_no_wait),
    ),
    Planted(
        id="leaseguard-early-commit",
        policy="lease-log",
        rule="G1",
        places=PROCESSES,
        needs=(Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A new leader commits while the old one may still read by a young entry.",
        change=instead(commit_allowed=_at_once),
    ),
    Planted(
        id="limbo-read",
        policy="lease-log-inherited",
        rule="G3",
        places=PROCESSES,
        needs=(Primitive.DELAY, Primitive.LINKS, Primitive.CAMPAIGN),
        sentence="A new leader reads keys that entries in limbo touch by the lease it inherited.",
        change=instead(limbo_allows=_whatever_touches_it),
    ),
)
