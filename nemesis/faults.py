"""Faults, as frozen data: what can be done to a cluster, without saying how.

A fault is a value one can print, compare, store and shrink. How it is made on processes or in
containers lives in one module a family; what came of it is a `Verification`. Only *installed* faults
count as having happened.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

import msgspec

from targets.cluster import ClockBend, Link, Roster


class _Fault(msgspec.Struct, frozen=True, tag_field="kind"):
    """What is common to all. What the nemesis must know of a kind stands on its class."""

    lasts: ClassVar[bool] = True
    """Whether there is something to heal."""
    ends_nodes: ClassVar[bool] = False
    """Whether a node's process ends of it, at once or later."""
    stops_nodes: ClassVar[bool] = False
    """Whether a node's process is stopped by it."""
    heals_slowly: ClassVar[bool] = False
    """Whether a node has to start, or a leader to be elected, before it is healed."""
    heal_rank: ClassVar[int] = 4
    """When its turn comes in the final heal: a frozen node can do nothing that it is asked for."""

    @property
    def kind(self) -> str:
        """The word it is known by, in schedules and records."""
        return str(self.__struct_config__.tag)


class LinksFault(_Fault, frozen=True):
    """A fault of directed links. Several may share a link; the strongest has its way."""

    links: tuple[Link, ...]

    heal_rank: ClassVar[int] = 3

    @property
    def concerned(self) -> tuple[str, ...]:
        """Return whom it is about: both ends of every link, each once, in the order named."""
        return tuple(dict.fromkeys(end for link in self.links for end in (link.source, link.target)))


class NodesFault(_Fault, frozen=True):
    """A fault of nodes. One that lasts has its nodes to itself, as far as its kind goes."""

    nodes: tuple[str, ...]

    called: ClassVar[str]
    """What a node is under, for people."""
    apart: ClassVar[bool] = False
    """Whether a step about many nodes makes a fault of each, so that one can fail without the others."""

    @property
    def concerned(self) -> tuple[str, ...]:
        """Return whom it is about."""
        return self.nodes


class Flight(StrEnum):
    """What a cut does with bytes in flight: keep them until the heal, or lose them.

    Silence keeps them as well, but stops acknowledgements too: see `targets.cluster.Silenced`.
    """

    HOLD = "hold"
    DROP = "drop"
    SILENCE = "silence"


class Cut(LinksFault, frozen=True, tag="cut"):
    """Cut directed links. ``shape`` is the name of the grudge they came from, for people."""

    flight: Flight = Flight.HOLD
    shape: str = "custom"


class Slow(LinksFault, frozen=True, tag="slow"):
    """Delay directed links, one way."""

    delay_ns: int


class Pause(NodesFault, frozen=True, tag="pause"):
    """Freeze nodes with SIGSTOP; heals by SIGCONT."""

    called: ClassVar = "pause"
    stops_nodes: ClassVar[bool] = True
    heal_rank: ClassVar[int] = 0


class Suspend(NodesFault, frozen=True, tag="suspend"):
    """Suspend nodes' hosts, so that monotonic time stands still there; heals as a pause does."""

    called: ClassVar = "suspended host"
    stops_nodes: ClassVar[bool] = True
    heal_rank: ClassVar[int] = 0


class Kill(NodesFault, frozen=True, tag="kill"):
    """Kill nodes with SIGKILL; heals by a restart with the data kept."""

    called: ClassVar = "kill"
    ends_nodes: ClassVar[bool] = True
    heals_slowly: ClassVar[bool] = True
    heal_rank: ClassVar[int] = 1


class BendClock(NodesFault, frozen=True, tag="clock"):
    """Bend the clocks of nodes; heals by a rate of zero and no offset."""

    bend: ClockBend

    called: ClassVar = "clock bend"
    apart: ClassVar[bool] = True


class Campaign(NodesFault, frozen=True, tag="campaign"):
    """Ask nodes to campaign now, through the vote rules; nothing to heal."""

    called: ClassVar = "campaign"
    lasts: ClassVar[bool] = False
    apart: ClassVar[bool] = True


class SlowApply(NodesFault, frozen=True, tag="apply"):
    """Make nodes apply entries late."""

    delay_ns: int

    called: ClassVar = "apply delay"


class SlowSync(NodesFault, frozen=True, tag="sync"):
    """Make nodes' disk syncs late."""

    delay_ns: int

    called: ClassVar = "sync delay"


class FillDisk(NodesFault, frozen=True, tag="fill"):
    """Leave nodes no room on their disks, so that they end; heals by room again, and a restart."""

    called: ClassVar = "full disk"
    ends_nodes: ClassVar[bool] = True
    heals_slowly: ClassVar[bool] = True
    heal_rank: ClassVar[int] = 2


class Transfer(NodesFault, frozen=True, tag="transfer"):
    """Ask nodes to hand leadership over to another one; nothing to heal."""

    to: str

    called: ClassVar = "transfer"
    lasts: ClassVar[bool] = False


class ChangeMembers(NodesFault, frozen=True, tag="membership"):
    """Ask nodes to go over to other voters and learners; heals by the first voters again."""

    members: Roster

    called: ClassVar = "change of members"
    heals_slowly: ClassVar[bool] = True
    heal_rank: ClassVar[int] = 5


class StopTime(NodesFault, frozen=True, tag="time-service"):
    """Keep nodes from hearing their time service, so that what they know of the time gets vaguer."""

    called: ClassVar = "silence of the time service"


OnLinks = Cut | Slow
OnNodes = (
    Pause
    | Kill
    | BendClock
    | Campaign
    | SlowApply
    | SlowSync
    | FillDisk
    | Transfer
    | ChangeMembers
    | StopTime
    | Suspend
)
Fault = OnLinks | OnNodes


class Standing(StrEnum):
    """What came of an injection: took hold and was verified, was not possible, or nobody knows."""

    INSTALLED = "installed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Bug(msgspec.Struct, frozen=True):
    """What broke here and not in the cluster, and its traceback."""

    what: str
    traceback: str


class Verification(msgspec.Struct, frozen=True):
    """What came of an injection or a heal, with what was read back (or the reason why it was not).

    ``broken`` is said by a heal: how it found that the fault was in force no more. ``tried`` is False of
    what the cluster cannot do at all: there is nothing to heal of it. ``bug`` is why nobody knows, if it
    was no answer of the cluster's.
    """

    standing: Standing
    evidence: dict[str, Any] = {}
    reason: str | None = None
    broken: str | None = None
    tried: bool = True
    bug: Bug | None = None
