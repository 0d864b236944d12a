"""Mistakes in what time it is: a clock that stood still, doubt that does not grow or is not past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from targets.cluster import ClockMode, Primitive
from targets.leasekv.moments import Span
from targets.leasekv.rules import notice_anomaly
from targets.target import Place

from .planted import ANYWHERE, Planted, instead

if TYPE_CHECKING:
    from targets.leasekv.moments import Elapsed
    from targets.leasekv.views import Anomaly, ClockView, StampView


def _stalls_only(view: ClockView) -> Anomaly | None:
    """Compare with no clock that goes on while the host is suspended."""
    still = msgspec.structs.replace(
        view.now,
        wall_ns=view.before.wall_ns + view.now.mono_ns - view.before.mono_ns,
        boot_ns=None,
    )
    return notice_anomaly(msgspec.structs.replace(view, now=still, slept_ns=0))


def _as_sure_as_then(view: Elapsed) -> Span:
    return Span(view.sync.earliest_ns + view.since_ns, view.sync.latest_ns + view.since_ns)


def _told_at_once(_view: StampView) -> bool:
    return True


ALL: Final = (
    Planted(
        id="suspended-clock",
        policy="lease-renew",
        rule="L11",
        places=(Place.SIM,),
        needs=(Primitive.SUSPEND, Primitive.LINKS),
        sentence="Nobody notices that the monotonic clock stood still while the host was suspended.",
        change=instead(anomaly=_stalls_only),
    ),
    Planted(
        id="eps-frozen",
        policy="lease-interval",
        rule="T2",
        places=ANYWHERE,
        needs=(Primitive.TIME_SERVICE, Primitive.CLOCK_RATE, Primitive.LINKS),
        drift_ppm=200_000,
        clock=ClockMode.RATE,
        sentence="What time it is counts as known as well as when the time service last spoke.",
        change=instead(span=_as_sure_as_then),
    ),
    Planted(
        id="no-commit-wait",
        policy="lease-interval-commit-wait",
        rule="T3",
        places=ANYWHERE,
        needs=(Primitive.TIME_SERVICE,),
        drift_ppm=200_000,
        shown_by="timestamp-order",
        sentence="A write is answered before its timestamp is certainly past.",
        change=instead(stamp_past=_told_at_once),
    ),
)
