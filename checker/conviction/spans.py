"""What a node could know of the true time at each of its lines, recounted from its time service's words.

Right: the last word is a span that held the true time when the node's clock showed ``read_ns``; since
then it has grown on both sides by what a clock within the declared bound may have been wrong meanwhile
(T2), boot time counting, not monotonic time, where a host slept. All of that is written down, so the
recount is exact to the nanosecond. Beside the right span stands the one of a node that lets nothing
grow: its own clock's word, as certain as when the service last spoke.

Evidence of older nodes does not tell ``read_ns``; of those nothing is recounted (`Spans.told`).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import msgspec

from checker.evidence import Slept, Synced

from .owed import PPM

if TYPE_CHECKING:
    from checker.timeline import Timeline


class Span(msgspec.Struct, frozen=True):
    """True time in nanoseconds as a node can know it, both ends included; and as if nothing grew."""

    earliest_ns: int
    latest_ns: int
    ungrown_earliest_ns: int
    ungrown_latest_ns: int


class Spans:
    """The spans of one node."""

    def __init__(self, timeline: Timeline, drift_ppm: int) -> None:
        self._timeline = timeline
        self._drift_ppm = drift_ppm
        self._synced = list(timeline.facts(Synced))
        self._places = [place for place, _ in self._synced]
        self._slept = list(timeline.facts(Slept))
        self.told = all(fact.read_ns is not None for _, fact in self._synced)

    def at(self, place: int, own_ns: int | None = None) -> Span | None:
        """Return the span at a line, or when the monotonic clock showed ``own_ns`` right after it.

        None where no time service has been heard since the node booted.
        """
        known = bisect_left(self._places, place)
        if known == 0:
            return None
        since, word = self._synced[known - 1]
        if since < self._timeline.boot_at(place).first or word.read_ns is None:
            return None
        now_ns = self._timeline.lines[place].own_ns if own_ns is None else own_ns
        asleep_ns = sum(fact.size_ns for at, fact in self._slept if since < at < place)
        passed_ns = max(0, now_ns - word.read_ns + asleep_ns)
        slow_ns = passed_ns * PPM // (PPM + self._drift_ppm)
        fast_ns = -(-passed_ns * PPM // (PPM - self._drift_ppm))
        return Span(
            word.earliest_ns + slow_ns,
            word.latest_ns + fast_ns,
            word.earliest_ns + passed_ns,
            word.latest_ns + passed_ns,
        )
