"""Who is to answer for a violation: the serving node, its term, its lease and the faults around it.

The checker hands over the few operations that fit no sequence. Among them one read is the offender: an
earlier state was read although something newer had *returned* before the read was *called*. What the
node knew when it answered is looked up in its evidence, by key and time.

Two clocks meet here and are kept apart: what was left of a lease is on the serving node's own clock, as
the node saw it; how long after the acknowledgement that was is on the true clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from checker.events import EventType, ReadPath
from checker.evidence import Checked, OwnClock, ServedRead
from checker.oracles.availability import READS, WRITES
from checker.timeline import SECOND, ms
from checker.values import tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from checker.operations import Operation
    from checker.timeline import Timeline, Timelines

FaultWindow = tuple[int, int | None, str]
"""When a fault was in force, from the run's origin (None: never healed), and what it was."""

_HOW: Final = {
    ReadPath.LEASE: "from its lease",
    ReadPath.READINDEX: "by ReadIndex",
    ReadPath.LOG: "through the log",
    ReadPath.FOLLOWER: "as a follower",
    None: "on a path it did not tell",
}


@dataclass(frozen=True, kw_only=True)
class LeaseSeen:
    """The check that an answer rested on.

    ``remaining_ns`` is what the node believed to be left at the reading it judged, on ``clock``; None is
    open-ended. ``age_ns`` is how old that reading was by then on the same clock. ``during_ns`` holds the
    instant of the check on the true clock; ``over_ns`` the instant at which the node's monotonic clock
    showed the lease's end, as far as lines tell (earliest, latest).
    """

    clock: OwnClock
    remaining_ns: int | None
    age_ns: int
    during_ns: tuple[int, int]
    over_ns: tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What is known of a violation beyond its operations; anything may be unknown (None).

    ``newer`` is the operation that had returned before ``read`` was called and shows that what it read
    was gone; ``stale_ns`` is the time between the two at least. ``after_ack_ns`` is how long after that
    return the node checked its lease (least, most).
    """

    read: Operation | None
    newer: Operation | None
    stale_ns: int | None
    node: str | None
    term: int | None
    path: ReadPath | None
    remaining_ns: int | None
    lease: LeaseSeen | None
    after_ack_ns: tuple[int, int] | None
    faults: tuple[str, ...]

    def __str__(self) -> str:
        faults = "; ".join(self.faults)
        told = f"Faults in force: {faults}." if faults else "No fault was in force."
        return f"{self.account} {told}"

    @property
    def account(self) -> str:
        """Who answered what on which grounds, without the faults around it."""
        return " ".join(_sentences(self))


def explain(
    operations: Sequence[Operation],
    timelines: Timelines,
    *,
    faults: Iterable[FaultWindow] = (),
    read: Operation | None = None,
) -> Proof:
    """Return what evidence and faults tell of a violation proved by ``operations``.

    ``read`` is what the checker takes for the offender: believed unless another read is staler than it
    by what these operations themselves show.
    """
    read, newer = _offender(operations, read)
    told = read.evidence if read is not None else None
    lease = _lease(read, timelines) if read is not None else None
    remaining_ns = told.lease_remaining_ns if told is not None else None
    if remaining_ns is None and lease is not None:
        remaining_ns = lease.remaining_ns
    after_ack_ns = None
    if lease is not None and newer is not None and newer.return_ns is not None:
        acked_ns = timelines.origin_ns + newer.return_ns
        after_ack_ns = (lease.during_ns[0] - acked_ns, lease.during_ns[1] - acked_ns)
    return Proof(
        read=read,
        newer=newer,
        stale_ns=_gap_ns(newer, read),
        node=read.node if read is not None else None,
        term=told.term if told is not None else None,
        path=told.path if told is not None else None,
        remaining_ns=remaining_ns,
        lease=lease,
        after_ack_ns=after_ack_ns,
        faults=_active(operations, faults, read=read, newer=newer),
    )


def _offender(
    operations: Sequence[Operation], read: Operation | None
) -> tuple[Operation | None, Operation | None]:
    """Return the read that is staler than any other, and what it should have seen."""
    reads = [each for each in operations if each.f in READS and each.known]
    if read is not None and read not in reads:
        reads.append(read)
    pairs = [(each, _newer_than(each, operations)) for each in reads]
    return max(
        pairs,
        key=lambda pair: (_gap_ns(pair[1], pair[0]) or 0, pair[0] == read, pair[0].call_ns),
        default=(None, None),
    )


def _newer_than(read: Operation, operations: Sequence[Operation]) -> Operation | None:
    """Return the first operation to return that shows a later state than ``read`` read."""
    writers = [each for each in operations if each.f in WRITES and _leaves(each) == tag(read.value)]
    written_ns = min((each.call_ns for each in writers), default=None)
    later = [
        each
        for each in operations
        if each is not read
        and each.key == read.key
        and each.outcome is EventType.OK
        and each.return_ns is not None
        and each.return_ns < read.call_ns
        and _leaves(each) != tag(read.value)
        and (written_ns is None or each.call_ns > written_ns)
    ]
    return min(later, key=lambda each: (each.return_ns, each.index), default=None)


def _leaves(operation: Operation) -> Hashable:
    """Return the state that an operation shows or leaves behind, as the checker compares it."""
    match operation.f, operation.value:
        case "cas", [_, new]:
            return tag(new)
        case "delete", _:
            return tag(None)
        case _, value:
            return tag(value)


def _gap_ns(newer: Operation | None, read: Operation | None) -> int | None:
    if newer is None or read is None or newer.return_ns is None:
        return None
    return read.call_ns - newer.return_ns


def _lease(read: Operation, timelines: Timelines) -> LeaseSeen | None:
    """Return the last granted check before the answer was given, if evidence has it."""
    timeline = timelines.get(read.node) if read.node is not None else None
    if timeline is None or read.return_ns is None:
        return None
    called_ns, returned_ns = timelines.origin_ns + read.call_ns, timelines.origin_ns + read.return_ns
    served = served_line(read, timeline, called_ns, returned_ns)
    if served is None:
        return None
    for place, check in reversed(list(timeline.facts(Checked))):
        if place <= served and check.granted:
            if timeline.after_ns[place] < called_ns:
                return None
            return _seen(timeline, place, check)
    return None


def served_line(read: Operation, timeline: Timeline, called_ns: int, returned_ns: int) -> int | None:
    """Return the line that tells of the answer, which was given in that span of the true clock.

    Of several that could the one most like what the client heard; None if there is none.
    """
    told = read.evidence
    likely: list[tuple[int, int]] = []
    for place, fact in timeline.facts(ServedRead):
        within = timeline.after_ns[place] >= called_ns and timeline.before_ns[place] <= returned_ns
        if within and fact.key == read.key:
            same = told is not None and (fact.term, fact.read_index, fact.applied_index, fact.path) == (
                told.term,
                told.read_index,
                told.applied_index,
                told.path,
            )
            likely.append((same, place))
    return max(likely)[1] if likely else None


def _seen(timeline: Timeline, place: int, check: Checked) -> LeaseSeen:
    over_ns: tuple[int | None, int | None] = (None, None)
    if check.until_ns is not None and check.clock is OwnClock.MONOTONIC:
        over_ns = timeline.reached(check.until_ns, timeline.boot_at(place))
    return LeaseSeen(
        clock=check.clock,
        remaining_ns=None if check.until_ns is None else check.until_ns - check.read_ns,
        age_ns=timeline.showing(place, check.clock) - check.read_ns,
        during_ns=timeline.lines[place].true_ns,
        over_ns=over_ns,
    )


def _active(
    operations: Sequence[Operation],
    faults: Iterable[FaultWindow],
    *,
    read: Operation | None,
    newer: Operation | None,
) -> tuple[str, ...]:
    """Return the faults in force at any time from the newer operation's call to the read's end."""
    inside = [each for each in (newer, read) if each is not None] or list(operations)
    if not inside:
        return ()
    start_ns = min(each.call_ns for each in inside)
    end_ns = max(each.call_ns if each.return_ns is None else each.return_ns for each in inside)
    return tuple(
        text
        for since_ns, until_ns, text in faults
        if since_ns <= end_ns and (until_ns is None or until_ns >= start_ns)
    )


def _sentences(proof: Proof) -> Iterable[str]:
    read, newer = proof.read, proof.newer
    if read is None:
        yield "No read is among the operations that prove it, so no answer is to blame alone."
    else:
        node = proof.node or "a node that was not recorded"
        term = "" if proof.term is None else f" in term {proof.term}"
        when = f"{read.call_ns / SECOND:.3f} s into the run"
        how = f"{_HOW[proof.path]}{term}"
        yield f"{node} answered {read} of process {read.process}, called {when}, {how}."
        if newer is not None and proof.stale_ns is not None:
            at = f" at {newer.node}" if newer.node else ""
            new_term = newer.evidence.term if newer.evidence is not None else None
            led = "" if new_term is None else f" (term {new_term})"
            yield f"By then {newer}{at}{led} had been {_ended(newer)[0]} for {ms(proof.stale_ns)}."
    if proof.lease is not None:
        yield _lease_sentence(proof.lease, proof)
    elif proof.path is ReadPath.LEASE:
        yield "Its check of the lease is not in the evidence."


def _lease_sentence(lease: LeaseSeen, proof: Proof) -> str:
    after = ""
    if proof.after_ack_ns is not None and proof.newer is not None:
        after = f", {ms(proof.after_ack_ns[0])} after that {_ended(proof.newer)[1]},"
    if lease.remaining_ns is None:
        return f"When it checked{after} it compared no clock and took its lease for open-ended."
    aged = f", at a reading {ms(lease.age_ns)} old" if lease.age_ns > 0 else ""
    return (
        f"When it checked{after} it believed that {ms(lease.remaining_ns)} of its lease were left"
        f" on its own {lease.clock} clock{aged}."
    )


def _ended(operation: Operation) -> tuple[str, str]:
    """Return how an operation that is newer came to be known, as a participle and as a noun."""
    return ("answered", "answer") if operation.f in READS else ("acknowledged", "acknowledgement")
