"""The seam of the nemesis: what it is told and what it wants done.

``machine.step(input, now_ns) -> effects``. The machine decides *when* and *what*; a driver carries out
`Inject` and `Heal` with the means of its environment and reports `Happened`; `Probe` asks the harness
for one fresh operation at a node, outside the workload's rhythm, recorded like any other.

Times are the harness's clock (CLOCK_MONOTONIC_RAW from the run's origin; virtual in the simulator).
"""

from __future__ import annotations

from typing import Any

import msgspec

from checker.events import EventType
from targets.cluster import NodeStatus

from .faults import Fault, Verification


class StatusSeen(msgspec.Struct, frozen=True):
    """A node answered a status call (polled a few dozen times a second while the run lasts)."""

    status: NodeStatus


class Completed(msgspec.Struct, frozen=True):
    """An operation of the workload or a probe ended; ``term`` is from its evidence, if it has any."""

    f: str
    key: Any
    value: Any
    type: EventType
    node: str
    term: int | None
    probe: int | None = None


class Happened(msgspec.Struct, frozen=True):
    """What came of the injection (or heal) number ``id``."""

    id: int
    verification: Verification
    healed: bool = False


class WakeUp(msgspec.Struct, frozen=True):
    """The harness's clock reached ``machine.wake_ns``."""


class HealNow(msgspec.Struct, frozen=True):
    """The load is over (or the run is interrupted): heal everything and start nothing more."""


NemesisInput = StatusSeen | Completed | Happened | WakeUp | HealNow


class Inject(msgspec.Struct, frozen=True):
    """Make this fault happen."""

    id: int
    fault: Fault


class Heal(msgspec.Struct, frozen=True):
    """Undo injection ``id``. Healing what was never installed, or twice, is nothing."""

    id: int
    fault: Fault


class Probe(msgspec.Struct, frozen=True):
    """Invoke one operation at ``node`` by a process of its own; answer with `Completed`.

    ``key`` None means the workload's current key. For a write the harness picks a unique value.
    """

    id: int
    f: str
    node: str
    key: Any = None


class Note(msgspec.Struct, frozen=True):
    """Something for the schedule's record: a step missed or skipped, an episode begun."""

    text: str
    missed: bool = False


NemesisEffect = Inject | Heal | Probe | Note
