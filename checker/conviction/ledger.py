"""What a leader's acknowledgements were worth at each of its lease checks, recounted from evidence.

Right: an acknowledged round credits its peer with the instant at which the round was *sent* (L2). The
lease starts at the newest instant that a majority reaches, the leader itself counting as now (L3). It
starts empty with every leadership (L1, L6), and a clock anomaly makes everything sent before it void
(L11). All instants are readings that the node wrote itself, so the recount is exact to the nanosecond:
a node that keeps the rules believes in just this end, whatever its clock did.

The same walk keeps what wrong rules would count instead, so that a wrong end can be traced to one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.evidence import (
    Booted,
    Checked,
    ClockAnomaly,
    Configured,
    OwnClock,
    RoleChanged,
    RoundAcked,
    RoundSent,
    TermChanged,
    Transferred,
)
from checker.timeline import LEADER

from .quorum import NOW, Electorate, of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checker.evidence import EvidenceLine
    from checker.timeline import Timeline

Marks = dict[str, int]
"""An instant a peer, on one clock."""


@dataclass(slots=True)
class Tally:
    """What is credited to peers on one clock: by the send (right), and by what wrong rules would take.

    ``heard``: when an acknowledgement arrived. ``newest``: the newest send at that moment. ``unvoided``:
    the send, as if no anomaly had been noticed.
    """

    sent: Marks = field(default_factory=dict)
    heard: Marks = field(default_factory=dict)
    newest: Marks = field(default_factory=dict)
    unvoided: Marks = field(default_factory=dict)

    def credit(self, peer: str, *, sent_ns: int, heard_ns: int, newest_ns: int, void: bool) -> None:
        """Take one acknowledgement; a later one never takes away from it."""
        _raise(self.unvoided, peer, sent_ns)
        if void:
            return
        _raise(self.sent, peer, sent_ns)
        _raise(self.heard, peer, heard_ns)
        _raise(self.newest, peer, newest_ns)

    def void(self) -> None:
        """Drop all credit."""
        for marks in (self.sent, self.heard, self.newest):
            marks.clear()


def _raise(marks: Marks, peer: str, instant_ns: int) -> None:
    marks[peer] = max(marks.get(peer, instant_ns), instant_ns)


@dataclass(slots=True)
class Ledger:
    """The books of node ``own`` at one line. ``term`` is the term it leads, None while it does not.

    ``first_electorate`` is that with which it began, ``electorate`` the one in force.

    ``handing_over``: a transfer is under way; ``told_ns`` is when the target was told, on the monotonic
    clock. ``before`` are the ends of former leaderships of this boot: their last right starts.
    """

    own: str
    electorate: Electorate
    first_electorate: Electorate
    term: int | None = None
    first: int = 0
    sent: dict[int, int] = field(default_factory=dict)
    sent_wall: dict[int, int] = field(default_factory=dict)
    last_round: int = 0
    first_round: int = 1
    tallies: dict[OwnClock, Tally] = field(default_factory=dict)
    handing_over: bool = False
    told_ns: int | None = None
    before: list[dict[OwnClock, Tally]] = field(default_factory=list)

    def sends(self, clock: OwnClock) -> Mapping[int, int]:
        """Return when each round of this leadership was sent."""
        return self.sent if clock is OwnClock.MONOTONIC else self.sent_wall

    def start_ns(self, marks: Marks, now_ns: int) -> int | None:
        """Return the newest of ``marks`` that every majority reaches, ``now_ns`` if none is needed."""
        start_ns = self.electorate.backed(self.own, marks) if self.term is not None else None
        return now_ns if start_ns == NOW else start_ns

    # What happened.

    def open(self, term: int, first: int) -> None:
        """Begin a leadership, with nothing to its credit."""
        self.term = term
        self.first = first
        self.sent, self.sent_wall = {}, {}
        self.last_round, self.first_round = 0, 1
        self.tallies = {clock: Tally() for clock in OwnClock}
        self.handing_over, self.told_ns = False, None

    def shut(self) -> None:
        """End it, if there is one."""
        if self.term is not None:
            self.before.append(self.tallies)
        self.term = None

    def send(self, number: int, line: EvidenceLine) -> None:
        """Take note of when a round was sent."""
        self.sent[number], self.sent_wall[number] = line.own_ns, line.wall_ns
        self.last_round = number

    def hear(self, number: int, peer: str, line: EvidenceLine) -> None:
        """Take an acknowledgement; of a round whose sending nobody wrote down it is worth nothing."""
        if self.term is None or number not in self.sent:
            return
        for clock, tally in self.tallies.items():
            sends = self.sends(clock)
            tally.credit(
                peer,
                sent_ns=sends[number],
                heard_ns=line.own_ns if clock is OwnClock.MONOTONIC else line.wall_ns,
                newest_ns=sends[self.last_round],
                void=number < self.first_round,
            )

    def void(self) -> None:
        """Count nothing that was sent so far."""
        self.first_round = self.last_round + 1
        for tally in self.tallies.values():
            tally.void()

    def hand_over(self, stage: str, own_ns: int) -> None:
        """Take note of a transfer."""
        self.handing_over = stage != "given-up"
        if stage == "told":
            self.told_ns = own_ns

    def take(self, line: EvidenceLine, place: int) -> None:
        """Take any line of a boot."""
        match line.what:
            case TermChanged():
                self.shut()
            case RoleChanged(term, role):
                self.shut()
                if role == LEADER:
                    self.open(term, place)
            case RoundSent(_, number):
                self.send(number, line)
            case RoundAcked(_, number, peer):
                self.hear(number, peer, line)
            case ClockAnomaly():
                self.void()
            case Configured() as config:
                self.electorate = of(config)
            case Transferred(_, _, stage):
                self.hand_over(stage, line.own_ns)
            case _:
                pass


def checks(timeline: Timeline, nodes: Sequence[str]) -> Iterator[tuple[int, Checked, Ledger]]:
    """Yield every lease check with the books as they stood there; they go on changing afterwards.

    ``nodes`` are the voters until the log says otherwise.
    """
    electorate = Electorate(tuple(nodes))
    ledger = Ledger(timeline.node, electorate, electorate)
    for place, line in enumerate(timeline.lines):
        match line.what:
            case Booted():
                ledger = Ledger(timeline.node, ledger.electorate, ledger.electorate)
            case Checked() as check:
                yield place, check, ledger
            case _:
                ledger.take(line, place)
