"""A workload of one's own: one client writes all day, all others read at a node of their own.

The densest readers there can be: nobody hides a stale answer of one node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import EventType
from targets.session import Call

from .slots import RETRY_NS, Seat, Slots

if TYPE_CHECKING:
    from random import Random

    from targets.session import Completion

    from .slots import Workload

WRITER = 0


class Beacon(Slots[Seat]):
    """The workload in motion. A seat's place is its slot; the first one is the writer's."""

    def __init__(self, workload: Workload, rng: Random) -> None:
        super().__init__(workload, rng)
        nodes = workload.nodes
        self.seats = tuple(
            Seat(nodes[slot % len(nodes)], due_ns=self._gap_ns()) for slot in range(workload.clients)
        )

    def next(self, slot: int, now_ns: int) -> tuple[Call, str]:
        """Draw the slot's next operation and the node to ask."""
        seat = self.seats[slot]
        seat.due_ns = now_ns + self._gap_ns()
        key = self._key()
        call = Call("write", key, self._unique()) if slot == WRITER else Call("read", key)
        return call, seat.node

    def probe(self, f: str, key: Any) -> Call:
        """Make the operation that a schedule asks for, on the key last written if it names none."""
        key = self._keys.written if key is None else key
        return Call(f, key, self._unique() if f == "write" else None)

    def ended(self, slot: int | None, call: Call, completion: Completion, now_ns: int) -> None:
        """Learn how an operation ended; one that a schedule asked for has no slot."""
        if call.f == "write" and completion.type is EventType.OK:
            self._keys.acknowledged(call.key)
        elif completion.type is EventType.INFO:
            self._keys.unknown(call.key)
        if slot is not None and completion.type is not EventType.OK:
            seat = self.seats[slot]
            seat.due_ns = max(seat.due_ns, now_ns + RETRY_NS)
            if slot == WRITER:
                seat.node = completion.leader or self._after(seat.node)
