"""What is handed out to the seats: the workload, then nothing, then the final reads.

The three never overlap. A seat asks for its *task* when it is free; what it is told is an operation and
a node, and, of a final read, which one, so that a read that failed can be put back in line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from checker.events import EventType
from targets.session import Call, Completion

from .final import FinalRead, FinalReads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nemesis.ports import Probe


class Source(Protocol):
    """What hands out a workload: a `Slots`, which draws it, or a `Script`, which has it listed."""

    @property
    def seats(self) -> Sequence[object]:
        """One for each client; a seat's place is its *slot*."""

    @property
    def keys(self) -> Sequence[str]:
        """Every key ever used."""

    def start(self, now_ns: int) -> None:
        """Begin at ``now_ns``."""

    def due_ns(self, slot: int) -> int:
        """When the slot may go on."""

    def next(self, slot: int, now_ns: int) -> tuple[Call, str]:
        """Return the slot's next operation and the node to ask."""

    def probe(self, f: str, key: Any) -> Call:
        """Return the operation that a probe asks for, a read or a write; None leaves the key to it."""

    def ended(self, slot: int | None, call: Call, completion: Completion, now_ns: int) -> None:
        """Learn how an operation ended (a probe's has no slot)."""


class Task(msgspec.Struct, frozen=True):
    """An operation to invoke at ``node``; ``final`` if it is a final read."""

    call: Call
    node: str
    final: FinalRead | None = None


class Supply:
    """See the module. ``final`` is what is still to read, by whoever is free."""

    def __init__(self, generator: Source) -> None:
        self.slots = range(len(generator.seats))
        self._generator = generator
        self._loaded = False
        self.final = FinalReads((), (), 0)

    @property
    def owed(self) -> int:
        """How many final reads are still to be invoked."""
        return len(self.final)

    @property
    def unread(self) -> int:
        """How many final reads were given up, or not invoked yet."""
        return len(self.final) + self.final.given_up

    @property
    def silent(self) -> frozenset[str]:
        """The nodes that were to be read back and answered nothing at all."""
        return self.final.silent

    @property
    def unseen(self) -> tuple[str, ...]:
        """The keys that were to be read back and that no node answered for."""
        return self.final.unseen

    def due_ns(self, slot: int | None) -> int | None:
        """When this slot gets its next operation of the workload; None while there is none for it."""
        return self._generator.due_ns(slot) if self._loaded and slot is not None else None

    def open(self, now_ns: int) -> None:
        """Hand out the workload from now on."""
        self._loaded = True
        self._generator.start(now_ns)

    def rest(self) -> None:
        """Hand out nothing."""
        self._loaded = False
        self.final = FinalReads((), (), 0)

    def read_back(self, nodes: Sequence[str], now_ns: int) -> None:
        """Hand out a read of every key ever used at each of these nodes."""
        self.final = FinalReads(self._generator.keys, nodes, now_ns)

    def take(self, slot: int, now_ns: int) -> Task | None:
        """Return what this slot does now, if it is time; raise whatever the workload raises."""
        if self._loaded:
            if self._generator.due_ns(slot) > now_ns:
                return None
            return Task(*self._generator.next(slot, now_ns))
        read = self.final.take(now_ns)
        return None if read is None else Task(read.call, read.node, read)

    def probe(self, asked: Probe) -> Task:
        """Return the operation that a probe asks for."""
        return Task(self._generator.probe(asked.f, asked.key), asked.node)

    def ended(self, slot: int | None, task: Task, completion: Completion, now_ns: int) -> None:
        """Learn how a task ended."""
        self._generator.ended(slot, task.call, completion, now_ns)
        if task.final is None:
            return
        if completion.type is EventType.OK:
            self.final.read(task.final.key)
        else:
            self.final.failed(task.final, now_ns)
