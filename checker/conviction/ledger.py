"""What a leader's acknowledgements were worth at each of its lease checks, recounted from evidence.

Right: an acknowledged round credits its peer with the instant at which the round was *sent* (L2). The
lease starts at the newest instant that a majority reaches, the leader itself counting as now (L3). It
starts empty with every leadership (L1, L6), and a clock anomaly makes everything sent before it void
(L11). All instants are readings that the node wrote itself, or follow from them, so the recount is exact
to the nanosecond: a node that keeps the rules believes in just this end, whatever its clock did.

Where grants are asked for one by one, a request is what else a round is: only the newest counts, and
what heartbeats bring is kept apart, for it renews nothing (S4).

The same walk keeps what wrong rules would count instead, so that a wrong end can be traced to one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from checker.evidence import (
    Booted,
    Checked,
    ClockAnomaly,
    Configured,
    GrantAcked,
    GrantAsked,
    OwnClock,
    RoleChanged,
    RoundAcked,
    RoundSent,
    Slept,
    TermChanged,
    Transferred,
)
from checker.timeline import LEADER

from .owed import Family
from .quorum import NOW, Electorate, of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.evidence import EvidenceLine
    from checker.timeline import Timeline

    from .owed import Owed
    from .spans import Spans

Marks = dict[str, int]
"""An instant a peer, on one scale."""


class Scale(Enum):
    """What an instant is told by: a clock, or one end of a span of true time."""

    MONOTONIC = "monotonic"
    WALL = "wall"
    EARLIEST = "earliest"
    LATEST = "latest"
    UNGROWN = "ungrown"


SCALES: Final = {
    OwnClock.MONOTONIC: Scale.MONOTONIC,
    OwnClock.WALL: Scale.WALL,
    OwnClock.INTERVAL: Scale.EARLIEST,
}
"""What a lease counts from on each clock (T1)."""

Shown = dict[Scale, int]


@dataclass(slots=True)
class Tally:
    """What is credited to peers on one scale: by the send (right), and by what wrong rules would take.

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


Tallies = dict[Scale, Tally]


def _empty() -> Tallies:
    return {scale: Tally() for scale in Scale}


@dataclass(slots=True)
class Ledger:
    """The books of node ``own`` at one line. ``term`` is the term it leads, None while it does not.

    ``first_electorate`` is that with which its log began, ``electorate`` the one in force. ``renews`` is
    whether rounds renew the lease.

    ``handing_over``: a transfer is under way; ``told_ns`` is when the target was told, on the monotonic
    clock. ``before`` are the ends of former leaderships of this boot: their last right starts.
    ``beats`` is what rounds would be worth where they are worth nothing, and ``acknowledged`` when every
    round was sent that anybody acknowledged since the node booted.
    """

    own: str
    electorate: Electorate
    first_electorate: Electorate
    spans: Spans
    renews: bool
    nap_ns: int
    election_ns: int
    term: int | None = None
    first: int = 0
    sent: dict[int, Shown] = field(default_factory=dict)
    last_round: int = 0
    first_round: int = 1
    tallies: Tallies = field(default_factory=_empty)
    beats: Tallies = field(default_factory=_empty)
    beat: dict[int, Shown] = field(default_factory=dict)
    handing_over: bool = False
    told_ns: int | None = None
    before: list[Tallies] = field(default_factory=list)
    acknowledged: set[tuple[Scale, int]] = field(default_factory=set)

    def shown(self, line: EvidenceLine, place: int) -> Shown:
        """Return what every scale shows at a line, those of spans only if one is known."""
        shown = {Scale.MONOTONIC: line.own_ns, Scale.WALL: line.wall_ns}
        if (span := self.spans.at(place)) is not None:
            shown[Scale.EARLIEST] = span.earliest_ns
            shown[Scale.LATEST] = span.latest_ns
            shown[Scale.UNGROWN] = span.ungrown_earliest_ns
        return shown

    def last_sent_ns(self, scale: Scale) -> int | None:
        """Return when the last round of this leadership was sent, acknowledged or not."""
        return self.sent.get(self.last_round, {}).get(scale)

    def start_ns(self, marks: Marks, now_ns: int) -> int | None:
        """Return the newest of ``marks`` that every majority reaches, ``now_ns`` if none is needed."""
        start_ns = self.electorate.backed(self.own, marks) if self.term is not None else None
        return now_ns if start_ns == NOW else start_ns

    # What happened.

    def open(self, term: int, first: int) -> None:
        """Begin a leadership, with nothing to its credit."""
        self.term = term
        self.first = first
        self.sent, self.beat = {}, {}
        self.last_round, self.first_round = 0, 1
        self.tallies, self.beats = _empty(), _empty()
        self.handing_over, self.told_ns = False, None

    def shut(self) -> None:
        """End it, if there is one."""
        if self.term is not None:
            self.before.append(self.tallies)
        self.term = None

    def ask(self, number: int, shown: Shown) -> None:
        """Take note of when a round, or a request for a grant, was sent."""
        if not self.renews:
            for tally in self.tallies.values():
                tally.void()
        self.sent[number] = shown
        self.last_round = number

    def hear(self, number: int, peer: str, shown: Shown) -> None:
        """Take an acknowledgement; of a round whose sending nobody wrote down it is worth nothing."""
        if (
            self.term is None
            or number not in self.sent
            or not (self.renews or number == self.last_round)
        ):
            return
        self.acknowledged.update(self.sent[number].items())
        void = number < self.first_round
        _credit(self.tallies, peer, self.sent[number], shown, self.sent[self.last_round], void=void)

    def hear_beat(self, number: int, peer: str, shown: Shown) -> None:
        """Take what a heartbeat would be worth where it is worth nothing."""
        if self.term is not None and number in self.beat:
            _credit(self.beats, peer, self.beat[number], shown, shown, void=False)

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
            case GrantAsked() | GrantAcked() | RoundSent() | RoundAcked():
                self.exchange(line.what, self.shown(line, place))
            case ClockAnomaly():
                self.void()
            case Slept(_, size_ns) if size_ns > self.nap_ns:
                self.void()
            case Configured() as config:
                self.electorate = of(config)
            case Transferred(_, _, stage):
                self.hand_over(stage, line.own_ns)
            case _:
                pass

    def exchange(self, what: GrantAsked | GrantAcked | RoundSent | RoundAcked, shown: Shown) -> None:
        """Take what was asked of others, or acknowledged by one of them."""
        counts = self.renews is isinstance(what, RoundSent | RoundAcked)
        match what:
            case GrantAsked(_, number) | RoundSent(_, number) if counts:
                self.ask(number, shown)
            case GrantAcked(_, number, peer) | RoundAcked(_, number, peer) if counts:
                self.hear(number, peer, shown)
            case RoundSent(_, number):
                self.beat[number] = shown
            case RoundAcked(_, number, peer):
                self.hear_beat(number, peer, shown)
            case _:
                pass


def _credit(
    tallies: Tallies, peer: str, sent: Shown, heard: Shown, newest: Shown, *, void: bool
) -> None:
    for scale, tally in tallies.items():
        if scale in sent and scale in heard and scale in newest:
            tally.credit(
                peer,
                sent_ns=sent[scale],
                heard_ns=heard[scale],
                newest_ns=newest[scale],
                void=void,
            )


def checks(timeline: Timeline, spans: Spans, owed: Owed) -> Iterator[tuple[int, Checked, Ledger]]:
    """Yield every lease check with the books as they stood there; they go on changing afterwards."""
    first = electorate = Electorate(owed.voters)
    ledger = _opened(timeline.node, electorate, first, spans, owed)
    for place, line in enumerate(timeline.lines):
        match line.what:
            case Booted():
                ledger = _opened(timeline.node, ledger.electorate, first, spans, owed)
            case Checked() as check:
                yield place, check, ledger
            case _:
                ledger.take(line, place)


def _opened(own: str, electorate: Electorate, first: Electorate, spans: Spans, owed: Owed) -> Ledger:
    renews = Family.GRANT not in owed.families
    return Ledger(own, electorate, first, spans, renews, owed.nap_ns, owed.election_ns)
