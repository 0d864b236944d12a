"""Where a target runs, seen from the outside: node handles and the primitives they expose.

A *cluster* is a running target; a *node* is one of its servers, known by its name (``n1``, ``n2``, ...).
A `Cluster` starts and stops nodes and offers primitives (signals, links, clocks, knobs); it knows no
schedule and no verdict. The nemesis builds its faults from these primitives and asks `supports` first,
so that a fault which cannot be made here is skipped by name, never counted.

Links are directed. ``Link("n1", "n2")`` carries what n1 says to n2 and nothing else; `CLIENTS` is the
pseudo-node at the other end of every client connection, so ``Link(CLIENTS, "n1")`` carries requests
and ``Link("n1", CLIENTS)`` answers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import msgspec

from .clock import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLIENTS: Final = "clients"

Address = tuple[str, int]
"""A host and a port."""


class Role(StrEnum):
    """What a node takes itself for."""

    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"


class Roster(msgspec.Struct, frozen=True):
    """Who takes part by a node's log; ``incoming`` voters stand beside those they are to replace."""

    voters: tuple[str, ...]
    incoming: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()


class NodeStatus(msgspec.Struct, frozen=True):
    """What a node says of itself when asked on its admin socket.

    ``lease_remaining_ns`` is on the node's own clock, None where it believes in no lease.
    ``true_ns`` is CLOCK_MONOTONIC_RAW, read by the node itself past any fake, beside ``own``.
    ``boot`` counts its starts on this data, ``members`` are those of its log: None where a system does
    not tell. ``handing_over_to`` is whom a leader is handing its leadership over to.
    """

    node: str
    role: Role
    term: int
    leader: str | None
    commit_index: int
    applied_index: int
    lease_remaining_ns: int | None
    own: Reading
    true_ns: int
    boot: int | None = None
    members: Roster | None = None
    handing_over_to: str | None = None

    def expects(self, node: str) -> bool:
        """Tell whether ``node`` has a part in the cluster, as far as this node knows."""
        told = self.members
        return told is None or node in (*told.voters, *told.incoming, *told.learners)


class Link(msgspec.Struct, frozen=True, order=True):
    """A direction: what ``source`` says to ``target``."""

    source: str
    target: str


class Open(msgspec.Struct, frozen=True, tag="open"):
    """Bytes pass as they come."""


class Held(msgspec.Struct, frozen=True, tag="hold"):
    """Bytes are kept and delivered in order once the link opens, as TCP would."""


class Dropped(msgspec.Struct, frozen=True, tag="drop"):
    """Connections are reset, bytes in flight are lost, new connections refused."""


class Silenced(msgspec.Struct, frozen=True, tag="silence"):
    """Every packet is lost, acknowledgements too; the bytes are sent again once the link opens.

    One-way in name only: for want of acknowledgements the other direction stalls as well.
    """


class Delayed(msgspec.Struct, frozen=True, tag="delay"):
    """Every byte is delivered ``delay_ns`` after it came, in order."""

    delay_ns: int


LinkState = Open | Held | Dropped | Silenced | Delayed


class ClockMode(StrEnum):
    """Which clock the preload was armed to bend when the nodes started; one mode a run.

    A wall jump needs the monotonic clock left alone, a rate needs it bent: different settings at
    start, so a run has one of the two and claims only that.
    """

    NONE = "none"
    WALL = "wall"
    RATE = "rate"


class ClockBend(msgspec.Struct, frozen=True):
    """What a node's clocks should do from now on.

    Run ``rate_ppm`` faster than true time (negative is slower; continuous, no step) and show wall
    time ``wall_offset_ns`` off.
    """

    rate_ppm: int = 0
    wall_offset_ns: int = 0


class Primitive(StrEnum):
    """What a cluster may be able to do to a node."""

    PAUSE = "pause"
    KILL = "kill"
    LINKS = "links"
    CLIENT_LINKS = "client-links"
    DELAY = "delay"
    SILENCE = "silence"
    CLOCK_WALL = "clock-wall"
    CLOCK_RATE = "clock-rate"
    CAMPAIGN = "campaign"
    APPLY_DELAY = "apply-delay"
    SYNC_DELAY = "sync-delay"
    DISK_ROOM = "disk-room"
    TRANSFER = "transfer"
    MEMBERSHIP = "membership"
    TIME_SERVICE = "time-service"
    SUSPEND = "suspend"


class Unsupported(Exception):  # noqa: N818 - an answer, not a failure
    """This cluster cannot do that, and says why."""


class TargetError(Exception):
    """The target could not be set up or lost a node for good: a harness failure, never a violation.

    The message is one sentence for a person: which node, what happened, what to do.
    """


class ProcessState(StrEnum):
    """What the operating system says of a node."""

    RUNNING = "running"
    STOPPED = "stopped"
    GONE = "gone"


@runtime_checkable
class Imaged(Protocol):
    """A cluster whose nodes run from images."""

    @property
    def images(self) -> Mapping[str, str]:
        """The digest of what each node of the running cluster was made from, by node."""


@runtime_checkable
class Found(Protocol):
    """A cluster that somebody else started, whose nodes had names before they were called n1, n2, ..."""

    @property
    def known_as(self) -> Mapping[str, str]:
        """The name that its owner knows each node of the running cluster by, by node."""


@runtime_checkable
class Metered(Protocol):
    """A cluster whose nodes may count what they do."""

    async def metrics(self, node: str) -> str | None:
        """Return a node's metrics in Prometheus' text format; None if it has none or does not answer."""


class Cluster(Protocol):
    """A running target. Every call has a deadline of its own; none waits for ever.

    Healing primitives are idempotent: resuming a running node or opening an open link is nothing.
    """

    @property
    def nodes(self) -> Sequence[str]:
        """Names of all nodes, in order."""

    def supports(self, primitive: Primitive) -> str | None:
        """None if this cluster can do it here and now, else the reason why not, for a person."""

    async def start(self) -> None:
        """Start every node and wait until each answers; raise `TargetError` after a bounded wait."""

    async def stop(self) -> None:
        """Heal, end and reap everything this cluster started. Idempotent; safe half-started."""

    def address(self, node: str) -> Address:
        """Return where clients dial ``node`` (through its client links): loopback host and port."""

    async def status(self, node: str) -> NodeStatus | None:
        """Ask the node; None if it does not answer in time (it may be paused, dead or cut)."""

    def state(self, node: str) -> ProcessState:
        """Return what the operating system says of the node's process, read afresh."""

    async def exit_code(self, node: str) -> int | None:
        """Return how the node's process ended: its code, or the signal that killed it as a negative.

        None while it runs, or if nobody knows.
        """

    async def pause(self, node: str) -> None:
        """SIGSTOP, verified: returns once every thread is stopped."""

    async def resume(self, node: str) -> None:
        """SIGCONT; nothing if the node runs or is gone."""

    async def kill(self, node: str) -> None:
        """SIGKILL and reap."""

    async def restart(self, node: str) -> None:
        """Start a killed node again with the data it had; waits until it answers."""

    def set_link(self, link: Link, state: LinkState) -> None:
        """Put a directed link into a state, at once."""

    def link_state(self, link: Link) -> LinkState:
        """Read back the state of a link."""

    async def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks from now on; continuous in the monotonic clock."""

    async def campaign(self, node: str) -> None:
        """Ask the node to campaign now, through its own vote rules."""

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Make the node apply entries this long after they were committed."""

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Make the node's disk syncs take this much longer."""

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave the node's disk only this much room, or all there is (None), as after every start.

        A write for which there is no room fails, and the node ends and says why.
        """

    async def hand_over(self, node: str, target: str) -> None:
        """Ask the node to hand leadership over to ``target``; one that does not lead does nothing."""

    async def reconfigure(self, node: str, members: Roster) -> None:
        """Ask the node to go over to these voters and learners; one that does not lead does nothing."""

    async def restore_members(self) -> None:
        """Have whoever leads go back to the voters that the cluster began with; return once it is so.

        A leader may have to be elected first, and another change to end, so it is asked again and again.
        """

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        """Let the node hear its time service, as after every start, or not."""

    async def suspend(self, node: str) -> None:
        """Suspend the node's host: its monotonic clock stands still as well; `resume` ends it."""
