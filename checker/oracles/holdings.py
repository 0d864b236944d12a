"""When a node would have answered a read from its lease: certainly, on the true clock.

A node tells what it believed only when it checks. Between two lines of its evidence these are certain:

* A granted check: at the instant of its reading the node would have answered. That instant lies
  somewhere between the line's stamps, so alone it is a *point* with a bracket, not an interval.
* From a granted check on, for as long as later lines still show the clock before ``until_ns``. The
  end is the last such line: what the clock did after it, nobody wrote down. A renewal we never saw used
  counts for nothing, since only a check says that a node would serve.
* Between two granted checks that rest on the same answer: an open-ended belief compares no clock, and
  a check whose ``read_ns`` is earlier than the previous check repeats an answer given before it.
  Such a cached answer says nothing of the time after its last use.

A belief is over at a change of term or role, which a message brings about, and at one of members: what
the old ones gave may back no lease of the new ones, which a leader finds when it is next asked. It is
over already at the line before a refused check, a request refused for want of leadership, a revocation,
a clock anomaly and a sleep: what the node found there may have been so for a while, so that it would not
have served. And it never outlives the last line of a boot, for the node may have been killed right
after it.

A wall clock may have been past ``until_ns`` and set back again inside a gap between two lines, and a
monotonic clock that is seen to step back likewise. That is excluded only if running twice as fast as
true time could not have brought it there; else the belief is no longer certain, until the next check.
A step forth and back inside one gap leaves no trace and is not looked for.

The stamps of a line belong to the reading that its step worked with. A node stopped between its check
and its answer is no liar (the read may take effect at the check), and shows as no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import (
    Applied,
    Booted,
    Checked,
    ClockAnomaly,
    Configured,
    OwnClock,
    Promised,
    Refused,
    Revoked,
    RoleChanged,
    RoundAcked,
    RoundSent,
    ServedRead,
    Slept,
    TermChanged,
)

if TYPE_CHECKING:
    from checker.timeline import Timeline

SERVES_NOTHING: Final = frozenset({"NOT_LEADER", "NOT_READY", "LEASE_EXPIRED"})
"""Codes with which a node says that it would not have answered a read either."""

COMMON: Final = frozenset({Applied, Promised, RoundAcked, RoundSent, ServedRead})
"""Most lines. They begin and end no belief, and what a line is costs more to ask than all the rest."""

FASTEST: Final = 2
"""No clock runs faster than this many times true time; the nemesis bends far less."""


class Holding(msgspec.Struct, frozen=True):
    """A node would have answered from its lease, for certain.

    All the time from ``start_ns`` to ``end_ns``, both included; if ``point``, at one instant in between.
    ``checks`` are the places of the granted checks that say so, ``last`` the last line that bears on it.
    """

    node: str
    term: int
    start_ns: int
    end_ns: int
    point: bool
    checks: tuple[int, ...]
    last: int


def holdings(timeline: Timeline) -> list[Holding]:
    """Return a node's holdings in the order of time; they do not overlap each other."""
    walk = _Walk(timeline)
    for place, line in enumerate(timeline.lines):
        if type(line.what) in COMMON:
            walk.see(place)
            continue
        match line.what:
            case Checked(granted=True) as check:
                walk.grant(place, check)
            case TermChanged() | RoleChanged() | Configured():
                walk.see(place)
                walk.forget()
            case Checked() | Revoked() | ClockAnomaly() | Slept() | Booted():
                walk.forget()
            case Refused(code=code) if code in SERVES_NOTHING:
                walk.forget()
            case _:
                walk.see(place)
    walk.forget()
    return walk.found


class _Walk:
    """Walks the lines with a belief.

    ``check`` is the one in force, made not before ``checked_ns``; ``held`` is whether it was still
    certain at the line before.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.found: list[Holding] = []
        self.check: Checked | None = None
        self.checks: list[int] = []
        self.start_ns = 0
        self.end_ns = 0
        self.last = 0
        self.held = False
        self.checked_ns = 0

    def see(self, place: int) -> None:
        """Carry the belief on to a line, as far as it is certain."""
        check = self.check
        if check is None or check.until_ns is None or not self.held:
            return
        if self._stayed_before(check, check.until_ns, place):
            self._extend(place)
        else:
            self.held = False

    def grant(self, place: int, check: Checked) -> None:
        """Take a granted check: it goes on with the holding there is, or starts one."""
        self.see(place)
        previous = self.check
        if previous is not None and (previous.term != check.term or previous.clock is not check.clock):
            self.forget()
        elif previous is not None and not self.held and self._repeats(previous, check, place):
            self._extend(place)
        if self.held:
            self.check = check
            self.checks.append(place)
        else:
            self._close()
            self._start(place, check, [place])
        self.checked_ns = self.timeline.before_ns[place]
        shown_ns = self.timeline.showing(place, check.clock)
        self.held = check.until_ns is not None and shown_ns < check.until_ns

    def forget(self) -> None:
        """End the belief."""
        self._close()
        self.check = None
        self.held = False

    def _start(self, place: int, check: Checked, checks: list[int]) -> None:
        self.check = check
        self.checks = checks
        self.start_ns = self.timeline.after_ns[place]
        self.end_ns = self.timeline.before_ns[place]
        self.last = place
        self.held = True

    def _extend(self, place: int) -> None:
        self.end_ns = self.timeline.before_ns[place]
        self.last = place
        self.held = True

    def _close(self) -> None:
        if self.check is None or not self.checks:
            return
        point = self.end_ns <= self.start_ns
        if point:
            self.start_ns, self.end_ns = self.timeline.lines[self.last].true_ns
        self.found.append(
            Holding(
                node=self.timeline.node,
                term=self.check.term,
                start_ns=self.start_ns,
                end_ns=self.end_ns,
                point=point,
                checks=tuple(self.checks),
                last=self.last,
            )
        )
        self.checks = []

    def _stayed_before(self, check: Checked, until_ns: int, place: int) -> bool:
        """Whether the clock certainly showed less than ``until_ns`` ever since the line before."""
        timeline, clock = self.timeline, check.clock
        if clock is OwnClock.INTERVAL:
            # Only a check tells a span's end; that may have moved with every word of the time service.
            return check.read_ns + FASTEST * (timeline.after_ns[place] - self.checked_ns) < until_ns
        then_ns, now_ns = timeline.showing(self.last, clock), timeline.showing(place, clock)
        if clock is OwnClock.MONOTONIC and then_ns <= now_ns:
            return now_ns < until_ns
        gap_ns = timeline.after_ns[place] - timeline.before_ns[self.last]
        return then_ns + FASTEST * gap_ns < until_ns

    def _repeats(self, previous: Checked, check: Checked, place: int) -> bool:
        """Whether ``check`` gives an answer that was already in force at the check before it."""
        if check.until_ns is None:
            return previous.until_ns is None
        if check.clock is not OwnClock.MONOTONIC:
            return False
        cached = check.read_ns < self.timeline.lines[place].own_ns
        # A reading equal to that of the line before may have been taken right after it.
        older = check.read_ns < self.timeline.lines[self.checks[-1]].own_ns
        return cached and (older or check.read_ns == previous.read_ns)
