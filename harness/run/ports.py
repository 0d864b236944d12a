"""The seam of a run: what a driver tells the conductor and what the conductor wants done.

Times are the harness's clock in nanoseconds from the run's origin: CLOCK_MONOTONIC_RAW on a host,
virtual in the simulator. Effects are carried out in the order given; an `AddEvent` comes before the
effect that it announces.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import msgspec

from checker.events import Event
from nemesis.ports import Happened, Heal, Inject, StatusSeen
from targets.session import Close, Open, SessionInput, Transmit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nemesis.ports import NemesisEffect, NemesisInput


class Phase(StrEnum):
    """Where a run is."""

    WAIT_READY = "wait-ready"
    LOAD = "load"
    HEAL = "heal"
    SETTLE = "settle"
    DRAIN = "drain"
    FINAL = "final"
    DONE = "done"


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How long each phase may take; every wait has its bound."""

    load_ns: int
    ready_max_ns: int
    heal_max_ns: int
    settle_min_ns: int
    settle_max_ns: int
    drain_max_ns: int
    final_max_ns: int


class NemesisMachine(Protocol):
    """What the conductor needs of a nemesis; times count from the start of the load."""

    @property
    def wake_ns(self) -> int | None:
        """When to feed it `WakeUp`."""

    @property
    def done(self) -> bool:
        """Whether it has nothing left to do and everything is healed or known not to be."""

    def step(self, event: NemesisInput, now_ns: int) -> Iterable[NemesisEffect]:
        """Take what happened, say what to do."""


# What a driver tells the conductor.


class FromSession(msgspec.Struct, frozen=True):
    """Something happened to the connection of this process."""

    process: int
    event: SessionInput


class NodeGone(msgspec.Struct, frozen=True):
    """The operating system says that this node's process has ended.

    ``code`` is its exit code, negative for the signal that killed it; None if nobody knows.
    """

    node: str
    code: int | None = None


class NodeStopped(msgspec.Struct, frozen=True):
    """The operating system says that this node's process is stopped."""

    node: str


class WakeUp(msgspec.Struct, frozen=True):
    """The harness's clock reached ``conductor.wake_ns``."""


class Interrupt(msgspec.Struct, frozen=True):
    """A person or a supervisor wants the run to end: heal, save, check what there is."""

    reason: str


class Broken(msgspec.Struct, frozen=True):
    """The run cannot go on: heal and end. A disk is full, a target lost; of a bug, its ``traceback``."""

    reason: str
    traceback: str | None = None


ConductorInput = (
    FromSession | StatusSeen | Happened | NodeGone | NodeStopped | WakeUp | Interrupt | Broken
)

# What the conductor wants done.


class ForProcess(msgspec.Struct, frozen=True):
    """Carry this out on the connection of this process."""

    process: int
    effect: Open | Transmit | Close


class AddEvent(msgspec.Struct, frozen=True):
    """Write this line to the history."""

    event: Event


class PollStatus(msgspec.Struct, frozen=True):
    """Ask every node for its status, except those that are still being asked."""


class Finished(msgspec.Struct, frozen=True):
    """The run is over; nothing more will be asked for."""


class Failed(msgspec.Struct, frozen=True):
    """Between the parts of a run: something went wrong, and the run goes on without it.

    What goes wrong again and again is of one ``kind`` (None: the reason itself), and is told once.
    ``bug`` is the error that was a bug of ours, or its traceback where that has been read already: it
    takes the source's files, which are out of reach in virtual time.
    """

    reason: str
    kind: str | None = None
    bug: Exception | str | None = None


ConductorEffect = ForProcess | AddEvent | PollStatus | Inject | Heal | Finished
