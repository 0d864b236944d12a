"""What the clients do next: the workload, as a pure machine.

It is asked when a *slot* (`slots`) may go on and with what; it is told how every operation ended. It
reads no clock.

The mix is what makes a stale read visible:

* *readers* are pinned, at least one to every node, and read there whatever the node says: a deposed
  leader must be asked to be caught;
* *writers*, *roamers* (reading) and *cas* slots go where a leader hint sends them, one node at a time;
* written values are unique over the whole run, so a read names the one write it saw;
* a cas starts from the value last seen under its key, so that it often succeeds;
* keys retire: see `Keys`.

A refused operation is tried again only after `RETRY_NS`, which keeps pinned readers as dense as a stale
window is short.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from checker.events import MISMATCH, EventType, ReadPath
from targets.session import Call

from .slots import RETRY_NS, Seat, Slots, Workload

if TYPE_CHECKING:
    from random import Random

    from targets.session import Completion


class Kind(StrEnum):
    """What a slot does all day."""

    READER = "reader"
    ROAMER = "roamer"
    WRITER = "writer"
    CAS = "cas"


class Worker(Seat):
    """One slot of its kind."""

    kind: Kind


class Generator(Slots[Worker]):
    """The workload in motion."""

    def __init__(self, workload: Workload, rng: Random) -> None:
        super().__init__(workload, rng)
        self._readindex_one_in = workload.readindex_one_in
        self._seen: dict[str, Any] = {}
        self.seats = tuple(
            Worker(node, rng.randrange(self._interval_ns + 1), kind)
            for kind, node in seating(workload, rng)
        )

    def next(self, slot: int, now_ns: int) -> tuple[Call, str]:
        """Draw the slot's next operation and the node to ask."""
        seat = self.seats[slot]
        if self._interval_ns:
            kept_up = now_ns - seat.due_ns < self._interval_ns  # else what was missed stays missed
            since_ns = seat.due_ns if kept_up else now_ns
            seat.due_ns = since_ns + self._gap_ns()
        key = self._key()
        match seat.kind:
            case Kind.WRITER:
                return Call("write", key, self._unique()), seat.node
            case Kind.CAS:
                return Call("cas", key, [self._seen.get(key), self._unique()]), seat.node
            case Kind.READER | Kind.ROAMER:
                return Call("read", key, path=self._path()), seat.node

    def probe(self, f: str, key: Any) -> Call:
        """Make the operation a probe asks for, on the key last written if it names none."""
        key = self._keys.written if key is None else key
        return Call(f, key, self._unique() if f == "write" else None)

    def ended(self, slot: int | None, call: Call, completion: Completion, now_ns: int) -> None:
        """Learn how an operation ended (a probe's has no slot)."""
        if completion.type is EventType.OK:
            self._learn(call, completion.value)
        elif completion.type is EventType.INFO:
            self._keys.unknown(call.key)
        if slot is None:
            return
        seat = self.seats[slot]
        if completion.type is not EventType.OK and completion.error != MISMATCH:
            seat.due_ns = max(seat.due_ns, now_ns + RETRY_NS)
            if seat.kind is not Kind.READER:
                seat.node = completion.leader or self._after(seat.node)
        elif not self._interval_ns:
            seat.due_ns = now_ns

    def _learn(self, call: Call, value: Any) -> None:
        self._seen[call.key] = value[1] if call.f == "cas" else value
        if call.f != "read":
            self._keys.acknowledged(call.key)

    def _path(self) -> ReadPath | None:
        one_in = self._readindex_one_in
        return ReadPath.READINDEX if one_in and not self._rng.randrange(one_in) else None


def seating(workload: Workload, rng: Random) -> tuple[tuple[Kind, str], ...]:
    """Deal the seats: who does what, and where each begins.

    The density of pinned readers is drawn for every run, one or two a node as far as seats go: dense
    readers find some faults and mask others.
    """
    nodes = workload.nodes
    density = 1 + rng.randrange(2)
    if workload.clients < len(nodes) * density + 3:
        density = 1
    pinned = [(Kind.READER, node) for _ in range(density) for node in nodes]
    others = (Kind.WRITER, Kind.ROAMER, Kind.CAS, Kind.ROAMER, Kind.WRITER)
    rest = [
        (others[seat % len(others)], nodes[seat % len(nodes)])
        for seat in range(workload.clients - len(pinned))
    ]
    return (*pinned, *rest)
