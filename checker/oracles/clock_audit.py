"""Oracle 7: what each node's clocks really did, against the true clock and the declared bound.

It accuses nobody. A lease is sound only while every clock's rate stays within ``drift_ppm`` of true
time; this tells a broken rule from a broken assumption. Where one was broken it says *outside*.

Rate: over stretches within one boot, of about ``window_ns`` and of every doubling of it that the boot
has room for, what the monotonic clock counted is compared with what certainly passed. With stamps
``[b, a]`` at the start and ``[b', a']`` at the end, the true length lies in ``[b' - a, a' - b]``, so the
rate in ``[own/(a' - b), own/(b' - a)]``; what is reported is the end of that interval nearer to no
error. A fake moves in steps of a few milliseconds, which the leases' fixed margin pays for; so the bound
counts as broken only if a window is off by more than the bound and `GRANULARITY_NS`; the longer the
window, the smaller an error that can be told.

A host that was suspended has no clock at another rate: its monotonic time stood still meanwhile, the
node says for how long (`Slept`), and that counts as passed. Whether the node drew the conclusion is a
rule's business (L11). Where nobody reads boot time, a sleep is told by nobody and shows as a rate.

Offset: how far the wall clock ran from the true clock since the node's first line. A wall clock that
counts a bent monotonic time drifts along with it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import Slept
from checker.oracles.result import Finding, OracleResult, assumed, unavailable
from checker.timeline import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Boot, Timeline, Timelines

NAME: Final = "clock-audit"
KIND: Final = "assumption"
PPM: Final = 1_000_000
GRANULARITY_NS: Final = 10 * MS


class ClockReport(msgspec.Struct, frozen=True):
    """What one node's clocks did.

    ``rate_error_ppm`` is the rate error largest in size, signed: at least that much, for certain.
    ``wall_offset_ns`` is the wall clock's largest distance from where it started, signed likewise.
    ``windows`` counts the stretches that could be measured, ``outside`` those beyond the bound.
    """

    node: str
    rate_error_ppm: int
    wall_offset_ns: int
    windows: int
    outside: int
    first_outside_ns: tuple[int, int] | None


def clock_audit(
    timelines: Timelines, *, drift_ppm: int | None = None, window_ns: int = SECOND
) -> OracleResult:
    """Measure all nodes. ``drift_ppm`` None means that nothing was declared, so nothing is noted."""
    if not timelines:
        return unavailable(NAME, KIND, "no node left any evidence")
    reports = [
        measure(timeline, drift_ppm=drift_ppm, window_ns=window_ns) for timeline in timelines.values()
    ]
    figures: dict[str, int | float] = {}
    for report in reports:
        figures[f"rate_error_ppm.{report.node}"] = report.rate_error_ppm
        figures[f"wall_offset_ms.{report.node}"] = round(report.wall_offset_ns / MS, 3)
    figures["windows"] = sum(report.windows for report in reports)
    figures["outside"] = sum(report.outside for report in reports)
    findings = [
        Finding(
            sentence=(
                f"the monotonic clock of {report.node} ran {report.rate_error_ppm:+d} ppm off at worst,"
                f" beyond the declared {drift_ppm} ppm, first {timelines.at(report.first_outside_ns[0])}"
                " into the run: leases rest on a bound that was broken"
            ),
            during_ns=report.first_outside_ns,
            nodes=(report.node,),
        )
        for report in reports
        if report.first_outside_ns is not None
    ]
    return assumed(NAME, KIND, findings, figures)


def measure(timeline: Timeline, *, drift_ppm: int | None = None, window_ns: int = SECOND) -> ClockReport:
    """Measure one node over stretches of ``window_ns`` and its doublings, four to a window."""
    worst = windows = outside = 0
    first = None
    asleep = _Asleep(timeline)
    for boot in timeline.boots:
        length_ns = window_ns
        while stretches := list(_windows(timeline, boot, length_ns)):
            windows += len(stretches)
            for start, end in stretches:
                error_ppm = _rate_error_ppm(timeline, start, end, asleep.ns(start, end))
                if abs(error_ppm) > abs(worst):
                    worst = error_ppm
                slack_ppm = GRANULARITY_NS * PPM // length_ns
                if drift_ppm is not None and abs(error_ppm) > drift_ppm + slack_ppm:
                    outside += 1
                    first = first or (timeline.before_ns[start], timeline.after_ns[end])
            length_ns *= 2
    return ClockReport(timeline.node, worst, _wall_offset_ns(timeline), windows, outside, first)


def _windows(timeline: Timeline, boot: Boot, window_ns: int) -> Iterator[tuple[int, int]]:
    before_ns, after_ns = timeline.before_ns, timeline.after_ns
    start, stop = boot.first, boot.last + 1
    while start < stop:
        end = bisect_left(before_ns, after_ns[start] + window_ns, start, stop)
        if end == stop:
            return
        yield start, end
        start = max(start + 1, bisect_left(before_ns, before_ns[start] + window_ns // 4, start, stop))


class _Asleep:
    """How long a node's monotonic time stood still, between any two of its lines."""

    def __init__(self, timeline: Timeline) -> None:
        told = list(timeline.facts(Slept))
        self._places = [place for place, _ in told]
        self._sums_ns = [0, *accumulate(fact.size_ns for _, fact in told)]

    def ns(self, start: int, end: int) -> int:
        """Return what was slept after line ``start``, and up to what line ``end`` itself tells."""
        first, last = (bisect_right(self._places, place) for place in (start, end))
        return self._sums_ns[last] - self._sums_ns[first]


def _rate_error_ppm(timeline: Timeline, start: int, end: int, asleep_ns: int) -> int:
    """Return the rate error of least size that the stamps allow."""
    own_ns = timeline.lines[end].own_ns - timeline.lines[start].own_ns + asleep_ns
    least_ns = timeline.before_ns[end] - timeline.after_ns[start]
    most_ns = timeline.after_ns[end] - timeline.before_ns[start]
    if own_ns > most_ns:
        return (own_ns - most_ns) * PPM // most_ns
    if own_ns < least_ns:
        return -((least_ns - own_ns) * PPM // least_ns)
    return 0


def _wall_offset_ns(timeline: Timeline) -> int:
    """Return the wall clock's offset from its first line's, of least size that the stamps allow."""
    first = timeline.lines[0]
    worst = 0
    for line in timeline.lines:
        passed_ns = line.wall_ns - first.wall_ns
        ahead_ns = passed_ns - (line.true_ns[1] - first.true_ns[0])
        behind_ns = passed_ns - (line.true_ns[0] - first.true_ns[1])
        if ahead_ns > abs(worst):
            worst = ahead_ns
        elif -behind_ns > abs(worst):
            worst = behind_ns
    return worst
