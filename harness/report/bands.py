"""What each node believed and promised, over time: bands to draw under the operations.

Everything here is for the eye. A lease or a promise ends where its node's own clock showed its end,
read off between two lines of evidence as if the clock had run evenly there; the oracles, which prove,
do not do that. A band ends with the boot that wrote it: what is not known of a dead node is not drawn.

Times count from the history's origin, on the true clock.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import Booted, Checked, OwnClock, Promised, Revoked, RoleChanged, TermChanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Boot, Timeline, Timelines

LEADS: Final = "leads"
LEASE: Final = "lease"
PROMISE: Final = "promise"
DOWN: Final = "down"


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """Something that lasted. ``sure_ns``: until when the node is known to have acted on it."""

    kind: str
    node: str
    start_ns: int
    end_ns: int
    text: str
    term: int | None = None
    sure_ns: int | None = None


def bands_of(timelines: Timelines) -> tuple[Band, ...]:
    """Return every band of every node, those of one kind and node in the order of time."""
    return tuple(
        band
        for timeline in timelines.values()
        for walk in (_leads, _leases, _promises, _down)
        for band in walk(NodeClock(timeline, timelines.origin_ns))
    )


class NodeClock:
    """A node's lines, and the true instant at which one of its clocks first showed something."""

    def __init__(self, timeline: Timeline, origin_ns: int) -> None:
        self.timeline = timeline
        self.node = timeline.node
        self.origin_ns = origin_ns
        self._highest: dict[tuple[int, OwnClock], list[int]] = {}

    def at(self, place: int) -> int:
        """Return when a line was written."""
        return self.timeline.before_ns[place] - self.origin_ns

    def reached(self, own_ns: int, clock: OwnClock, place: int) -> int:
        """Return when a clock of the boot of ``place`` showed ``own_ns``, or that boot's end."""
        boot = self.timeline.boot_at(place)
        highest = self._shown(boot, clock)
        at = bisect_left(highest, own_ns)
        if at == len(highest):
            return self.at(boot.last)
        if at == 0 or highest[at] == own_ns:
            return self.at(boot.first + at)
        before, after = self.at(boot.first + at - 1), self.at(boot.first + at)
        share = (own_ns - highest[at - 1]) / (highest[at] - highest[at - 1])
        return before + round((after - before) * share)

    def _shown(self, boot: Boot, clock: OwnClock) -> list[int]:
        known = self._highest.get((boot.first, clock))
        if known is None:
            showing = self.timeline.showing
            places = range(boot.first, boot.last + 1)
            known = list(accumulate((showing(place, clock) for place in places), max))
            self._highest[boot.first, clock] = known
        return known


def _leads(clock: NodeClock) -> Iterator[Band]:
    for lead in clock.timeline.leaderships:
        yield Band(
            kind=LEADS,
            node=clock.node,
            start_ns=clock.at(lead.first),
            end_ns=clock.at(lead.last),
            text=f"term {lead.term}",
            term=lead.term,
        )


def _down(clock: NodeClock) -> Iterator[Band]:
    boots = clock.timeline.boots
    for ended, begun in pairwise(boots):
        yield Band(
            kind=DOWN,
            node=clock.node,
            start_ns=clock.at(ended.last),
            end_ns=clock.at(begun.first),
            text="down",
        )


class _Belief:
    """A lease as a node believed in it: from the first check that granted it to its end."""

    def __init__(self, start_ns: int, term: int) -> None:
        self.start_ns = start_ns
        self.term = term
        self.sure_ns = start_ns
        self.until_ns: int | None = start_ns


def _leases(clock: NodeClock) -> Iterator[Band]:
    timeline = clock.timeline
    belief: _Belief | None = None
    for place in timeline.turns(Booted, Checked, Revoked, RoleChanged, TermChanged):
        what, at_ns = timeline.lines[place].what, clock.at(place)
        if isinstance(what, Checked) and what.granted:
            goes_on = belief is not None and belief.term == what.term
            if belief is not None and (not goes_on or _over(belief, at_ns)):
                yield _lease(clock, belief, at_ns)
                belief = None
            if belief is None:
                belief = _Belief(at_ns, what.term)
            belief.sure_ns = at_ns
            belief.until_ns = (
                None if what.until_ns is None else clock.reached(what.until_ns, what.clock, place)
            )
        elif belief is not None:
            ended_ns = clock.at(place - 1) if isinstance(what, Booted) else at_ns
            yield _lease(clock, belief, ended_ns)
            belief = None
    if belief is not None:
        yield _lease(clock, belief, clock.at(len(timeline.lines) - 1))


def _over(belief: _Belief, at_ns: int) -> bool:
    return belief.until_ns is not None and belief.until_ns < at_ns


def _lease(clock: NodeClock, belief: _Belief, ended_ns: int) -> Band:
    end_ns = ended_ns if belief.until_ns is None else min(belief.until_ns, ended_ns)
    return Band(
        kind=LEASE,
        node=clock.node,
        start_ns=belief.start_ns,
        end_ns=max(end_ns, belief.sure_ns),
        text=f"lease, term {belief.term}",
        term=belief.term,
        sure_ns=belief.sure_ns,
    )


def _promises(clock: NodeClock) -> Iterator[Band]:
    timeline = clock.timeline
    current: Band | None = None
    for place in timeline.turns(Booted, Promised):
        what, at_ns = timeline.lines[place].what, clock.at(place)
        if isinstance(what, Booted):
            if current is not None:
                yield _until(current, clock.at(max(place - 1, 0)))
            current = None
            continue
        assert isinstance(what, Promised)
        end_ns = clock.reached(what.until_ns, what.clock, place)
        text = f"silence to {what.holder}, term {what.term}"
        if current is not None and current.text == text and at_ns <= current.end_ns:
            current = msgspec.structs.replace(current, end_ns=max(end_ns, current.end_ns))
            continue
        if current is not None:
            yield current
        current = Band(
            kind=PROMISE, node=clock.node, start_ns=at_ns, end_ns=end_ns, text=text, term=what.term
        )
    if current is not None:
        yield current


def _until(band: Band, end_ns: int) -> Band:
    return msgspec.structs.replace(band, end_ns=min(band.end_ns, end_ns))
