"""An answered read held against how it got its index.

Kept, a read that a node answers rests on an index that covers everything committed when the read
arrived. A leader takes its commit index, once an entry of its own term is committed (L1, R1; older ones
may be missing before), and as of this read's arrival (R4). Without a lease it waits for a majority to
acknowledge (R5) a round that was sent after the arrival (R2). A follower is told such an index by its
leader, under a ticket. Then the state machine must have come that far (R6), and what is read is what was
applied, nothing behind it in the log (L5). A node that cannot have all of this says so (R7); so an
answer without grounds breaks R7 if the node had tried and failed (its time was up, leadership was lost,
there was no leader to ask), and R5 if it could have gone on asking.

An id belongs to one request (R3). One that a follower uses again shows in an index that was told before
the read arrived. Of rounds R3 is not told apart from R2: a reused id shows as a round that was sent
before the read arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.evidence import (
    Applied,
    Booted,
    Checked,
    Configured,
    IndexTold,
    Promised,
    RoleChanged,
    RoundAcked,
    RoundSent,
    ServedRead,
    TermChanged,
)
from checker.timeline import LEADER, ms

from .owed import Family
from .quorum import Electorate, of
from .said import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.timeline import FactT, Timeline, Timelines

    from .owed import Owed


def index_breaches(timelines: Timelines, node: str, place: int, owed: Owed) -> list[Breach]:
    """Return what the answer on line ``place`` breaks, its lease apart."""
    return list(_Answer(timelines, node, place, owed).breaches())


class _Answer:
    """A read that was answered, or the index that a leader told a follower for one."""

    def __init__(self, timelines: Timelines, node: str, place: int, owed: Owed) -> None:
        self.timelines = timelines
        self.node = node
        self.place = place
        self.owed = owed
        self.timeline = timelines[node]
        what = self.timeline.lines[place].what
        assert isinstance(what, ServedRead | IndexTold)
        self.what = what
        self.own_ns = self.timeline.lines[place].own_ns
        self._boot = self.timeline.boot_at(place).first

    def breaches(self) -> Iterator[Breach]:
        what = self.what
        if isinstance(what, ServedRead) and what.applied_index < what.read_index:
            yield self._breach(
                ("R6",),
                f"from a state at index {what.applied_index}, though it had to see {what.read_index}",
                "no-applied-wait",
            )
            return
        if isinstance(what, ServedRead) and (what.seen_index or 0) > what.applied_index:
            said = (
                f"seeing its log up to index {what.seen_index}, when what was committed and applied"
                f" ended at {what.applied_index}"
            )
            yield self._breach(("L5",), said, "dirty-read")
            return
        grounds = "readindex" if isinstance(what, IndexTold) else what.path
        match grounds:
            case "lease":
                yield from list(self._check()) or self._index()
            case "readindex":
                yield from list(self._quorum()) or self._index()
            case "follower":
                yield from self._told()
            case _:
                return

    def _breach(self, rules: tuple[str, ...], said: str, *looks_like: str) -> Breach:
        did = "answered a read" if isinstance(self.what, ServedRead) else "told a follower an index"
        at = self.timelines.at(self.timeline.before_ns[self.place])
        return Breach(
            rules=rules,
            node=self.node,
            term=self.what.term,
            sentence=f"{self.node} (term {self.what.term}) {did} {at} into the run, {said}",
            looks_like=looks_like,
        )

    def _index(self) -> Iterator[Breach]:
        """L1, R1 and R4: ask whether the index is as new as it must be."""
        what = self.what
        index = what.read_index
        if index is None:
            return
        applied = _last(self.timeline, Applied, self.place, self._boot)
        reached = what.applied_index if isinstance(what, ServedRead) else applied and applied.index
        newest_term = 0 if applied is None else applied.entry_term
        # The barrier is a leader's: who leads that term no more has no business with its index (L6).
        leads = _leads(self.timeline, self.place, what.term)
        barred = Family.BARRIER in self.owed.families and leads and newest_term < what.term
        if barred and index <= (reached or 0):
            rule = "L1" if self._by_lease() else "R1"
            last = "none" if applied is None else f"one of term {newest_term}"
            said = (
                f"from index {index}, when no entry of its own term was committed:"
                f" the last that it had applied since it booted was {last}"
            )
            yield self._breach((rule,), said, "no-noop-barrier")
            return
        before = self._applied_at_arrival()
        if before is not None and index < before:
            said = f"from index {index}, although {before} had been applied when the read arrived"
            yield self._breach(("R4",), said, "readindex-batch-head")

    def _by_lease(self) -> bool:
        return isinstance(self.what, ServedRead) and self.what.path == "lease"

    def _applied_at_arrival(self) -> int | None:
        """Return the index that the node had applied strictly before the read arrived."""
        arrived_ns = self.what.arrived_ns
        if arrived_ns is None:
            return None
        boot = self.timeline.boot_at(self.place)
        return max(
            (
                fact.index
                for at, fact in self.timeline.facts(Applied)
                if boot.first <= at < self.place and self.timeline.lines[at].own_ns < arrived_ns
            ),
            default=None,
        )

    def _check(self) -> Iterator[Breach]:
        """Ask for the lease check that every read is owed; whether that was right is another matter."""
        arrived_ns = self.what.arrived_ns
        boot = self.timeline.boot_at(self.place)
        granted = (
            self.timeline.lines[at].own_ns
            for at, check in self.timeline.facts(Checked)
            if boot.first <= at < self.place and check.granted
        )
        if arrived_ns is not None and all(own_ns < arrived_ns for own_ns in granted):
            lacked = "it had granted itself no lease since the read arrived"
            yield self._without_grounds(arrived_ns, lacked, "L4")

    def _quorum(self) -> Iterator[Breach]:
        """R2, R5 and R7: ask for a majority's word on a round that was sent after the read arrived."""
        number, arrived_ns = self.what.round, self.what.arrived_ns
        if arrived_ns is None:
            return
        if not _leads(self.timeline, self.place, self.what.term):
            yield from self._not_leading(arrived_ns)
            return
        acked = self._acknowledged()
        good = {peer for peer, (newest, _) in acked.items() if number is not None and newest >= number}
        if not self._electorate().agreed(self.node, good):
            yield self._without_grounds(
                arrived_ns, "no majority had confirmed it since the read arrived"
            )
            return
        sent_ns = self._sent_ns(number)
        if sent_ns is not None and sent_ns < arrived_ns:
            said = (
                f"by round {number}, which was sent {ms(arrived_ns - sent_ns)} before the read arrived"
            )
            yield self._breach(("R2",), said, "readindex-late-round", "readindex-ack-reuse")

    def _electorate(self) -> Electorate:
        """Return who had to confirm it, as the node's log had it."""
        config = _last(self.timeline, Configured, self.place)
        return Electorate(self.owed.voters) if config is None else of(config)

    def _acknowledged(self) -> dict[str, tuple[int, int]]:
        """Return each peer's newest acknowledged round of this term, and its line."""
        return {
            fact.peer: (fact.round, at)
            for at, fact in self.timeline.facts(RoundAcked)
            if fact.term == self.what.term and at < self.place
        }

    def _sent_ns(self, number: int | None) -> int | None:
        sent = (
            self.timeline.lines[at].own_ns
            for at, fact in self.timeline.facts(RoundSent)
            if (fact.term, fact.round) == (self.what.term, number) and at < self.place
        )
        return next(sent, None)

    def _without_grounds(self, arrived_ns: int, lacked: str, early: str = "R5") -> Breach:
        """Return R7 for a read whose chance was over, else the rule that it should have waited for."""
        waited_ns = self.own_ns - arrived_ns
        if self._changed_in_this_step():
            said = f"when the leadership that it waited for was over: {lacked}"
            return self._breach(("R7",), said, "fallback-stale")
        if waited_ns >= self.owed.deadline_ns:
            said = f"when its time was up after {ms(waited_ns)}: {lacked}"
            return self._breach(("R7",), said, "fallback-stale")
        said = f"{ms(waited_ns)} after it arrived: {lacked}"
        looks_like = ("readindex-serve-first",) if early == "R5" else ()
        return self._breach((early,), said, *looks_like)

    def _not_leading(self, arrived_ns: int) -> Iterator[Breach]:
        """Judge a node that could not confirm itself: it had led, knew no leader, or asked none."""
        if self._changed_in_this_step():
            yield self._without_grounds(arrived_ns, "no majority had confirmed it")
        elif not self._knows_a_leader():
            said = "leading nobody and knowing no leader to ask"
            looks_like = {"R5": "follower-local-read", "R7": "fallback-stale"}
            rules = self._alone_or_at_a_loss()
            yield self._breach(rules, said, *(looks_like[rule] for rule in rules))
        else:
            said = "leading nobody and without asking the leader it knew"
            yield self._breach(("R5",), said, "follower-local-read")

    def _alone_or_at_a_loss(self) -> tuple[str, ...]:
        """Tell by the rest of the run: followers ask a leader that they know (R7), or do not (R5)."""
        asked = any(timeline.places.get(IndexTold) for timeline in self.timelines.values())
        alone = any(
            _Answer(self.timelines, node, place, self.owed).answers_alone()
            for node, timeline in self.timelines.items()
            for place, read in timeline.facts(ServedRead)
            if read.path == "readindex"
        )
        if asked is alone:
            return ("R5", "R7")
        return ("R7",) if asked else ("R5",)

    def answers_alone(self) -> bool:
        """Whether it answers without leading, though it knows whom to ask."""
        leads = _leads(self.timeline, self.place, self.what.term)
        return not leads and not self._changed_in_this_step() and self._knows_a_leader()

    def _changed_in_this_step(self) -> bool:
        """Whether the node's term or role changed at the reading at which it answered."""
        boot = self.timeline.boot_at(self.place)
        turns = [
            at for at in self.timeline.turns(RoleChanged, TermChanged) if boot.first < at < self.place
        ]
        return bool(turns) and self.timeline.lines[turns[-1]].own_ns == self.own_ns

    def _knows_a_leader(self) -> bool:
        """Whether the last that the node wrote of its term is that it follows somebody in it."""
        boot = self.timeline.boot_at(self.place)
        turns = self.timeline.turns(Booted, RoleChanged, TermChanged, Promised)
        last = max((at for at in turns if boot.first <= at < self.place), default=boot.first)
        return isinstance(self.timeline.lines[last].what, Promised)

    def _told(self) -> Iterator[Breach]:
        """Judge what a follower was told by its leader, for its answer rests on that."""
        what = self.what
        assert isinstance(what, ServedRead)
        if what.ticket is None or what.arrived_ns is None:
            return
        told = [
            (node, at, fact)
            for node, timeline in self.timelines.items()
            for at, fact in timeline.facts(IndexTold)
            if (fact.peer, fact.ticket) == (self.node, what.ticket)
            and timeline.before_ns[at] <= self.timeline.after_ns[self.place]
        ]
        reused = list(self._told_before(what.arrived_ns, told))
        if reused:
            yield from reused
            return
        given = [(node, at, fact.read_index) for node, at, fact in told if fact.read_index is not None]
        if not given and told:
            node, _, fact = told[-1]
            said = f"although {node} had told it {fact.code} and no index"
            yield self._breach(("R7",), said, "fallback-stale")
            return
        if not given:
            if set(self.owed.nodes) <= set(self.timelines):  # else somebody may have told it
                yield self._without_grounds(what.arrived_ns, "no leader had told it an index")
            return
        least = min(index for _, _, index in given)
        if what.read_index < least:
            lacked = f"its leader had told it index {least}, and it answered from {what.read_index}"
            yield self._without_grounds(what.arrived_ns, lacked, "R6")
            return
        every = [list(_Answer(self.timelines, node, at, self.owed).breaches()) for node, at, _ in given]
        if all(every):
            yield from every[0]

    def _told_before(
        self, arrived_own_ns: int, told: Sequence[tuple[str, int, IndexTold]]
    ) -> Iterator[Breach]:
        """R3: all that told it this index had done so before the read arrived, under its ticket."""
        arrived_ns, _ = self.timeline.reached(arrived_own_ns, self.timeline.boot_at(self.place))
        same = [
            (node, self.timelines[node].after_ns[at])
            for node, at, fact in told
            if fact.read_index == self.what.read_index
        ]
        if arrived_ns is None or not same or any(told_ns >= arrived_ns for _, told_ns in same):
            return
        node, told_ns = same[-1]
        said = (
            f"by index {self.what.read_index}, which {node} had told it under the same ticket at least"
            f" {ms(arrived_ns - told_ns)} before the read arrived"
        )
        yield self._breach(("R3",), said, "readindex-ack-reuse")


def _last(timeline: Timeline, kind: type[FactT], place: int, since: int = 0) -> FactT | None:
    """Return the last such fact on the lines from ``since`` on and before ``place``."""
    found = [fact for at, fact in timeline.facts(kind) if since <= at < place]
    return found[-1] if found else None


def _leads(timeline: Timeline, place: int, term: int) -> bool:
    boot = timeline.boot_at(place)
    turns = [at for at in timeline.turns(RoleChanged) if boot.first <= at < place]
    if not turns:
        return False
    fact = timeline.lines[turns[-1]].what
    assert isinstance(fact, RoleChanged)
    return fact.role == LEADER and fact.term == term
