"""Faults, as frozen data: what can be done to a cluster, without saying how.

A fault is a value one can print, compare, store and shrink. How it is made on processes or in
containers lives in one module a family; what came of it is a `Verification`. Only *installed* faults
count as having happened.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from targets.cluster import ClockBend, Link


class Pause(msgspec.Struct, frozen=True, tag="pause", tag_field="kind"):
    """Freeze nodes with SIGSTOP; heals by SIGCONT."""

    nodes: tuple[str, ...]


class Flight(StrEnum):
    """What a cut does with bytes in flight: keep them until the heal, or lose them.

    Silence keeps them as well, but stops acknowledgements too: see `targets.cluster.Silenced`.
    """

    HOLD = "hold"
    DROP = "drop"
    SILENCE = "silence"


class Cut(msgspec.Struct, frozen=True, tag="cut", tag_field="kind"):
    """Cut directed links. ``shape`` is the name of the grudge they came from, for people."""

    links: tuple[Link, ...]
    flight: Flight = Flight.HOLD
    shape: str = "custom"


class Slow(msgspec.Struct, frozen=True, tag="slow", tag_field="kind"):
    """Delay directed links, one way."""

    links: tuple[Link, ...]
    delay_ns: int


class BendClock(msgspec.Struct, frozen=True, tag="clock", tag_field="kind"):
    """Bend the clocks of a node; heals by a rate of zero and no offset."""

    node: str
    bend: ClockBend


class Kill(msgspec.Struct, frozen=True, tag="kill", tag_field="kind"):
    """Kill nodes with SIGKILL; heals by a restart with the data kept."""

    nodes: tuple[str, ...]


class Campaign(msgspec.Struct, frozen=True, tag="campaign", tag_field="kind"):
    """Ask a node to campaign now, through the vote rules; nothing to heal."""

    node: str


class SlowApply(msgspec.Struct, frozen=True, tag="apply", tag_field="kind"):
    """Make nodes apply entries late."""

    nodes: tuple[str, ...]
    delay_ns: int


class SlowSync(msgspec.Struct, frozen=True, tag="sync", tag_field="kind"):
    """Make nodes' disk syncs late."""

    nodes: tuple[str, ...]
    delay_ns: int


class FillDisk(msgspec.Struct, frozen=True, tag="fill", tag_field="kind"):
    """Leave nodes no room on their disks, so that they end; heals by room again, and a restart."""

    nodes: tuple[str, ...]


Fault = Pause | Cut | Slow | BendClock | Kill | Campaign | SlowApply | SlowSync | FillDisk


class Standing(StrEnum):
    """What came of an injection: took hold and was verified, was not possible, or nobody knows."""

    INSTALLED = "installed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Verification(msgspec.Struct, frozen=True):
    """What came of an injection or a heal, with what was read back (or the reason why it was not)."""

    standing: Standing
    evidence: dict[str, Any] = {}
    reason: str | None = None
