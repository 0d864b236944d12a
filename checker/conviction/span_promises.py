"""A vote held against promises that are measured by spans of true time (T1, T2, and F beside them).

Kept, a promise ends E after the latest instant at which its round can have been heard, and binds until
the earliest that it can be is past that. Who has never heard a time service promises on its monotonic
clock, longer by what that may be too fast. All of that is recounted from the time service's words. So a
promise that was written too short tells which end of a span it was counted from; of one that was written
right, and broken, evidence does not tell what the voter compared: then every rule that could be behind
it is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.evidence import OwnClock
from checker.timeline import ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.evidence import Promised, Voted
    from checker.timeline import Timeline

    from .owed import Owed
    from .spans import Spans

Found = tuple[tuple[str, ...], str, *tuple[str, ...]]
"""Rules, words and look-alikes."""


@dataclass(frozen=True, slots=True)
class Vow:
    """A vote on a line of the voter's, and what is needed to judge it."""

    timeline: Timeline
    place: int
    vote: Voted
    spans: Spans
    owed: Owed

    @property
    def own_ns(self) -> int:
        """What the voter's monotonic clock showed."""
        return self.timeline.lines[self.place].own_ns

    @property
    def ignored(self) -> str:
        """The rule that it breaks if it knew that it was bound."""
        return "F3" if self.vote.candidate == self.timeline.node else "F2"


@dataclass(slots=True)
class _Ends:
    """When all promises so far end: rightly, as written, and as two wrong ways would have it."""

    right_ns: int | None = None
    written_ns: int | None = None
    earliest_ns: int | None = None
    ungrown_ns: int | None = None
    mono_ns: int | None = None
    grew: bool = False


def span_vote_breach(vow: Vow, made: Sequence[tuple[int, Promised]]) -> Found | None:
    """Return what a vote breaks in spite of the promises ``made``; None if none binds it any more."""
    ends = _ends(vow, made)
    span = vow.spans.at(vow.place)
    left_ns = None if ends.mono_ns is None else ends.mono_ns - vow.own_ns
    if left_ns is not None and left_ns > 0:
        return _of_the_monotonic(vow, left_ns)
    if ends.right_ns is None or span is None or span.earliest_ns >= ends.right_ns:
        return None
    left = f"{ms(ends.right_ns - span.earliest_ns)} of it may have been left"
    if ends.written_ns is not None and ends.written_ns < ends.right_ns:
        if ends.written_ns == ends.earliest_ns:
            said = f"having promised from the earliest that it can have heard its last round: {left}"
            return ("T1",), said, "interval-wrong-end"
        if ends.written_ns == ends.ungrown_ns:
            said = f"having promised as if doubt did not grow: {left}"
            return ("T2",), said, "eps-frozen"
        return ("F1",), f"having promised too little: {left}", "promise-too-short"
    open_ = [vow.ignored, "F5"]
    if span.latest_ns >= ends.right_ns:
        open_.append("T1")
    if span.ungrown_earliest_ns >= ends.right_ns and not ends.grew:
        open_.append("T2")
    return tuple(open_), f"although, of its promise of silence, {left}"


def _ends(vow: Vow, made: Sequence[tuple[int, Promised]]) -> _Ends:
    ends, owed = _Ends(), vow.owed
    for at, fact in made:
        span = vow.spans.at(at)
        if span is None:
            given_ns = vow.timeline.lines[at].own_ns
            ends.mono_ns = _later(ends.mono_ns, given_ns + owed.counted_at_most(owed.promise_ns))
            continue
        ends.right_ns = _later(ends.right_ns, span.latest_ns + owed.promise_ns)
        ends.earliest_ns = _later(ends.earliest_ns, span.earliest_ns + owed.promise_ns)
        ends.ungrown_ns = _later(ends.ungrown_ns, span.ungrown_latest_ns + owed.promise_ns)
        if fact.clock is OwnClock.INTERVAL:
            ends.written_ns = _later(ends.written_ns, fact.until_ns)
            grown = span.latest_ns > span.ungrown_latest_ns
            ends.grew = ends.grew or (grown and fact.until_ns == span.latest_ns + owed.promise_ns)
    return ends


def _of_the_monotonic(vow: Vow, left_ns: int) -> Found:
    """Judge a promise of a node that knew no span; what it took its end for is in the vote."""
    left = f"{ms(left_ns)} of its promise of silence were left on its monotonic clock"
    bound_ns = vow.vote.bound_until_ns
    if bound_ns is None:
        return (vow.ignored, "F1", "F5"), f"although {left}"
    if bound_ns > vow.own_ns:
        return (vow.ignored,), f"knowing that {left}", "vote-ignores-promise"
    return ("F1", "F5"), f"taking its promise for over, when {left}"


def _later(one_ns: int | None, other_ns: int) -> int:
    return other_ns if one_ns is None else max(one_ns, other_ns)
