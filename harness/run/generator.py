"""What the clients do next: the workload, as a pure machine.

It is asked when a *slot* (one seat at the cluster, taken by one process after another) may go on and
with what; it is told how every operation ended. It reads no clock and draws integers from the one
`random.Random` it was given.

The mix is what makes a stale read visible:

* *readers* are pinned, at least one to every node, and read there whatever the node says: a deposed
  leader must be asked to be caught;
* *writers*, *roamers* (reading) and *cas* slots go where a leader hint sends them, one node at a time;
* written values are unique over the whole run, so a read names the one write it saw;
* a cas starts from the value last seen under its key, so that it often succeeds;
* keys retire: see `Keys`.

A refused operation is tried again only after `RETRY_NS`, which keeps pinned readers as dense as a
stale window is short without letting them spin.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.events import MISMATCH, EventType, ReadPath
from targets.clock import MS, SECOND
from targets.session import Call

from .keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from targets.session import Completion

RETRY_NS: Final = 20 * MS


class Kind(StrEnum):
    """What a slot does all day."""

    READER = "reader"
    ROAMER = "roamer"
    WRITER = "writer"
    CAS = "cas"


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The knobs. ``rate_per_s`` 0 is as fast as it goes; ``readindex_one_in`` 0 forces no read."""

    nodes: tuple[str, ...]
    clients: int
    keys: int
    rate_per_s: int
    key_operations_max: int = 300
    readindex_one_in: int = 0


class Seat(msgspec.Struct):
    """One slot: its kind, the node it asks now, and when it may go on."""

    kind: Kind
    node: str
    due_ns: int


class Generator:
    """The workload in motion."""

    def __init__(self, workload: Workload, rng: Random) -> None:
        self._workload = workload
        self._rng = rng
        self._interval_ns = (
            workload.clients * SECOND // workload.rate_per_s if workload.rate_per_s else 0
        )
        self._last_value = 0
        self._keys = Keys(workload.keys, operations_max=workload.key_operations_max)
        self._seen: dict[str, Any] = {}
        self.seats = tuple(
            Seat(kind, node, rng.randrange(self._interval_ns + 1))
            for kind, node in seating(workload, rng)
        )

    @property
    def keys(self) -> Sequence[str]:
        """Every key ever used."""
        return self._keys.ever

    def start(self, now_ns: int) -> None:
        """Begin at ``now_ns``: the seats are staggered over one interval from here."""
        for seat in self.seats:
            seat.due_ns += now_ns

    def due_ns(self, slot: int) -> int:
        """When the slot may go on."""
        return self.seats[slot].due_ns

    def next(self, slot: int, now_ns: int) -> tuple[Call, str]:
        """Draw the slot's next operation and the node to ask."""
        seat = self.seats[slot]
        if self._interval_ns:
            jitter_percent = 50 + self._rng.randrange(101)
            kept_up = now_ns - seat.due_ns < self._interval_ns  # else what was missed stays missed
            since_ns = seat.due_ns if kept_up else now_ns
            seat.due_ns = since_ns + self._interval_ns * jitter_percent // 100
        key = self._keys.draw(self._rng)
        self._keys.count(key)
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
        one_in = self._workload.readindex_one_in
        return ReadPath.READINDEX if one_in and not self._rng.randrange(one_in) else None

    def _after(self, node: str) -> str:
        nodes = self._workload.nodes
        return nodes[(nodes.index(node) + 1) % len(nodes)]

    def _unique(self) -> int:
        self._last_value += 1
        return self._last_value


def seats_min(nodes: int) -> int:
    """How many clients it takes: a reader pinned to every node, a writer, a roamer and a cas."""
    return nodes + 3


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
