"""What a system adds to run anywhere: how its nodes are asked, and which of their knobs can be turned.

A place (`targets.local`, `targets.docker`) knows processes or containers, links and signals; a `System`
knows the program inside. How a node is launched differs by place, so each place extends this by that:
`targets.local.system` by a command line, `targets.docker.system` by an image. Everything here concerns
one running cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from .cluster import ClockBend, Primitive, TargetError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.host.runtime import Runtime

    from .cluster import Address, NodeStatus, Roster

NO_CLOCK: Final = "its clock is read past any preload, or was not armed: bending it would have no effect"
CLOCK_ERROR_NS_MAX: Final = 20_000_000

NO_KNOB: Final = "it has no such knob"
NO_MEMBERS: Final = "it cannot be asked to hand over leadership, or for other voters"
NO_SUSPEND: Final = "a host that is suspended would take its tester along"
NO_TIME_SERVICE: Final = "no time service speaks to its nodes"

_CLOCKS: Final = frozenset({Primitive.CLOCK_RATE, Primitive.CLOCK_WALL})
_KNOBS: Final = frozenset(
    {Primitive.CAMPAIGN, Primitive.APPLY_DELAY, Primitive.SYNC_DELAY, Primitive.DISK_ROOM}
)
_ABSENT: Final = {
    **dict.fromkeys(_CLOCKS, NO_CLOCK),
    **dict.fromkeys(_KNOBS, NO_KNOB),
    Primitive.TRANSFER: NO_MEMBERS,
    Primitive.MEMBERSHIP: NO_MEMBERS,
    Primitive.TIME_SERVICE: NO_TIME_SERVICE,
}


class System(Protocol):
    """One system's part of a cluster, wherever that runs."""

    @property
    def one_way_dials(self) -> bool:
        """Whether what a node says to a peer travels only on connections that it dialed itself."""

    def prepare(self, runtime: Runtime) -> None:
        """Take the private directory of the run; called once, before anything else."""

    def after_start(self, node: str, pid: int | None) -> None:
        """Hear that a node answers, with its process's pid on this host if it has one."""

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why this system cannot do what only it could do, None if it can or need not."""

    async def status(self, node: str, address: Address) -> NodeStatus | None:
        """Ask a node; None if it does not answer in time. Its first answer says that it is ready."""

    async def metrics(self, node: str) -> str | None:
        """Return what a node has counted, in Prometheus' text format; None if it cannot be had."""

    def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Bend a node's clocks from now on, or raise `Unsupported`."""

    def clock_error_ns(self, node: str, status: NodeStatus) -> int:
        """Return how far the clocks that a node shows in ``status`` are from what was asked of them."""

    async def campaign(self, node: str) -> None:
        """Have a node campaign, or raise `Unsupported`."""

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Delay a node's applies, or raise `Unsupported`."""

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Delay a node's syncs, or raise `Unsupported`."""

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Leave a node's disk only so much room, or raise `Unsupported`."""

    async def hand_over(self, node: str, target: str) -> None:
        """Have a node hand leadership over, or raise `Unsupported`."""

    async def reconfigure(self, node: str, members: Roster) -> None:
        """Have a node that leads go over to other voters and learners, or raise `Unsupported`."""

    async def restore_members(self) -> None:
        """Return once the voters that the cluster began with are in force again."""

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        """Let a node hear its time service or not, or raise `Unsupported`."""

    def close(self) -> None:
        """Let go of every connection."""


async def bend_clock(
    system: System,
    node: str,
    bend: ClockBend,
    *,
    ask: Callable[[str], Awaitable[NodeStatus | None]],
) -> None:
    """Bend a node's clocks; one that can answer must show it, or the harness has failed."""
    system.bend_clock(node, bend)
    status = await ask(node)
    if status is not None and (error_ns := system.clock_error_ns(node, status)) > CLOCK_ERROR_NS_MAX:
        raise TargetError(
            f"the clock of {node} was bent by {bend} but is {error_ns / 1e6:.1f} ms off that"
        )


class PlainSystem:
    """The parts of a `System` that one without knobs need not have: each is refused by name."""

    one_way_dials = False  # nothing is known of who dials whom

    def prepare(self, runtime: Runtime) -> None:
        """Need nothing of this host."""

    def after_start(self, node: str, pid: int | None) -> None:
        """Take nothing from the process."""

    def unsupported(self, primitive: Primitive) -> str | None:
        """Return why it cannot do what only it could do."""
        return _ABSENT.get(primitive)

    async def metrics(self, node: str) -> str | None:
        """Have none."""
        del node
        return None

    def bend_clock(self, node: str, bend: ClockBend) -> None:
        """Refuse, unless it is the heal of nothing."""
        if bend != ClockBend():
            raise Unsupported(f"{node}: {NO_CLOCK}")

    def clock_error_ns(self, node: str, status: NodeStatus) -> int:
        """Return none: nothing was asked of them."""
        del node, status
        return 0

    async def campaign(self, node: str) -> None:
        """Refuse."""
        raise Unsupported(f"{node}: {NO_KNOB}")

    async def set_apply_delay(self, node: str, delay_ns: int) -> None:
        """Refuse, unless it is the heal of nothing."""
        if delay_ns:
            raise Unsupported(f"{node}: {NO_KNOB}")

    async def set_sync_delay(self, node: str, delay_ns: int) -> None:
        """Refuse, unless it is the heal of nothing."""
        if delay_ns:
            raise Unsupported(f"{node}: {NO_KNOB}")

    async def set_disk_room(self, node: str, room_bytes: int | None) -> None:
        """Refuse, unless it is the heal of nothing."""
        if room_bytes is not None:
            raise Unsupported(f"{node}: {NO_KNOB}")

    async def hand_over(self, node: str, target: str) -> None:
        """Refuse."""
        raise Unsupported(f"{node} cannot hand over to {target}: {NO_MEMBERS}")

    async def reconfigure(self, node: str, members: Roster) -> None:
        """Refuse."""
        raise Unsupported(f"{node} cannot go over to {', '.join(members.voters)}: {NO_MEMBERS}")

    async def restore_members(self) -> None:
        """Do nothing: they never changed."""

    async def set_time_service(self, node: str, *, heard: bool) -> None:
        """Refuse, unless it is the heal of nothing."""
        if not heard:
            raise Unsupported(f"{node}: {NO_TIME_SERVICE}")

    def close(self) -> None:
        """Hold no connection."""
